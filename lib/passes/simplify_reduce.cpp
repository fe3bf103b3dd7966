// Rules of reductions.
#include "passes/simplify.h"

#include "ir/build.h"
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

constexpr Rule kRules[] = {
    {Op::Sum, "sum over axes of extent 1", reduce_unit_axes},
    {Op::Prod, "prod over axes of extent 1", reduce_unit_axes},
    {Op::ReduceMax, "max over axes of extent 1", reduce_unit_axes},
    {Op::ReduceMin, "min over axes of extent 1", reduce_unit_axes},
    {Op::Any, "any over axes of extent 1", reduce_unit_axes},
    {Op::All, "all over axes of extent 1", reduce_unit_axes},
    {Op::ArgMax, "argmax over an axis of extent 1 = 0", position_in_unit_axis},
    {Op::ArgMin, "argmin over an axis of extent 1 = 0", position_in_unit_axis},
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
