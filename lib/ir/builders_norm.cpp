// Normalizations: statistics in two passes in the compute type, one rounding at the end.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>

FUSE_BEGIN_NAMESPACE

namespace {

using Axes = std::vector<int>;

Axes resolve(const Axes &axes, int rank) {
  Axes resolved;
  for (int a : axes) resolved.push_back(normalize_axis("axes", a, rank, {}));
  std::sort(resolved.begin(), resolved.end());
  return resolved;
}

/// Insists on the extents of the axes of x; those of 1 broadcast.
void check_parameter(const char *name, Value p, Value x, const Axes &axes) {
  Shape wanted;
  for (int a : axes) wanted.push_back(x.shape()[a]);
  auto fits = [](const Dim &given, const Dim &d) { return given == d || given == Dim(1); };
  const Shape &given = p.shape();
  if (!std::equal(given.begin(), given.end(), wanted.begin(), wanted.end(), fits))
    fail(ErrorCode::Shape, "{} must be {}{}, not {}", name, to_string(p.dtype()), to_string(wanted),
         type_string(*p.graph(), p.index()));
}

/// A parameter that extends along the axes of x, in x's dtype and laid out to broadcast.
Value parameter(const char *name, Value p, Value x, const Axes &axes) {
  check_parameter(name, p, x, axes);
  Shape shape(x.shape().size(), Dim(1));
  for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = p.shape()[i];
  bool trailing = axes.empty() || axes.front() == x.rank() - static_cast<int>(axes.size());
  return cast(trailing ? p : reshape(p, shape), x.dtype());
}

/// x * weight + bias where there are such.
Value scale(Value x, Value weight, Value bias, const Axes &axes) {
  if (weight.valid()) x = x * parameter("weight", weight, x, axes);
  if (bias.valid()) x = x + parameter("bias", bias, x, axes);
  return x;
}

/// Whether the values have so few digits that a sum of many equal ones has all of them: 16-bit
/// values in f32.
bool sums_of_equals_are_exact(Value x) {
  const GraphData &g = *x.graph();
  NodeId id = x.index();
  while (info(g.node(id).op).kind == OpKind::View) id = g.operand(id, 0);
  return g.node(id).op == Op::Cast && is_float16(g.dtype(g.operand(id, 0)));
}

/// Rows of equal values give zeros: the distances' own mean is what the first mean lost.
Value standardize(Value x, const Axes &axes, double eps) {
  Value d = x - mean(x, axes, true);
  Value deviation = rsqrt(mean(d * d, axes, true) + eps);
  return (sums_of_equals_are_exact(x) ? d : d - mean(d, axes, true)) * deviation;
}

Axes all_but(int axis, int rank) {
  Axes axes;
  for (int a = 0; a < rank; ++a)
    if (a != axis) axes.push_back(a);
  return axes;
}

/// [N, C, ...] as [N, groups, C / groups, ...].
Shape grouped(const Shape &shape, std::int64_t groups) {
  if (shape.size() < 2) fail(ErrorCode::Shape, "takes [N, C, ...], not {}", to_string(shape));
  Dim each;
  if (groups < 1 || !shape[1].divide_exact(groups, each))
    fail(ErrorCode::Shape, "{} channels do not divide into {} groups", to_string(shape[1]), groups);
  Shape result = shape;
  result[1] = each;
  result.insert(result.begin() + 1, Dim(groups));
  return result;
}

/// (1 - momentum) * running + momentum * batch, in running's dtype.
Value moved(Value running, Value batch, double momentum) {
  Value r = to_compute_type(running);
  return cast(r * (1 - momentum) + cast(batch, r.dtype()) * momentum, running.dtype());
}

/// The unbiased variance from the biased one.
Value unbiased(Value variance, Value x, const Axes &axes) {
  Operand count = element_count(x, axes);
  if (count.kind() == Operand::Kind::Real)
    return variance * (count.real() / std::max(count.real() - 1, 1.0));
  return variance * (count.value() / max(count.value() - 1.0, 1.0));
}

}  // namespace

Value layer_norm(Operand x, const Axes &given, Value weight, Value bias, double eps) {
  return float_composite("layer_norm", x, [&](Value v) {
    Axes axes = resolve(given, v.rank());
    return scale(standardize(v, axes, eps), weight, bias, axes);
  });
}

Value rms_norm(Operand x, const Axes &given, Value weight, double eps) {
  return float_composite("rms_norm", x, [&](Value v) {
    Axes axes = resolve(given, v.rank());
    return scale(v * rsqrt(mean(v * v, axes, true) + eps), weight, {}, axes);
  });
}

Value group_norm(Operand x, std::int64_t groups, Value weight, Value bias, double eps) {
  return float_composite("group_norm", x, [&](Value v) {
    Shape shape = grouped(v.shape(), groups);
    Axes folded(shape.size() - 2);
    std::iota(folded.begin(), folded.end(), 2);
    Value y = standardize(reshape(v, shape), folded, eps);
    return scale(reshape(y, v.shape()), weight, bias, {1});
  });
}

Value batch_norm(Operand x, Value mean, Value variance, Value weight, Value bias, double eps,
                 int axis) {
  return float_composite("batch_norm", x, [&](Value v) {
    Axes along = resolve({axis}, v.rank());
    Value d = v - parameter("mean", mean, v, along);
    return scale(d * rsqrt(parameter("variance", variance, v, along) + eps), weight, bias, along);
  });
}

BatchNorm batch_norm_training(Operand x, Value running_mean, Value running_var, Value weight,
                              Value bias, double momentum, double eps, int axis) {
  return composite("batch_norm_training", x, [&](Value given) {
    Value v = to_compute_type(given);
    Axes along = resolve({axis}, v.rank()), folded = all_but(along[0], v.rank());
    Value m = mean(v, folded), variance = var(v, folded);
    Value d = v - parameter("mean", m, v, along);
    Value y =
        scale(d * rsqrt(parameter("variance", variance, v, along) + eps), weight, bias, along);
    return BatchNorm{cast(y, given.dtype()), moved(running_mean, m, momentum),
                     moved(running_var, unbiased(variance, v, folded), momentum)};
  });
}

FUSE_END_NAMESPACE
