// By copies that double what is filled.
#include "runtime/fill.h"

#include "runtime/driver.h"

#include <algorithm>
#include <cstring>

namespace fuse {

namespace {

cuda::CUdeviceptr at(const DeviceBuffer &buffer, std::size_t offset = 0) {
  return reinterpret_cast<cuda::CUdeviceptr>(buffer.data()) + offset;
}

}  // namespace

void fill_bytes(const DeviceBuffer &buffer, unsigned char value) {
  if (buffer.on_host())
    std::memset(buffer.data(), value, buffer.size());
  else
    FUSE_CUDA(cuMemsetD8Async, at(buffer), value, buffer.size(), nullptr);
}

void repeat_to_end(const DeviceBuffer &buffer, std::size_t filled) {
  while (filled > 0 && filled < buffer.size()) {
    std::size_t bytes = std::min(filled, buffer.size() - filled);
    if (buffer.on_host())
      std::memcpy(static_cast<char *>(buffer.data()) + filled, buffer.data(), bytes);
    else
      FUSE_CUDA(cuMemcpyDtoDAsync, at(buffer, filled), at(buffer), bytes, nullptr);
    filled += bytes;
  }
}

}  // namespace fuse
