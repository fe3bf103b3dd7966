// Rules of views that join or choose: concat, pad, gather.
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/op.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

int axis_of(Simplifier &s, NodeId id) { return s.g.attr<AxesAttr>(id).axes[0]; }

/// Bits of a constant as an element of the dtype.
std::optional<std::uint64_t> bits_as(Simplifier &s, NodeId id, NodeId like) {
  if (!s.is_constant(id)) return std::nullopt;
  return s.literal(s.value(like, id)).bits;
}

// --- Concat --------------------------------------------------------------------------------------

NodeId concat_of(Simplifier &s, const std::vector<NodeId> &parts, int axis) {
  return build_concat(s.g, parts, axis);
}

NodeId drop_empty_parts(Simplifier &s, NodeId n) {
  int axis = axis_of(s, n);
  std::vector<NodeId> parts;
  for (NodeId p : s.g.operands(n))
    if (s.shape(p)[axis] != Dim(0)) parts.push_back(p);
  if (parts.empty()) return s.arg(n, 0);
  bool fires = parts.size() == 1 || parts.size() < s.g.operands(n).size();
  return fires ? concat_of(s, parts, axis) : kNoNode;
}

NodeId concat_of_constants(Simplifier &s, NodeId n) {
  std::optional<std::uint64_t> first = bits_as(s, s.arg(n, 0), n);
  for (NodeId p : s.g.operands(n))
    if (!first || bits_as(s, p, n) != first) return kNoNode;
  return s.constant(n, s.literal(s.arg(n, 0)));
}

/// One part between constants of the same bits.
NodeId concat_to_pad(Simplifier &s, NodeId n) {
  int axis = axis_of(s, n);
  NodeId middle = kNoNode, fill = kNoNode;
  PadAttr pad{std::vector<std::int64_t>(s.shape(n).size(), 0), {}};
  pad.hi = pad.lo;
  for (NodeId p : s.g.operands(n)) {
    if (!s.is_constant(p)) {
      if (middle != kNoNode) return kNoNode;
      middle = p;
      continue;
    }
    if (fill != kNoNode && bits_as(s, p, n) != bits_as(s, fill, n)) return kNoNode;
    if (!s.shape(p)[axis].is_static()) return kNoNode;
    fill = p;
    (middle == kNoNode ? pad.lo : pad.hi)[axis] += s.shape(p)[axis].value();
  }
  if (middle == kNoNode || fill == kNoNode) return kNoNode;
  NodeId value = build_constant(s.g, s.literal(fill), {});
  return build_pad(s.g, middle, value, pad.lo, pad.hi);
}

/// concat(a, concat(b, c)) = concat(a, b, c): a part within a part would be read under the guards
/// of both.
NodeId concat_of_concats(Simplifier &s, NodeId n) {
  int axis = axis_of(s, n);
  std::vector<NodeId> parts;
  for (NodeId p : s.g.operands(n)) {
    bool is_nested = s.is(p, Op::Concat) && axis_of(s, p) == axis && s.single_use(p);
    auto inner = s.g.operands(p);
    if (is_nested)
      parts.insert(parts.end(), inner.begin(), inner.end());
    else
      parts.push_back(p);
  }
  return parts.size() > s.g.operands(n).size() ? concat_of(s, parts, axis) : kNoNode;
}

/// Whether b begins where a ends: slices of one value along the axis, alike elsewhere.
bool continues(Simplifier &s, NodeId a, NodeId b, int axis) {
  if (!s.is(a, Op::Slice) || !s.is(b, Op::Slice) || s.arg(a, 0) != s.arg(b, 0)) return false;
  SliceAttr x = s.g.attr<SliceAttr>(a), y = s.g.attr<SliceAttr>(b);
  if (x.step != y.step || x.start[axis] + s.shape(a)[axis] * x.step[axis] != y.start[axis])
    return false;
  x.start[axis] = y.start[axis];
  return x.start == y.start;
}

/// concat(x[0:4], x[4:9], ..) = x[0:9], ..
NodeId concat_of_slices(Simplifier &s, NodeId n) {
  int axis = axis_of(s, n);
  std::vector<NodeId> parts;
  NodeId last = kNoNode;  // the slice that ends the last of the parts
  for (NodeId p : std::vector<NodeId>(s.g.operands(n).begin(), s.g.operands(n).end())) {
    if (last != kNoNode && continues(s, last, p, axis)) {
      NodeId joined = parts.back();
      Shape shape = s.shape(joined);
      shape[axis] = shape[axis] + s.shape(p)[axis];
      parts.back() =
          s.g.add(Op::Slice, s.dtype(n), shape, {{s.arg(joined, 0)}}, s.g.attr<SliceAttr>(joined));
    } else {
      parts.push_back(p);
    }
    last = p;
  }
  return parts.size() < s.g.operands(n).size() ? concat_of(s, parts, axis) : kNoNode;
}

/// A slice that stays inside one part, whatever it cuts from other axes.
NodeId slice_of_concat(Simplifier &s, NodeId n) {
  NodeId whole = s.arg(n, 0);
  if (!s.is(whole, Op::Concat)) return kNoNode;
  int axis = axis_of(s, whole);
  SliceAttr slice = s.g.attr<SliceAttr>(n);
  Dim last = slice.start[axis] + (s.shape(n)[axis] - 1) * slice.step[axis];
  Dim begin = 0;
  for (NodeId p : s.g.operands(whole)) {
    Dim before = slice.start[axis] - begin, behind = begin + s.shape(p)[axis] - last;
    bool inside =
        before.is_static() && before.value() >= 0 && behind.is_static() && behind.value() >= 1;
    if (inside) {
      slice.start[axis] = before;
      return s.shape(p) == s.shape(n) ? p
                                      : s.g.add(Op::Slice, s.dtype(n), s.shape(n), {{p}}, slice);
    }
    begin = begin + s.shape(p)[axis];
  }
  return kNoNode;
}

// --- Pad -----------------------------------------------------------------------------------------

NodeId pad_of_constant(Simplifier &s, NodeId n) {
  std::optional<std::uint64_t> inside = bits_as(s, s.arg(n, 0), n);
  bool same = inside && inside == bits_as(s, s.arg(n, 1), s.arg(n, 0));
  return same ? s.constant(n, s.literal(s.arg(n, 0))) : kNoNode;
}

NodeId pad_of_no_elements(Simplifier &s, NodeId n) {
  const Shape &shape = s.shape(s.arg(n, 0));
  bool is_empty = std::find(shape.begin(), shape.end(), Dim(0)) != shape.end();
  return is_empty && s.is_constant(s.arg(n, 1)) ? s.constant(n, s.literal(s.arg(n, 1))) : kNoNode;
}

NodeId pad_of_pad(Simplifier &s, NodeId n) {
  NodeId inner = s.arg(n, 0);
  if (!s.is(inner, Op::Pad) || s.arg(inner, 1) != s.arg(n, 1)) return kNoNode;
  PadAttr pad = s.g.attr<PadAttr>(n);
  const PadAttr &other = s.g.attr<PadAttr>(inner);
  for (std::size_t i = 0; i < pad.lo.size(); ++i) {
    pad.lo[i] += other.lo[i];
    pad.hi[i] += other.hi[i];
  }
  return build_pad(s.g, s.arg(inner, 0), s.arg(n, 1), pad.lo, pad.hi);
}

/// x of x + 0 in floats, else the value itself.
NodeId without_plus_zero(Simplifier &s, NodeId id) {
  bool plus_zero = s.is(id, Op::Add) && s.is_number(s.arg(id, 1), 0.0);
  return plus_zero ? s.arg(id, 0) : id;
}

/// The axis along which both pads put their operands side by side, first before second.
std::optional<int> side_by_side(Simplifier &s, NodeId a, NodeId b) {
  const PadAttr &x = s.g.attr<PadAttr>(a), &y = s.g.attr<PadAttr>(b);
  std::optional<int> axis;
  for (std::size_t i = 0; i < x.lo.size(); ++i) {
    if (x.lo[i] == y.lo[i] && x.hi[i] == y.hi[i]) continue;
    Dim end = s.shape(s.arg(a, 0))[i] + x.lo[i];
    if (axis || end != Dim(y.lo[i])) return std::nullopt;
    axis = static_cast<int>(i);
  }
  return axis;
}

NodeId join_pads(Simplifier &s, NodeId n, NodeId a, NodeId b) {
  std::optional<int> axis = side_by_side(s, a, b);
  if (!axis) return kNoNode;
  PadAttr pad = s.g.attr<PadAttr>(a);
  pad.hi[*axis] = s.g.attr<PadAttr>(b).hi[*axis];
  NodeId parts[] = {s.arg(a, 0), s.arg(b, 0)}, zero = s.arg(a, 1);
  NodeId joined = build_concat(s.g, parts, *axis);
  joined = build_pad(s.g, joined, zero, pad.lo, pad.hi);
  // x + 0 turns -0 into 0, as the sum of the pads does.
  bool adds_zero = is_float(s.dtype(n)) && s.is_number(zero, 0.0);
  if (!adds_zero) return joined;
  return s.make(n, Op::Add, {joined, build_constant(s.g, s.literal(zero), s.shape(n))});
}

/// pad(a) + pad(b) = concat(a, b) + 0 where they stand side by side, padded with zeros. Zeros
/// added to the pads themselves are covered: outside of a the sum adds one anyway.
NodeId sum_of_pads(Simplifier &s, NodeId n) {
  NodeId a = without_plus_zero(s, s.arg(n, 0)), b = without_plus_zero(s, s.arg(n, 1));
  if (!s.is(a, Op::Pad) || !s.is(b, Op::Pad) || s.arg(a, 1) != s.arg(b, 1)) return kNoNode;
  if (!s.single_use(a) || !s.single_use(b)) return kNoNode;
  NodeId zero = s.arg(a, 1);
  bool positive = s.is_number(zero, 0.0), negative = s.is_number(zero, -0.0);
  bool stripped = a != s.arg(n, 0) || b != s.arg(n, 1);
  if (!positive && (!negative || stripped)) return kNoNode;
  NodeId joined = join_pads(s, n, a, b);
  return joined != kNoNode ? joined : join_pads(s, n, b, a);
}

// --- Gather --------------------------------------------------------------------------------------

/// Whether every position below the extent has its own value in the integer dtype.
bool counts_to(DType t, std::int64_t extent) {
  int bits = 8 * static_cast<int>(size_of(t)) - (is_signed_int(t) ? 1 : 0);
  return bits >= 63 || extent <= std::int64_t{1} << bits;
}

/// gather(x, 0 1 2 .. n-1) = x[0:n]
NodeId gather_of_iota(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0), index = s.arg(n, 1);
  if (!s.is(index, Op::Iota) || s.shape(index).size() != 1) return kNoNode;
  int axis = axis_of(s, n);
  Dim count = s.shape(index)[0], extent = s.shape(x)[axis];
  bool whole = count == extent;
  if (!count.is_static() || !counts_to(s.dtype(index), count.value())) return kNoNode;
  if (!whole && (!extent.is_static() || count.value() > extent.value())) return kNoNode;
  if (whole) return x;
  std::vector<Dim> start(s.shape(x).size(), 0);
  return s.g.add(Op::Slice, s.dtype(n), s.shape(n), {{x}},
                 SliceAttr{start, std::vector<std::int64_t>(start.size(), 1)});
}

constexpr Rule kRules[] = {
    {Op::Concat, "concat without empty parts; concat of one", drop_empty_parts},
    {Op::Concat, "concat(a, concat(b, c)) = concat(a, b, c)", concat_of_concats},
    {Op::Concat, "concat of equal constants", concat_of_constants},
    {Op::Concat, "concat(c, x, c) = pad(x, c)", concat_to_pad},
    {Op::Concat, "concat of neighbouring slices = one slice", concat_of_slices},
    {Op::Slice, "slice of one part of a concat", slice_of_concat},
    {Op::Pad, "pad by nothing",
     [](Simplifier &s, NodeId n) {
       return s.shape(n) == s.shape(s.arg(n, 0)) ? s.arg(n, 0) : kNoNode;
     }},
    {Op::Pad, "pad of a constant with itself", pad_of_constant},
    {Op::Pad, "pad of no elements", pad_of_no_elements},
    {Op::Pad, "pad of a pad with the same value", pad_of_pad},
    {Op::Add, "pads that stand side by side, summed = concat", sum_of_pads},
    {Op::Gather, "gather of the first positions = slice", gather_of_iota},
};

}  // namespace

std::span<const Rule> join_rules() { return kRules; }

}  // namespace fuse
