// Numbers that rows are measured and judged with.
#pragma once

#include "ir/tensor.h"

#include <cstdint>
#include <random>
#include <vector>

namespace fuse::bench {

/// Random elements: floats in [-2, 2), integers in [0, limit).
Tensor random_tensor(DType type, const std::vector<std::int64_t> &shape, std::int64_t limit,
                     std::mt19937_64 &random);

}  // namespace fuse::bench
