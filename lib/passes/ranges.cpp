// Interval arithmetic; what is not monotone or has no rule here has no bounds.
#include "passes/ranges.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <cmath>

namespace fuse {

namespace {

// Functions err by a few units in the last place of f32; rounding to bf16 moves a value by 2^-9.
constexpr double kFunctionSlack = 0x1p-20, kRoundingSlack = 0x1p-8;

ValueRange hull(ValueRange a, ValueRange b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

/// Bounds moved outward by that part of themselves.
ValueRange widened(ValueRange x, double slack) {
  return {x.lo - std::fabs(x.lo) * slack, x.hi + std::fabs(x.hi) * slack};
}

ValueRange sum(ValueRange a, ValueRange b) { return {a.lo + b.lo, a.hi + b.hi}; }

ValueRange negated(ValueRange x) { return {-x.hi, -x.lo}; }

/// 0 * infinity counts as 0: the infinity is a bound that no element reaches, or makes NaN.
ValueRange product(ValueRange a, ValueRange b) {
  auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  auto [lo, hi] =
      std::minmax({times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)});
  return {lo, hi};
}

ValueRange magnitude(ValueRange x) { return {x.least_magnitude(), x.greatest_magnitude()}; }

ValueRange monotone(ValueRange x, double (*f)(double)) {
  return widened({f(x.lo), f(x.hi)}, kFunctionSlack);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Ranges {
 public:
  explicit Ranges(const GraphData &graph) : g_(graph), ranges_(graph.size()) {}

  std::vector<ValueRange> run() {
    for (NodeId id = 0; id < g_.size(); ++id) {
      if (is_bool(g_.dtype(id))) ranges_[id] = {0, 1};
      if (!is_float(g_.dtype(id))) continue;
      ranges_[id] = range_of(id);
      if (g_.dtype(id) != DType::F64 && g_.dtype(id) != DType::F32)
        ranges_[id] = widened(ranges_[id], kRoundingSlack);
    }
    return std::move(ranges_);
  }

 private:
  const GraphData &g_;
  std::vector<ValueRange> ranges_;

  ValueRange of(NodeId id, std::size_t i) const { return ranges_[g_.operand(id, i)]; }

  ValueRange of_operands(NodeId id, std::size_t first = 0) const {
    ValueRange range = of(id, first);
    for (std::size_t i = first + 1; i < g_.operands(id).size(); ++i) range = hull(range, of(id, i));
    return range;
  }

  ValueRange constant(NodeId id) const {
    double value = as_double(g_.attr<Literal>(id));
    return std::isnan(value) ? ValueRange{} : ValueRange{value, value};
  }

  ValueRange range_of(NodeId id) const {
    switch (g_.node(id).op) {
      case Op::Constant: return constant(id);
      case Op::Neg: return negated(of(id, 0));
      case Op::Abs: return magnitude(of(id, 0));
      case Op::Add: return widened(sum(of(id, 0), of(id, 1)), kFunctionSlack);
      case Op::Sub: return widened(sum(of(id, 0), negated(of(id, 1))), kFunctionSlack);
      case Op::Mul: return widened(product(of(id, 0), of(id, 1)), kFunctionSlack);
      case Op::Fma: return widened(sum(product(of(id, 0), of(id, 1)), of(id, 2)), kFunctionSlack);
      case Op::Sigmoid: return monotone(of(id, 0), sigmoid);
      case Op::Tanh: return monotone(of(id, 0), [](double x) { return std::tanh(x); });
      case Op::Exp: return monotone(of(id, 0), [](double x) { return std::exp(x); });
      case Op::Exp2: return monotone(of(id, 0), [](double x) { return std::exp2(x); });
      case Op::Select: return of_operands(id, 1);
      case Op::Cast: return of(id, 0);
      case Op::Min:
      case Op::Max:
      case Op::Broadcast:
      case Op::Reshape:
      case Op::Transpose:
      case Op::Slice:
      case Op::Flip:
      case Op::Pad:
      case Op::Concat: return of_operands(id);
      default: return {};
    }
  }
};

}  // namespace

std::vector<ValueRange> value_ranges(const GraphData &graph) { return Ranges(graph).run(); }

}  // namespace fuse
