// Rules of reductions.
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

const AxesAttr &attr_of(Simplifier &s, NodeId id) { return s.g.attr<AxesAttr>(id); }

/// Axes of extent 1 need no folding. The shape must not change, so unless axes are kept, all of
/// them must go: then the reduction is a reshape.
NodeId reduce_unit_axes(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  AxesAttr attr = attr_of(s, n);
  std::vector<int> longer;
  for (int a : attr.axes)
    if (s.shape(x)[a] != Dim(1)) longer.push_back(a);
  if (longer.empty()) return build_reshape(s.g, x, s.shape(n));
  bool fires = attr.keep && longer.size() < attr.axes.size();
  return fires ? build_reduce(s.g, s.op(n), x, longer, true) : kNoNode;
}

NodeId position_in_unit_axis(Simplifier &s, NodeId n) {
  int axis = attr_of(s, n).axes[0];
  return s.shape(s.arg(n, 0))[axis] == Dim(1) ? s.constant(n, 0.0) : kNoNode;
}

/// Axes of the operand's operand that both reductions fold.
std::vector<int> merged_axes(const AxesAttr &inner, const AxesAttr &outer, int rank) {
  std::vector<int> left;  // axis of the inner result -> axis of its operand
  for (int i = 0; i < rank; ++i)
    if (inner.keep || !std::binary_search(inner.axes.begin(), inner.axes.end(), i))
      left.push_back(i);
  std::vector<int> merged = inner.axes;
  for (int a : outer.axes) merged.push_back(left[a]);
  std::sort(merged.begin(), merged.end());
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  return merged;
}

/// max over b of max over a = max over a and b: where the order of folding does not matter. An
/// inner result that others read too is not computed twice.
NodeId reduce_of_reduce(Simplifier &s, NodeId n) {
  NodeId inner = s.arg(n, 0);
  if (!s.is(inner, s.op(n)) || !s.single_use(inner)) return kNoNode;
  if (!info(s.op(n)).is(Exact) && is_float(s.dtype(n))) return kNoNode;
  const AxesAttr &a = attr_of(s, inner), &b = attr_of(s, n);
  if (a.keep != b.keep) return kNoNode;
  NodeId x = s.arg(inner, 0);
  std::vector<int> axes = merged_axes(a, b, static_cast<int>(s.shape(x).size()));
  return build_reduce(s.g, s.op(n), x, axes, b.keep);
}

/// The operand of the broadcast that the node folds, repeated along no axis that is folded; kNoNode
/// if there is nothing to gain. `repeats` is the number of equal elements, modulo 2^64.
NodeId without_repeats(Simplifier &s, NodeId n, std::uint64_t &repeats) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Broadcast)) return kNoNode;
  const Shape &from = s.shape(s.arg(x, 0));
  Shape shape = s.shape(x);
  std::size_t leading = shape.size() - from.size();
  repeats = 1;
  bool found = false;
  for (int a : attr_of(s, n).axes) {
    auto i = static_cast<std::size_t>(a);
    bool repeated = i < leading || from[i - leading] == Dim(1);
    if (!repeated || !shape[i].is_static() || shape[i].value() < 2) continue;
    repeats *= static_cast<std::uint64_t>(shape[i].value());
    shape[i] = 1;
    found = true;
  }
  if (!found) return kNoNode;
  Shape aligned(leading, 1);
  aligned.insert(aligned.end(), from.begin(), from.end());
  return build_broadcast(s.g, build_reshape(s.g, s.arg(x, 0), aligned), shape);
}

NodeId fold_repeats_once(Simplifier &s, NodeId n) {
  std::uint64_t repeats = 0;
  NodeId x = without_repeats(s, n, repeats);
  const AxesAttr &attr = attr_of(s, n);
  return x == kNoNode ? kNoNode : build_reduce(s.g, s.op(n), x, attr.axes, attr.keep);
}

/// Only of integers: the product wraps as the sum does. A float product rounds otherwise.
NodeId sum_of_repeats(Simplifier &s, NodeId n) {
  std::uint64_t repeats = 0;
  NodeId x = s.has_int_type(n) ? without_repeats(s, n, repeats) : kNoNode;
  if (x == kNoNode) return kNoNode;
  AxesAttr attr = attr_of(s, n);
  NodeId once = build_reduce(s.g, Op::Sum, x, attr.axes, attr.keep);
  Literal factor{s.dtype(n), wrap_int(s.dtype(n), repeats)};
  return s.make(n, Op::Mul, {once, s.constant(n, factor)});
}

constexpr Rule kRules[] = {
    {Op::Sum, "sum over axes of extent 1", reduce_unit_axes},
    {Op::Prod, "prod over axes of extent 1", reduce_unit_axes},
    {Op::ReduceMax, "max over axes of extent 1", reduce_unit_axes},
    {Op::ReduceMin, "min over axes of extent 1", reduce_unit_axes},
    {Op::Any, "any over axes of extent 1", reduce_unit_axes},
    {Op::All, "all over axes of extent 1", reduce_unit_axes},
    {Op::ArgMax, "argmax over an axis of extent 1 = 0", position_in_unit_axis},
    {Op::ArgMin, "argmin over an axis of extent 1 = 0", position_in_unit_axis},
    {Op::Sum, "sum of n equal integers = n * x", sum_of_repeats},
    {Op::ReduceMax, "max of equal elements", fold_repeats_once},
    {Op::ReduceMin, "min of equal elements", fold_repeats_once},
    {Op::Any, "any of equal elements", fold_repeats_once},
    {Op::All, "all of equal elements", fold_repeats_once},
    {Op::Sum, "sum of a sum, integers", reduce_of_reduce},
    {Op::Prod, "prod of a prod, integers", reduce_of_reduce},
    {Op::ReduceMax, "max of a max", reduce_of_reduce},
    {Op::ReduceMin, "min of a min", reduce_of_reduce},
    {Op::Any, "any of an any", reduce_of_reduce},
    {Op::All, "all of an all", reduce_of_reduce},
};

}  // namespace

std::span<const Rule> reduce_rules() { return kRules; }

}  // namespace fuse
