// Arguments of a launch: what their addresses, strides and values say.
#pragma once

#include "ir/program.h"
#include "passes/passes.h"

#include <fuse/executable.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace fuse {

/// An axis of a strided argument along which its elements lie apart.
struct StridedAxis {
  std::int64_t step;  // bytes, above 0
  std::int64_t extent;
};

/// What one launch says of one argument. A strided one consists of blocks of elements: one block at
/// `first`, repeated along the axes.
struct ArgumentFacts {
  const void *data = nullptr;
  ArgumentClass kind;
  std::int64_t bytes = 0;          // that it spans, holes included
  std::int64_t first = 0;          // byte of the span at its lowest address, from `data`
  std::int64_t strides[kMaxRank];  // in elements
  std::size_t num_axes = 0;        // 0 where its elements fill the span
  StridedAxis axes[kMaxRank];
};

/// Facts of a tensor of the extents; null strides mean row-major. `alignment` is what the address
/// is known to divide. Throws InvalidArgument where elements of an output share memory.
ArgumentFacts describe(const Argument &argument, bool is_output, const std::int64_t *extents,
                       const std::int64_t *strides, int alignment);

/// Marks the tensors without alignment whose element 0 is as many elements from a 16-byte boundary
/// as that of all others marked, for vectors of each. `sizes`: bytes of an element.
void find_shifted(ArgumentFacts *facts, const int *sizes, std::size_t count);

/// Bytes that the address divides: a power of two, at most 16, and 16 for null.
int alignment_of(const void *address);

/// The literal as an argument of its dtype.
Arg scalar_argument(const Literal &value);

/// Bits of the value as the argument's dtype, in the low bytes. Throws Error{DType} where an
/// integer dtype does not take the value.
std::uint64_t scalar_bits(const Argument &argument, const Arg &given);

/// Strides of the same elements in another shape; none where no strides give them in that order.
std::optional<std::vector<std::int64_t>> strides_of_reshape(
    const std::vector<std::int64_t> &extents, const std::vector<std::int64_t> &strides,
    const std::vector<std::int64_t> &shape);

}  // namespace fuse
