// Builders that reduce: 16-bit inputs accumulate in f32, variances take two passes, exponentials
// have the maximum subtracted.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/format.h"

#include <fuse/grad.h>

#include <algorithm>
#include <cmath>

FUSE_BEGIN_NAMESPACE

namespace {

using Axes = std::vector<int>;

/// Mean of the squared distances from the mean, in the compute type.
Value variance(Value v, const Axes &axes, int correction, bool keep) {
  Value d = v - mean(v, axes, true);
  Operand count = element_count(v, axes);
  if (count.kind() == Operand::Kind::Real)
    return sum(d * d, axes, keep) / std::max(count.real() - correction, 0.0);
  return sum(d * d, axes, keep) / max(count.value() - double(correction), 0.0);
}

/// What is subtracted before exponentials and comes back behind them: the result does not depend on
/// it, so no gradient passes.
Value maximum(Value v, const Axes &axes, bool keep) {
  return stop_gradient(reduce_max(v, axes, keep));
}

Value log_sum_exp(Value v, const Axes &axes, bool keep) {
  Value shift = maximum(v, axes, true);
  Value m = keep ? shift : maximum(v, axes, false);
  Value s = sum(exp(v - shift), axes, keep);
  return select(isinf(m), m, log(s) + m);
}

/// The last position on the axis, as a tensor of one element.
Value last_position(Value v, DType index, int axis) {
  Shape one(static_cast<std::size_t>(v.rank()), 1);
  Dim extent = one[static_cast<std::size_t>(axis)] = v.shape()[axis];
  Value positions = v.graph()->value(build_iota(*v.graph(), index, one, axis));
  return slice(positions, axis, extent - 1, extent);
}

}  // namespace

Value mean(Operand x, const Axes &axes, bool keep) {
  return float_composite("mean", x,
                         [&](Value v) { return sum(v, axes, keep) / element_count(v, axes); });
}

Value var(Operand x, const Axes &axes, int correction, bool keep) {
  return float_composite("var", x, [&](Value v) { return variance(v, axes, correction, keep); });
}

Value stddev(Operand x, const Axes &axes, int correction, bool keep) {
  return float_composite("stddev", x,
                         [&](Value v) { return sqrt(variance(v, axes, correction, keep)); });
}

Value logsumexp(Operand x, const Axes &axes, bool keep) {
  return float_composite("logsumexp", x, [&](Value v) { return log_sum_exp(v, axes, keep); });
}

Value softmax(Operand x, int axis) {
  return float_composite("softmax", x, [&](Value v) {
    Value e = exp(v - maximum(v, {axis}, true));
    return e / sum(e, {axis}, true);
  });
}

Value log_softmax(Operand x, int axis) {
  return float_composite("log_softmax", x, [&](Value v) {
    Value d = v - maximum(v, {axis}, true);
    return d - log(sum(exp(d), {axis}, true));
  });
}

Value cross_entropy(Operand logits, Value target, int axis) {
  return float_composite("cross_entropy", logits, [&](Value v) {
    int at = normalize_axis("cross_entropy", axis, v.rank(), logits.where());
    if (target.rank() != v.rank() - 1 || !is_int(target.dtype()))
      fail(ErrorCode::Shape, "targets {} are no integers of the shape of {} without axis {}",
           type_string(*target.graph(), target.index()), type_string(*v.graph(), v.index()), at);
    DType index = position_type(target.dtype());
    Value column = v.graph()->value(build_iota(*v.graph(), index, v.shape(), at));
    Value t = unsqueeze(as_positions(target), at);
    Value m = maximum(v, {at}, true);
    Value picked = sum(select(eq(column, t), v, 0.0), {at}, true);
    // log s + (m - x) and not (log s + m) - x: the difference of logits cancels exactly.
    Value loss = log(sum(exp(v - m), {at}, true)) + (m - picked);
    Value beyond = t > last_position(v, index, at);
    return squeeze(select(beyond, std::nan(""), select(t < 0, 0.0, loss)), at);
  });
}

Value normalize(Operand x, int axis, double eps) {
  return float_composite("normalize", x,
                         [&](Value v) { return v / max(sqrt(sum(v * v, {axis}, true)), eps); });
}

FUSE_END_NAMESPACE
