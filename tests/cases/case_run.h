// Runs one graph on every path and judges each result twice: by the values that the test gives and
// by the evaluator.
//
// Paths: the evaluator; constant folding, where the graph is elementwise; the fused graph and the
// graph with every node an output, each strict and widened, on the host executor and on a GPU where
// there is one. Every buffer lies between guard zones that must stay untouched.
#pragma once

#include "ir/evaluate.h"
#include "run/executors.h"

#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace fuse::cases {

inline constexpr double kNaN = __builtin_nan("");
inline constexpr double kInf = __builtin_inf();

/// Elements rounded to the dtype; missing ones repeat from the first.
Tensor floats(DType type, std::vector<std::int64_t> shape, const std::vector<double> &values);
Tensor ints(DType type, std::vector<std::int64_t> shape, const std::vector<std::int64_t> &values);

/// Elements as a function of their position.
template <class F>
Tensor generate(DType type, std::vector<std::int64_t> shape, F f) {
  std::vector<double> values(static_cast<std::size_t>(count_elements(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(f(static_cast<std::int64_t>(i)));
  return Tensor(type, std::move(shape), values);
}

/// Tolerances: in units in the last place of the value, relative, absolute. The largest holds.
struct Within {
  double ulp = 0, rel = 0, abs = 0;
};

/// The numbers rounded to the dtype, every bit of them; missing ones repeat from the first.
inline Expected exact(DType type, std::vector<std::int64_t> shape,
                      const std::vector<double> &values) {
  return exactly(floats(type, std::move(shape), values));
}

/// Numbers, missing ones repeating from the first, with a tolerance for all of them.
Expected within(DType type, std::vector<std::int64_t> shape, const std::vector<double> &values,
                Within tolerance);

/// One launch: sizes, inputs in order, and what each output should hold.
struct Sample {
  std::vector<Tensor> inputs;
  std::vector<Expected> wanted;
  Bindings symbols = {};
};

struct RunOptions {
  bool op_by_op = true;   // off where a value between is too large to be stored
  bool evaluator = true;  // off where the evaluator would take too long
  int offset = 0;         // elements from a 256-byte boundary to every tensor
};

/// Compiles the graph once for each path and runs every sample.
void run_samples(const Graph &graph, const std::vector<Sample> &samples,
                 const RunOptions &options = {});

/// The same for one sample.
void run_case(const Graph &graph, const std::vector<Tensor> &inputs,
              const std::vector<Expected> &wanted, const RunOptions &options = {});
void run_case(std::string_view text, const std::vector<Tensor> &inputs,
              const std::vector<Expected> &wanted, const RunOptions &options = {});

/// An elementwise text over N elements: as many as the first input has, and these repeated to 1027,
/// so that vectors and tails are met.
void run_elementwise(std::string_view text, const std::vector<Tensor> &inputs,
                     const std::vector<Expected> &wanted);

/// Runs once; outputs in order. Fails the test where a guard zone was written to.
std::vector<Tensor> execute(const Executable &executable, const Sample &sample, int offset = 0);

/// Fails the test, naming the path, where the tensor is not as wanted.
void judge(const Expected &wanted, const Tensor &actual, const std::string &path);

}  // namespace fuse::cases
