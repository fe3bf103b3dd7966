// By copies that double what is filled.
#include "runtime/fill.h"

#include "runtime/driver.h"

#include <algorithm>
#include <cstring>

namespace fuse {

namespace {

cuda::CUdeviceptr at(const Place &place, std::size_t offset = 0) {
  return reinterpret_cast<cuda::CUdeviceptr>(place.data) + offset;
}

void copy_in(const Place &place, const std::byte *from, std::size_t bytes) {
  if (bytes == 0) return;
  if (place.on_host) {
    std::memcpy(place.data, from, bytes);
    return;
  }
  FUSE_CUDA(cuMemcpyHtoDAsync, at(place), from, bytes, nullptr);
  FUSE_CUDA(cuStreamSynchronize, nullptr);
}

void repeat(const Place &place, std::size_t filled) {
  while (filled > 0 && filled < place.bytes) {
    std::size_t bytes = std::min(filled, place.bytes - filled);
    if (place.on_host)
      std::memcpy(static_cast<char *>(place.data) + filled, place.data, bytes);
    else
      FUSE_CUDA(cuMemcpyDtoDAsync, at(place, filled), at(place), bytes, nullptr);
    filled += bytes;
  }
}

}  // namespace

void fill_bytes(const Place &place, unsigned char value) {
  if (place.bytes == 0) return;
  if (place.on_host)
    std::memset(place.data, value, place.bytes);
  else
    FUSE_CUDA(cuMemsetD8Async, at(place), value, place.bytes, nullptr);
}

void fill_with(const Place &place, const Tensor &tensor) {
  std::size_t given = std::min(tensor.bytes.size(), place.bytes);
  copy_in(place, tensor.bytes.data(), given);
  repeat(place, given);
}

}  // namespace fuse
