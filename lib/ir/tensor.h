// Tensor: elements in row-major order, as bits. What programs are run on and judged by.
#pragma once

#include "ir/literal.h"

#include <cstddef>
#include <span>
#include <vector>

namespace fuse {

struct Tensor {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  /// Zeros.
  Tensor(DType type, std::vector<std::int64_t> extents);
  /// Every value rounded to the dtype; missing ones repeat from the first.
  Tensor(DType type, std::vector<std::int64_t> extents, std::span<const double> values);

  std::int64_t size() const;

  /// Bits of an element, as in a Literal.
  std::uint64_t bits(std::int64_t index) const;
  void set_bits(std::int64_t index, std::uint64_t bits);

  Literal literal(std::int64_t index) const { return {dtype, bits(index)}; }
};

/// Product of the extents.
std::int64_t count_elements(std::span<const std::int64_t> extents);

}  // namespace fuse
