// A sum that picks one element of a row reads one element.
#include "passes/positions.h"
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

constexpr std::size_t kMostNodes = 8;  // that are computed again at the element picked

/// Whether x comes from memory by few operations on single elements.
bool is_near_memory(Simplifier &s, NodeId x) {
  std::vector<NodeId> stack = {x};
  for (std::size_t visited = 0; !stack.empty(); ++visited) {
    NodeId id = stack.back();
    stack.pop_back();
    if (visited == kMostNodes || info(s.op(id)).kind == OpKind::Reduce) return false;
    if (info(s.op(id)).kind == OpKind::Extern) continue;
    for (NodeId operand : s.g.operands(id)) stack.push_back(operand);
  }
  return true;
}

/// Whether the node is the position along the axis.
bool is_position(Simplifier &s, NodeId id, int axis) {
  return position_index(s.g, id) == Index::dim(static_cast<DimId>(axis));
}

/// The node with extent 1 along the axis, if it is the same all along it.
NodeId constant_along(Simplifier &s, NodeId id, int axis) {
  if (s.is_constant(id)) {
    Shape shape = s.shape(id);
    shape[static_cast<std::size_t>(axis)] = 1;
    return build_constant(s.g, s.literal(id), shape);
  }
  if (!s.is(id, Op::Broadcast)) return kNoNode;
  const Shape &from = s.shape(s.arg(id, 0));
  Shape shape = s.shape(id);
  std::size_t missing = shape.size() - from.size();
  auto a = static_cast<std::size_t>(axis);
  if (a >= missing && from[a - missing] != Dim(1)) return kNoNode;
  shape[a] = 1;
  return build_broadcast(s.g, s.arg(id, 0), shape);
}

/// Distances of elements along each axis, if they are numbers.
std::optional<std::vector<std::int64_t>> strides_of(const Shape &shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    if (!shape[i].is_static()) return std::nullopt;
    strides[i - 1] = strides[i] * shape[i].value();
  }
  return strides;
}

/// Row-major number of the element at `position` along the axis; -1 where there is none.
NodeId linear_index(Simplifier &s, NodeId position, int axis, const Shape &shape,
                    const std::vector<std::int64_t> &strides) {
  const Shape at = s.shape(position);
  auto number = [&](std::int64_t n) { return build_constant(s.g, int_literal(DType::I64, n), at); };
  auto make = [&](Op op, DType type, std::vector<NodeId> operands) {
    return s.g.add(op, type, at, operands);
  };
  NodeId p = s.dtype(position) == DType::I64 ? position : make(Op::Cast, DType::I64, {position});
  auto a = static_cast<std::size_t>(axis);
  NodeId linear = make(Op::Mul, DType::I64, {p, number(strides[a])});
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (i == a || at[i] == Dim(1)) continue;
    NodeId along = build_iota(s.g, DType::I64, at, static_cast<int>(i));
    NodeId term = make(Op::Mul, DType::I64, {along, number(strides[i])});
    linear = make(Op::Add, DType::I64, {linear, term});
  }
  NodeId inside = s.is_inside(p, shape[a].value());
  return make(Op::Select, DType::I64, {inside, linear, number(-1)});
}

/// What `sum over the axis of select(position == t, x, 0)` picks: t, or kNoNode.
NodeId picked_position(Simplifier &s, NodeId select, int axis) {
  NodeId condition = s.arg(select, 0);
  if (!s.is(condition, Op::Eq) || !is_int(s.dtype(s.arg(condition, 0)))) return kNoNode;
  NodeId a = s.arg(condition, 0), b = s.arg(condition, 1);
  if (is_position(s, a, axis)) return constant_along(s, b, axis);
  return is_position(s, b, axis) ? constant_along(s, a, axis) : kNoNode;
}

/// sum over c of select(c == t, x, 0) = x at c = t, or 0 where t is outside. Adding 0 makes a 0 of
/// -0, as the sum does.
NodeId sum_of_pick(Simplifier &s, NodeId n) {
  const AxesAttr attr = s.g.attr<AxesAttr>(n);
  NodeId select = s.arg(n, 0);
  if (attr.axes.size() != 1 || !s.is(select, Op::Select) || !s.is_number(s.arg(select, 2), 0.0))
    return kNoNode;
  int axis = attr.axes[0];
  NodeId x = s.value(select, s.arg(select, 1));
  const Shape shape = s.shape(select);
  std::optional<std::vector<std::int64_t>> strides = strides_of(shape);
  if (!strides || !shape[static_cast<std::size_t>(axis)].is_static() || !is_near_memory(s, x) ||
      s.shape(x) != shape)
    return kNoNode;
  NodeId t = picked_position(s, select, axis);
  if (t == kNoNode) return kNoNode;
  NodeId index = linear_index(s, t, axis, shape, *strides);
  NodeId flat = build_reshape(s.g, x, {num_elements(shape)});
  NodeId picked = build_reshape(s.g, build_gather(s.g, flat, index, 0), s.shape(n));
  return is_float(s.dtype(n)) ? s.make(n, Op::Add, {picked, s.constant(n, 0.0)}) : picked;
}

/// Whether elements are 0, of either sign, or NaN: zeros times something.
bool is_0_or_nan(Simplifier &s, NodeId id) {
  auto is_0 = [&](NodeId x) { return s.is_number(x, 0.0) || s.is_number(x, -0.0); };
  while (s.is(id, Op::Broadcast) || s.is(id, Op::Reshape) || s.is(id, Op::Cast) ||
         s.is(id, Op::Neg))
    id = s.arg(id, 0);
  return is_0(id) || (s.is(id, Op::Mul) && (is_0(s.arg(id, 0)) || is_0(s.arg(id, 1))));
}

/// sum over c of select(c == t, a, b), where b is 0 or NaN and both are the same for all c: a and
/// zeros, or NaN.
NodeId sum_of_shared_pick(Simplifier &s, NodeId n) {
  const AxesAttr attr = s.g.attr<AxesAttr>(n);
  NodeId select = s.arg(n, 0);
  if (attr.axes.size() != 1 || !s.is(select, Op::Select) || !is_float(s.dtype(n))) return kNoNode;
  int axis = attr.axes[0];
  const Dim extent = s.shape(select)[static_cast<std::size_t>(axis)];
  NodeId hit = s.value(select, s.arg(select, 1)), rest = s.value(select, s.arg(select, 2));
  if (!extent.is_static() || extent.value() < 2 || !is_0_or_nan(s, rest)) return kNoNode;
  NodeId a = constant_along(s, hit, axis), b = constant_along(s, rest, axis);
  NodeId t = a != kNoNode && b != kNoNode ? picked_position(s, select, axis) : kNoNode;
  if (t == kNoNode) return kNoNode;
  NodeId picked = s.make(a, Op::Select, {s.is_inside(t, extent.value()), a, b});
  NodeId sum = s.make(a, Op::Add, {s.make(a, Op::Add, {b, picked}), s.constant(a, 0.0)});
  return build_reshape(s.g, sum, s.shape(n));
}

constexpr Rule kRules[] = {
    {Op::Sum, "sum of zeros and one number that the row shares", sum_of_shared_pick},
    {Op::Sum, "sum that picks one element of a row", sum_of_pick},
};

}  // namespace

std::span<const Rule> pick_rules() { return kRules; }

}  // namespace fuse
