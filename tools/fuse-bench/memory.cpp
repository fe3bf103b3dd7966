#include "memory.h"

#include "ir/float_bits.h"
#include "runtime/driver.h"

#include <algorithm>
#include <cstring>

namespace fuse::bench {

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

/// Doubles the part that is filled until the place is full.
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

void fill_with(const Place &place, const Tensor &tensor) {
  std::size_t given = std::min(tensor.bytes.size(), place.bytes);
  copy_in(place, tensor.bytes.data(), given);
  repeat(place, given);
}

void fill_with_ones(const Place &place) {
  if (place.bytes == 0) return;
  if (place.on_host)
    std::memset(place.data, 0xFF, place.bytes);
  else
    FUSE_CUDA(cuMemsetD8Async, at(place), 0xFF, place.bytes, nullptr);
}

Tensor random_tensor(DType type, const std::vector<std::int64_t> &shape, std::int64_t limit,
                     std::mt19937_64 &random) {
  Tensor tensor(type, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    Literal literal =
        is_float(type)
            ? float_literal(type, 4 * unit - 2)
            : int_literal(type, static_cast<std::int64_t>(unit * static_cast<double>(limit)));
    tensor.set_bits(i, literal.bits);
  }
  return tensor;
}

}  // namespace fuse::bench
