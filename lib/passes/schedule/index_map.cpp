// Positions through views.
#include "passes/schedule/index_map.h"

#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

Position through_broadcast(const Shape &from, std::span<const Index> at) {
  Position position;
  std::size_t offset = at.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    position.push_back(from[i] == Dim(1) ? Index(0) : at[offset + i]);
  return position;
}

Position through_reshape(const Shape &from, const Shape &to, std::span<const Index> at,
                         const Ranges &ranges) {
  return delinearize(linearize(at, extents_of(to)), extents_of(from), ranges);
}

Position through_transpose(const std::vector<int> &permutation, std::span<const Index> at) {
  Position position(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) position[permutation[i]] = at[i];
  return position;
}

Position through_slice(const SliceAttr &attr, std::span<const Index> at) {
  Position position;
  for (std::size_t i = 0; i < at.size(); ++i)
    position.push_back(Index(attr.start[i]) + at[i] * Index(attr.step[i]));
  return position;
}

Position through_flip(const std::vector<int> &axes, const Shape &shape, std::span<const Index> at) {
  Position position(at.begin(), at.end());
  for (int a : axes) position[a] = Index(shape[a]) - Index(1) - at[a];
  return position;
}

/// An axis of extent 1 has one position; outside it, nothing is read.
Position through_part(const GraphData &g, NodeId node, std::size_t i, std::span<const Index> at) {
  const Shape &part = g.shape(g.operand(node, i));
  Position position(at.begin(), at.end());
  for (const AxisBound &bound : part_bounds(g, node, i))
    position[bound.axis] = part[bound.axis] == Dim(1) ? Index(0) : position[bound.axis] - bound.lo;
  return position;
}

}  // namespace

Index linearize(std::span<const Index> position, std::span<const Index> extents) {
  Index offset = 0;
  for (std::size_t i = 0; i < position.size(); ++i) offset = offset * extents[i] + position[i];
  return recombine(offset);
}

namespace {

/// A term that is a remainder times numbers and symbols.
struct Remainder {
  Index n, d, factor;
};

std::optional<Remainder> remainder_of(const Index::Term &term) {
  std::optional<Remainder> found;
  auto is_remainder = [](const Atom &a) { return a.kind == Atom::Kind::Mod; };
  if (std::none_of(term.atoms.begin(), term.atoms.end(), is_remainder)) return found;
  Index factor = term.coefficient;
  for (const Atom &a : term.atoms) {
    if (a.kind == Atom::Kind::Symbol)
      factor = factor * Index::symbol(a.symbol);
    else if (a.kind == Atom::Kind::Mod && !found)
      found = {*a.numerator, *a.denominator, 1};
    else
      return std::nullopt;
  }
  if (found) found->factor = factor;
  return found;
}

}  // namespace

Index recombine(const Index &index) {
  for (const Index::Term &term : index.terms()) {
    std::optional<Remainder> r = remainder_of(term);
    if (!r) continue;
    Index parts = floordiv(r->n, r->d) * r->d * r->factor + mod(r->n, r->d) * r->factor;
    Index rest = index - parts;
    if (rest.terms().size() + 2 != index.terms().size()) continue;
    return recombine(rest + r->n * r->factor);
  }
  return index;
}

Position delinearize(const Index &offset, std::span<const Index> extents, const Ranges &ranges) {
  Position position(extents.size());
  Index rest = offset;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (extents[i].is_constant(1)) continue;
    // The outermost axis takes what is left: the offset is in range.
    bool outermost = std::all_of(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(i),
                                 [](const Index &e) { return e.is_constant(1); });
    position[i] = outermost ? rest : mod(rest, extents[i], ranges);
    if (!outermost) rest = floordiv(rest, extents[i], ranges);
  }
  return position;
}

std::vector<Index> extents_of(const Shape &shape) {
  std::vector<Index> extents;
  for (const Dim &d : shape) extents.emplace_back(d);
  return extents;
}

std::vector<AxisBound> part_bounds(const GraphData &g, NodeId node, std::size_t i) {
  std::vector<AxisBound> bounds;
  if (g.node(node).op == Op::Concat) {
    auto axis = static_cast<std::size_t>(g.attr<AxesAttr>(node).axes[0]);
    Index lo = 0;
    for (std::size_t k = 0; k < i; ++k) lo = lo + Index(g.shape(g.operand(node, k))[axis]);
    bounds.push_back({axis, lo, lo + Index(g.shape(g.operand(node, i))[axis])});
    return bounds;
  }
  const auto &pad = g.attr<PadAttr>(node);
  const Shape &inner = g.shape(g.operand(node, 0));
  for (std::size_t axis = 0; axis < inner.size(); ++axis)
    if (pad.lo[axis] != 0 || pad.hi[axis] != 0)
      bounds.push_back({axis, Index(pad.lo[axis]), Index(pad.lo[axis]) + Index(inner[axis])});
  return bounds;
}

Position operand_position(const GraphData &g, NodeId node, std::size_t i, std::span<const Index> at,
                          const Ranges &ranges) {
  NodeId operand = g.operand(node, i);
  switch (info(g.node(node).op).kind) {
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary:
    case OpKind::Compare:
    case OpKind::Test:
    case OpKind::Convert: return {at.begin(), at.end()};
    case OpKind::View: break;
    case OpKind::Leaf:
    case OpKind::Random:
    case OpKind::Reduce:
    case OpKind::Scan:
    case OpKind::Extern:
    case OpKind::Gradient: FUSE_CHECK(false, "no position through {}", info(g.node(node).op).name);
  }
  switch (g.node(node).op) {
    case Op::Broadcast: return through_broadcast(g.shape(operand), at);
    case Op::Reshape: return through_reshape(g.shape(operand), g.shape(node), at, ranges);
    case Op::Transpose: return through_transpose(g.attr<AxesAttr>(node).axes, at);
    case Op::Slice: return through_slice(g.attr<SliceAttr>(node), at);
    case Op::Flip: return through_flip(g.attr<AxesAttr>(node).axes, g.shape(node), at);
    case Op::Pad: return i == 1 ? Position{} : through_part(g, node, i, at);
    case Op::Concat: return through_part(g, node, i, at);
    default: break;  // no view
  }
  FUSE_CHECK(false, "no position through {}", info(g.node(node).op).name);
}

}  // namespace fuse
