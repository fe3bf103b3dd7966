// Element access by bits.
#include "ir/tensor.h"

#include "ir/float_bits.h"

#include <cstring>

namespace fuse {

std::int64_t count_elements(std::span<const std::int64_t> extents) {
  std::int64_t count = 1;
  for (std::int64_t n : extents) count *= n;
  return count;
}

Tensor::Tensor(DType type, std::vector<std::int64_t> extents)
    : dtype(type), shape(std::move(extents)) {
  bytes.resize(static_cast<std::size_t>(size()) * size_of(type));
}

Tensor::Tensor(DType type, std::vector<std::int64_t> extents, std::span<const double> values)
    : Tensor(type, std::move(extents)) {
  for (std::int64_t i = 0; i < size(); ++i) {
    double value = values[static_cast<std::size_t>(i) % values.size()];
    auto integer = [&] {
      return value < 0 ? std::uint64_t(static_cast<std::int64_t>(value)) : std::uint64_t(value);
    };
    set_bits(i, is_float(type) ? encode_float(type, value) : wrap_int(type, integer()));
  }
}

std::int64_t Tensor::size() const { return count_elements(shape); }

std::uint64_t Tensor::bits(std::int64_t index) const {
  std::size_t width = size_of(dtype);
  std::uint64_t result = 0;
  std::memcpy(&result, bytes.data() + static_cast<std::size_t>(index) * width, width);
  return is_float(dtype) ? result : wrap_int(dtype, result);
}

void Tensor::set_bits(std::int64_t index, std::uint64_t value) {
  std::size_t width = size_of(dtype);
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * width, &value, width);
}

}  // namespace fuse
