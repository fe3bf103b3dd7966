// Memory of one argument of a launch: strided, misaligned, with guards that nobody may touch.
//
// Every byte that belongs to no element has a known pattern, before the first element, after the
// last one and between them; so do the elements of outputs until they are written.
#pragma once

#include "ir/tensor.h"
#include "property/random_graph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuse {

/// Row-major strides in elements.
std::vector<std::int64_t> row_major(const std::vector<std::int64_t> &extents);

/// Strides in elements of a random order of the axes, with gaps; of inputs any sign, or 0.
std::vector<std::int64_t> random_strides(Entropy &entropy, const std::vector<std::int64_t> &extents,
                                         bool is_input);

class GuardedMemory {
 public:
  /// Room for elements at the strides. Element 0 stands `offset` elements from a 256-byte boundary.
  GuardedMemory(DType type, std::vector<std::int64_t> extents, std::vector<std::int64_t> strides,
                std::size_t offset = 0);

  std::byte *data() { return base() + origin_; }
  const std::vector<std::int64_t> &extents() const { return extents_; }
  const std::vector<std::int64_t> &strides() const { return strides_; }

  void write(const Tensor &tensor);
  Tensor read() const;

  /// True while no byte outside the elements has changed.
  bool is_intact() const;

 private:
  static constexpr std::size_t kBoundary = 256;

  std::byte *base() const;
  std::size_t place(std::int64_t element) const;

  DType type_;
  std::vector<std::int64_t> extents_, strides_;
  std::size_t origin_ = 0, size_ = 0;  // from base(), in bytes
  mutable std::vector<std::byte> storage_;
};

}  // namespace fuse
