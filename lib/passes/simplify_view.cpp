// Rules of views with one operand: views of views become one, views that move nothing vanish, and
// views of constants and of iota are constants and iotas.
#include "passes/simplify.h"

#include "ir/build.h"

#include <algorithm>

namespace fuse {

namespace {

NodeId constant_view(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  return s.is_constant(x) ? build_constant(s.g, s.literal(x), s.shape(n)) : kNoNode;
}

NodeId same_shape(Simplifier &s, NodeId n) {
  return s.shape(s.arg(n, 0)) == s.shape(n) ? s.arg(n, 0) : kNoNode;
}

const std::vector<int> &axes(Simplifier &s, NodeId id) { return s.g.attr<AxesAttr>(id).axes; }

/// The operand of the operand, where both nodes are of the same op.
NodeId through(Simplifier &s, NodeId n) {
  NodeId inner = s.arg(n, 0);
  return s.is(inner, s.op(n)) ? s.arg(inner, 0) : kNoNode;
}

NodeId broadcast_of_broadcast(Simplifier &s, NodeId n) {
  NodeId x = through(s, n);
  return x == kNoNode ? kNoNode : build_broadcast(s.g, x, s.shape(n));
}

NodeId reshape_of_reshape(Simplifier &s, NodeId n) {
  NodeId x = through(s, n);
  return x == kNoNode ? kNoNode : build_reshape(s.g, x, s.shape(n));
}

NodeId transpose_of_transpose(Simplifier &s, NodeId n) {
  NodeId x = through(s, n);
  if (x == kNoNode) return kNoNode;
  std::vector<int> composed;
  for (int a : axes(s, n)) composed.push_back(axes(s, s.arg(n, 0))[a]);
  return build_transpose(s.g, x, composed);
}

NodeId flip_of_flip(Simplifier &s, NodeId n) {
  NodeId x = through(s, n);
  if (x == kNoNode) return kNoNode;
  const std::vector<int> &a = axes(s, n), &b = axes(s, s.arg(n, 0));
  std::vector<int> odd;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(odd));
  return build_flip(s.g, x, odd);
}

NodeId flip_of_unit_axes(Simplifier &s, NodeId n) {
  std::vector<int> moved;
  for (int a : axes(s, n))
    if (s.shape(n)[a] != Dim(1)) moved.push_back(a);
  return moved == axes(s, n) && !moved.empty() ? kNoNode : build_flip(s.g, s.arg(n, 0), moved);
}

NodeId slice_of_slice(Simplifier &s, NodeId n) {
  NodeId x = through(s, n);
  if (x == kNoNode) return kNoNode;
  const SliceAttr &outer = s.g.attr<SliceAttr>(n), &inner = s.g.attr<SliceAttr>(s.arg(n, 0));
  SliceAttr composed;
  for (std::size_t i = 0; i < outer.start.size(); ++i) {
    composed.start.push_back(inner.start[i] + outer.start[i] * inner.step[i]);
    composed.step.push_back(inner.step[i] * outer.step[i]);
  }
  return s.g.add(Op::Slice, s.dtype(n), s.shape(n), {{x}}, composed);
}

/// A slice that cuts only axes along which the broadcast repeats.
NodeId slice_of_broadcast(Simplifier &s, NodeId n) {
  NodeId inner = s.arg(n, 0);
  if (!s.is(inner, Op::Broadcast)) return kNoNode;
  NodeId x = s.arg(inner, 0);
  const Shape &from = s.shape(x), &whole = s.shape(inner), &cut = s.shape(n);
  std::size_t offset = whole.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != Dim(1) && whole[offset + i] != cut[offset + i]) return kNoNode;
  return build_broadcast(s.g, x, cut);
}

/// A slice that stays inside the padded operand.
NodeId slice_of_pad(Simplifier &s, NodeId n) {
  NodeId inner = s.arg(n, 0);
  if (!s.is(inner, Op::Pad)) return kNoNode;
  NodeId x = s.arg(inner, 0);
  SliceAttr slice = s.g.attr<SliceAttr>(n);
  const PadAttr &pad = s.g.attr<PadAttr>(inner);
  for (std::size_t i = 0; i < slice.start.size(); ++i) {
    slice.start[i] = slice.start[i] - pad.lo[i];
    Dim last = slice.start[i] + (s.shape(n)[i] - 1) * slice.step[i];
    Dim behind = s.shape(x)[i] - last;
    if (!slice.start[i].is_static() || slice.start[i].value() < 0) return kNoNode;
    if (!behind.is_static() || behind.value() < 1) return kNoNode;
  }
  return s.shape(x) == s.shape(n) ? x : s.g.add(Op::Slice, s.dtype(n), s.shape(n), {{x}}, slice);
}

// --- Views of iota -------------------------------------------------------------------------------

NodeId iota_along(Simplifier &s, NodeId n, int axis) {
  return s.g.add(Op::Iota, s.dtype(n), s.shape(n), {}, AxesAttr{{axis}, false});
}

NodeId broadcast_of_iota(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Iota)) return kNoNode;
  return iota_along(s, n, axes(s, x)[0] + static_cast<int>(s.shape(n).size() - s.shape(x).size()));
}

NodeId transpose_of_iota(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Iota)) return kNoNode;
  const std::vector<int> &permutation = axes(s, n);
  auto at = std::find(permutation.begin(), permutation.end(), axes(s, x)[0]);
  return iota_along(s, n, static_cast<int>(at - permutation.begin()));
}

/// Axes whose extent is not 1.
std::vector<int> long_axes(const Shape &shape) {
  std::vector<int> found;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != Dim(1)) found.push_back(static_cast<int>(i));
  return found;
}

/// A transpose that leaves the other axes in order.
NodeId transpose_of_unit_axes(Simplifier &s, NodeId n) {
  std::vector<int> moved = axes(s, n);
  std::erase_if(moved, [&](int a) { return s.shape(s.arg(n, 0))[a] == Dim(1); });
  bool in_order = std::is_sorted(moved.begin(), moved.end());
  return in_order ? build_reshape(s.g, s.arg(n, 0), s.shape(n)) : kNoNode;
}

/// A reshape that only adds and removes axes of extent 1.
NodeId reshape_of_iota(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Iota)) return kNoNode;
  std::vector<int> from = long_axes(s.shape(x)), to = long_axes(s.shape(n));
  auto same = [&](int a, int b) { return s.shape(x)[a] == s.shape(n)[b]; };
  if (!std::equal(from.begin(), from.end(), to.begin(), to.end(), same)) return kNoNode;
  auto at = std::find(from.begin(), from.end(), axes(s, x)[0]);
  return at == from.end() ? kNoNode : iota_along(s, n, to[at - from.begin()]);
}

/// A slice that begins at 0 with step 1 along the iota's axis.
NodeId slice_of_iota(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Iota)) return kNoNode;
  int axis = axes(s, x)[0];
  const SliceAttr &slice = s.g.attr<SliceAttr>(n);
  bool from_zero = slice.start[axis] == Dim(0) && slice.step[axis] == 1;
  return from_zero ? iota_along(s, n, axis) : kNoNode;
}

NodeId flip_of_iota(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Iota)) return kNoNode;
  const std::vector<int> &flipped = axes(s, n);
  return std::binary_search(flipped.begin(), flipped.end(), axes(s, x)[0]) ? kNoNode : x;
}

constexpr Rule kRules[] = {
    {Op::Iota, "iota of one position = 0",
     [](Simplifier &s, NodeId n) {
       return s.shape(n)[axes(s, n)[0]] == Dim(1) ? s.constant(n, 0.0) : kNoNode;
     }},
    {Op::Broadcast, "broadcast of a constant", constant_view},
    {Op::Reshape, "reshape of a constant", constant_view},
    {Op::Transpose, "transpose of a constant", constant_view},
    {Op::Slice, "slice of a constant", constant_view},
    {Op::Flip, "flip of a constant", constant_view},
    {Op::Broadcast, "broadcast to the same shape", same_shape},
    {Op::Reshape, "reshape to the same shape", same_shape},
    {Op::Slice, "slice of everything", same_shape},
    {Op::Transpose, "transpose to the same order",
     [](Simplifier &s, NodeId n) {
       return std::is_sorted(axes(s, n).begin(), axes(s, n).end()) ? s.arg(n, 0) : kNoNode;
     }},
    {Op::Flip, "flip of axes of extent 1, or of none", flip_of_unit_axes},
    {Op::Broadcast, "broadcast of a broadcast", broadcast_of_broadcast},
    {Op::Reshape, "reshape of a reshape", reshape_of_reshape},
    {Op::Transpose, "transpose of a transpose", transpose_of_transpose},
    {Op::Flip, "flip of a flip", flip_of_flip},
    {Op::Slice, "slice of a slice", slice_of_slice},
    {Op::Slice, "slice of what a broadcast repeats", slice_of_broadcast},
    {Op::Slice, "slice inside of a pad", slice_of_pad},
    {Op::Broadcast, "broadcast of an iota", broadcast_of_iota},
    {Op::Transpose, "transpose of an iota", transpose_of_iota},
    {Op::Transpose, "transpose of axes of extent 1", transpose_of_unit_axes},
    {Op::Reshape, "reshape of an iota by axes of extent 1", reshape_of_iota},
    {Op::Slice, "slice of an iota from 0", slice_of_iota},
    {Op::Flip, "flip of an iota off its axis", flip_of_iota},
};

}  // namespace

std::span<const Rule> view_rules() { return kRules; }

}  // namespace fuse
