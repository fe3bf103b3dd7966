// Memory of the device or of the host, filled.
#pragma once

#include "ir/tensor.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace fuse::bench {

/// A place in memory.
struct Place {
  void *data = nullptr;
  std::size_t bytes = 0;
  bool on_host = false;
};

/// Fills the place with the tensor's bytes, over and over. Waits.
void fill_with(const Place &place, const Tensor &tensor);

/// Ones in every bit.
void fill_with_ones(const Place &place);

/// Random elements: floats in [-2, 2), integers in [0, limit).
Tensor random_tensor(DType type, const std::vector<std::int64_t> &shape, std::int64_t limit,
                     std::mt19937_64 &random);

}  // namespace fuse::bench
