// Derivatives of small functions, evaluated.
#pragma once

#include <fuse/jit.h>

#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "ir/graph_verify.h"

#include <functional>
#include <utility>
#include <vector>

namespace fuse {

using Numbers = std::vector<double>;

inline Numbers numbers(const Expected &x) {
  Tensor t = rounded(x);
  Numbers result;
  for (std::int64_t i = 0; i < t.size(); ++i) result.push_back(as_double(t.literal(i)));
  return result;
}

inline Shape shape_of(const std::vector<std::int64_t> &extents) {
  return {extents.begin(), extents.end()};
}

/// The derivative of the sum of what is built.
inline Numbers derivative(const Numbers &x, std::vector<std::int64_t> shape,
                          const std::function<Value(Value)> &build, DType type = f64) {
  Graph g("g");
  Value v = g.input("x", type, shape_of(shape));
  g.output("d", grad(build(v), {v})[0]);
  verify(g);
  std::vector<Tensor> inputs = {Tensor(type, std::move(shape), x)};
  return numbers(evaluate(g.data(), inputs).outputs[0]);
}

inline Numbers derivative(const Numbers &x, const std::function<Value(Value)> &build) {
  return derivative(x, {static_cast<std::int64_t>(x.size())}, build);
}

/// Both derivatives of the sum of a function of two vectors.
inline std::pair<Numbers, Numbers> derivatives(const Numbers &a, const Numbers &b,
                                               const std::function<Value(Value, Value)> &build) {
  Graph g("g");
  auto n = static_cast<std::int64_t>(a.size());
  Value x = g.input("x", f64, {n}), y = g.input("y", f64, {n});
  std::vector<Value> d = grad(build(x, y), {x, y});
  g.output("dx", d[0]);
  g.output("dy", d[1]);
  std::vector<Tensor> inputs = {Tensor(f64, {n}, a), Tensor(f64, {n}, b)};
  Evaluation e = evaluate(g.data(), inputs);
  return {numbers(e.outputs[0]), numbers(e.outputs[1])};
}

}  // namespace fuse
