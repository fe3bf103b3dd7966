// Elements to try operations on, by dtype: all of them where there are few, else a dense sample.
#pragma once

#include "ir/tensor.h"

#include <vector>

namespace fuse {

/// All bit patterns of types of up to 16 bits. Of f32 and f64 every sign and exponent with the
/// least, the greatest and random mantissas, numbers of the ranges in which functions change their
/// method, and neighbours of integers and of multiples of pi/2; of integers the neighbours of
/// powers of two, and random ones.
Tensor dense_sample(DType type);

/// Few values, for products: zeros, ones, extremes, subnormals, infinities, NaN, small integers.
std::vector<std::uint64_t> special_bits(DType type);

/// All tuples of special values, as `operands` tensors, followed by random elements.
std::vector<Tensor> special_products(DType type, std::size_t operands);

}  // namespace fuse
