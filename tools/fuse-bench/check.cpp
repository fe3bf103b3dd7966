// Comparisons with the evaluator, with repetitions and with what was there before.
#include "check.h"

#include "externs.h"
#include "ir/evaluate_ball.h"

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

/// The error of an element where its value is known; nothing where any value would do.
std::optional<double> error_of(const Expected &expected, const Tensor &actual, std::int64_t i) {
  Ball<long double> ball = ball_at<long double>(expected, i);
  double value = decode_float(actual.dtype, actual.bits(i));
  if (!std::isfinite(ball.e) || !std::isfinite(ball.v) || !std::isfinite(value)) return {};
  return static_cast<double>(std::fabs(ball.v - value));
}

Accuracy accuracy_of(const Expected &expected, const Tensor &actual) {
  Precision precision(expected.dtype);
  double ulps = 0, errors = 0, values = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    std::optional<double> error = error_of(expected, actual, i);
    if (!error) continue;
    auto value = static_cast<double>(ball_at<long double>(expected, i).v);
    ulps = std::max(ulps, *error / precision.ulp(std::fabs(value)));
    errors += *error * *error;
    values += value * value;
  }
  return {ulps, values > 0 ? std::sqrt(errors / values) : 0};
}

void add_accuracy(const Expected &expected, const Tensor &actual, Verdict &verdict) {
  if (!is_float(expected.dtype)) return;
  Accuracy own = accuracy_of(expected, actual), before = verdict.accuracy.value_or(Accuracy());
  verdict.accuracy = {std::max(own.ulps, before.ulps), std::max(own.relative, before.relative)};
}

}  // namespace

void check_against(const std::vector<Expected> &expected, const std::vector<Tensor> &actual,
                   Verdict &verdict) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Comparison comparison = compare(expected[i], actual[i]);
    if (!comparison.passed()) verdict.fail(to_string(comparison));
    add_accuracy(expected[i], actual[i], verdict);
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
  Graph canonical = canonicalize(graph);
  EvaluateOptions options;
  options.run_extern = stand_ins(canonical.data());
  return evaluate(canonical.data(), inputs, {}, options).outputs;
}

}  // namespace fuse::bench
