// Comparisons with the evaluator, with repetitions and with what was there before.
#include "check.h"

#include "passes/passes.h"

#include <cstring>

namespace fuse::bench {

namespace {

/// The first elements as a tensor of the shape.
Tensor head(const Tensor &tensor, const std::vector<std::int64_t> &shape) {
  Tensor part(tensor.dtype, shape);
  std::memcpy(part.bytes.data(), tensor.bytes.data(), part.bytes.size());
  return part;
}

/// The first byte at which the tensor does not repeat with the period; its size if it does.
std::size_t first_deviation(const Tensor &tensor, std::size_t period) {
  const std::byte *bytes = tensor.bytes.data();
  std::size_t size = tensor.bytes.size();
  if (std::memcmp(bytes, bytes + period, size - period) == 0) return size;
  std::size_t i = period;
  while (bytes[i] == bytes[i - period]) ++i;
  return i;
}

bool is_ones(const Tensor &tensor, std::int64_t index) {
  std::size_t size = size_of(tensor.dtype);
  constexpr unsigned char kOnes[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  return std::memcmp(&tensor.bytes[static_cast<std::size_t>(index) * size], kOnes, size) == 0;
}

}  // namespace

void check_against(const std::vector<Expected> &expected, const std::vector<Tensor> &actual,
                   Verdict &verdict) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Comparison comparison = compare(expected[i], actual[i]);
    if (!comparison.passed()) verdict.fail(to_string(comparison));
  }
}

void check_repeats(const std::vector<Expected> &expected, const std::vector<Tensor> &actual,
                   Verdict &verdict) {
  std::vector<Tensor> heads;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    heads.push_back(head(actual[i], expected[i].shape));
    std::size_t at = first_deviation(actual[i], heads[i].bytes.size());
    if (at < actual[i].bytes.size())
      verdict.fail("output " + std::to_string(i) + " does not repeat at element " +
                   std::to_string(at / size_of(actual[i].dtype)));
  }
  check_against(expected, heads, verdict);
}

void check_written(const std::vector<Tensor> &actual, Verdict &verdict) {
  for (std::size_t i = 0; i < actual.size(); ++i)
    for (std::int64_t e = 0; e < actual[i].size(); ++e)
      if (is_ones(actual[i], e)) {
        verdict.fail("element " + std::to_string(e) + " of output " + std::to_string(i) +
                     " was not written");
        break;
      }
}

std::vector<Expected> expected_outputs(const Graph &graph, const std::vector<Tensor> &inputs) {
  // Rounding points are those of the canonical graph; it is what runs.
  return evaluate(canonicalize(graph).data(), inputs).outputs;
}

}  // namespace fuse::bench
