// The reference evaluator of graphs and the judge of everything that runs them.
//
// Every element gets a value and the absolute error that a right implementation may show: running
// error analysis with the bounds of docs/numerics.md. An error of 0 asks for the value itself, an
// infinite one marks an element that a threshold within the error could send either way.
// Values are kept unrounded where they are inexact, f64 ones in long double.
#pragma once

#include "ir/graph_data.h"
#include "ir/tensor.h"

#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuse {

/// What a tensor should hold.
struct Expected {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  bool splat = false;               // one element stands for all
  std::vector<double> value;        // floats
  std::vector<double> low;          // f64: value + low is the number; empty: zeros
  std::vector<std::uint64_t> bits;  // integers and bool, extended to 64 bits
  std::vector<double> error;        // allowed absolute error; empty: all exact

  std::int64_t size() const { return count_elements(shape); }
  std::size_t stored() const { return splat ? 1 : static_cast<std::size_t>(size()); }
};

/// The elements of a tensor, exact.
Expected exactly(const Tensor &tensor);

/// The values rounded to the dtype.
Tensor rounded(const Expected &expected);

/// Runs an extern operation: values and allowed errors of its results.
using ExternFn =
    std::function<std::vector<Expected>(std::string_view name, std::span<const Expected> operands)>;

struct EvaluateOptions {
  bool all_values = false;  // keep the value of every node
  // Sums fold n elements in a tree of at most log2(n) + this many levels.
  int extra_depth = 32;
  ExternFn run_extern;
};

struct Evaluation {
  std::vector<Expected> outputs;
  std::vector<Expected> values;  // by node, if asked for
};

/// Evaluates a graph on inputs in its argument order. Throws Error{InvalidArgument} where an input
/// does not fit, a symbol has no value or an extern op has no one to run it.
Evaluation evaluate(const GraphData &graph, std::span<const Tensor> inputs,
                    const Bindings &symbols = {}, const EvaluateOptions &options = {});

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t failures = 0;
  std::int64_t uncertain = 0;  // elements that any value would have passed
  std::int64_t first = -1;     // index of the first failure, its values and the bound
  double expected = 0, actual = 0, bound = 0;
  double worst_ratio = 0;  // largest error over its bound, where the bound is not 0
  bool passed() const { return failures == 0; }
};

/// Judges a tensor. NaNs equal one another; zeros of exact elements keep their sign. Throws
/// Error{InvalidArgument} where dtypes or shapes differ.
Comparison compare(const Expected &expected, const Tensor &actual);

/// An element that a tensor has wrong.
struct Mismatch {
  std::int64_t index = 0;
  Literal expected, actual;           // the expected value rounded to the dtype
  double bound = 0;                   // the absolute error that would have passed
  std::optional<std::uint64_t> ulps;  // values of the dtype from one to the other; none for a NaN
};

/// The first elements, `limit` at most, that compare() counts as failures.
std::vector<Mismatch> mismatches(const Expected &expected, const Tensor &actual, std::size_t limit);

/// For printing: what bears no meaning is not shown.
inline double without_nan_sign(double value) { return std::isnan(value) ? NAN : value; }

/// "3 of 4096 elements differ; first at 17: 0.25, not 0.5 +- 1e-07; worst error 2.1 times its
/// bound"
std::string to_string(const Comparison &comparison);

}  // namespace fuse
