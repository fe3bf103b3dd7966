// Random valid graphs with inputs, for property tests and fuzzers.
#pragma once

#include "ir/tensor.h"

#include <fuse/graph.h>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace fuse {

/// Numbers from a seed, or from the bytes that a fuzzer mutates (0 once they run out).
class Entropy {
 public:
  explicit Entropy(std::uint64_t seed) : random_(seed), seeded_(true) {}
  explicit Entropy(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// Uniform in [0, bound); bound at least 1.
  std::size_t below(std::size_t bound);
  bool one_in(std::size_t n) { return below(n) == 0; }
  double uniform(double low, double high);
  template <class T>
  const T &pick(const std::vector<T> &choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 random_;
  std::span<const std::uint8_t> bytes_;
  bool seeded_ = false;
};

struct RandomGraphOptions {
  int operations = 12;
  std::int64_t max_elements = 4096;  // of any value
  bool special_values = true;        // NaNs, infinities, zeros and extremes among the inputs
  bool symbols = true;
  int views = 3;       // of 16 operations
  int reductions = 1;  // of 16 operations
  int scans = 1;       // of 16 operations
  std::size_t max_rank = 4;
  std::vector<std::int64_t> extents = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 64};
  std::vector<std::int64_t> symbol_values = {2, 3, 7, 16, 37, 64};
  std::vector<DType> dtypes = {DType::F32,    DType::F32,    DType::BF16, DType::F16, DType::F64,
                               DType::F8E4M3, DType::F8E5M2, DType::I8,   DType::I32, DType::I64,
                               DType::U8,     DType::U16,    DType::U64,  DType::Bool};
};

struct RandomGraph {
  Graph graph;
  Bindings symbols;
  std::vector<Tensor> inputs;
};

/// A graph whose outputs are the values that nothing else reads, at most four of them.
RandomGraph random_graph(Entropy &entropy, const RandomGraphOptions &options = {});

/// Elements for a tensor of the dtype.
Tensor random_tensor(Entropy &entropy, DType type, std::vector<std::int64_t> shape,
                     bool special_values);

}  // namespace fuse
