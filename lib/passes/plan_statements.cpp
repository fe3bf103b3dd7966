// How many statements the scheduler emits for a node: the bound that plans are made with.
//
// What the body of a kernel holds for one (node, position, guard) is written here once more, as a
// number: passes/schedule/body*.cpp.
#include "ir/kernel.h"
#include "ir/op.h"
#include "passes/plan_graph_builder.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr double kComparison = 3;  // index, const, ge
constexpr double kIota = 2;        // index, cast
constexpr double kRandom = kRandomStatements;
constexpr double kGather = 9;       // in range: 6, joined with a guard; 0 and select
constexpr double kProducts = 2;     // for a division by what a row shares: with its scale and
constexpr double kReciprocal = 12;  // reciprocal
constexpr double kFold = 8;         // fold or scan, casts, a position or a tie to all folded dims
constexpr double kParts = 12;       // of a fold over blocks: store, load and fold parts, twice

bool is_cut(const GraphData &g, NodeId id, std::size_t axis) {
  if (g.node(id).op == Op::Concat)
    return static_cast<std::size_t>(g.attr<AxesAttr>(id).axes[0]) == axis;
  const PadAttr &pad = g.attr<PadAttr>(id);
  return pad.lo[axis] != 0 || pad.hi[axis] != 0;
}

/// Both bounds of each axis that is cut, joined, joined with an outer guard, and a select.
double part_statements(const GraphData &g, NodeId id) {
  double cut = 0;
  for (std::size_t axis = 0; axis < g.shape(id).size(); ++axis) cut += is_cut(g, id, axis);
  return cut * (2 * kComparison + 2) + 2;
}

/// Constants, iotas and random bits behind the views of an operand, one of each.
double leaf_statements(const GraphData &g, NodeId id) {
  while (info(g.node(id).op).kind == OpKind::View && g.node(id).op != Op::Gather &&
         g.node(id).op != Op::Pad && g.node(id).op != Op::Concat)
    id = g.operand(id, 0);
  if (g.node(id).op == Op::Iota) return kIota;
  if (g.node(id).op == Op::RandomBits) return kRandom + 1;  // and a constant seed
  return g.node(id).op == Op::Constant ? 1 : 0;
}

bool accumulates(Op op) { return info(op).kind == OpKind::Reduce || info(op).kind == OpKind::Scan; }

double own_statements(const GraphData &g, NodeId id) {
  auto parts = static_cast<double>(g.operands(id).size());
  switch (g.node(id).op) {
    case Op::Concat: return parts * part_statements(g, id);
    case Op::Pad: return part_statements(g, id);
    case Op::Gather: return kGather;
    case Op::Iota: return kIota;
    case Op::RandomBits: return kRandom;
    case Op::Div: return kProducts;
    default: return accumulates(g.node(id).op) ? kFold : 1;
  }
}

}  // namespace

double max_statements(const GraphData &g, NodeId id) {
  double n = own_statements(g, id);
  for (NodeId operand : g.operands(id)) n += leaf_statements(g, operand);
  return n;
}

double max_fixed_statements(Op op) {
  if (op == Op::Div) return kReciprocal;
  return info(op).kind == OpKind::Reduce ? kParts : 0;
}

bool is_guarded_part(const GraphData &g, NodeId id, std::size_t i) {
  const Shape &part = g.shape(g.operand(id, i));
  for (std::size_t axis = 0; axis < part.size(); ++axis)
    if (is_cut(g, id, axis) && part[axis] != Dim(1)) return true;
  return false;
}

}  // namespace fuse
