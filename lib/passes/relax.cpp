// The pass `relax`: identities of real numbers that save work, where readers leave room for the
// difference in rounding (tolerance.h). Each form is at least as accurate as what it replaces.
//
// Before: a widened, canonical graph. After: the same values within that room. Rules:
//   tanh(u) + 1  ->  2 * sigmoid(2u)   tanh's digits near -1 cancel; sigmoid keeps them and costs
//                                      half
#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "passes/rewriter.h"
#include "passes/tolerance.h"

namespace fuse {

namespace {

bool is_constant(const GraphData &g, NodeId id, double value) {
  return g.node(id).op == Op::Constant && as_double(g.attr<Literal>(id)) == value;
}

/// u of tanh(u) + 1 in f32; kNoNode for other nodes.
NodeId match_tanh_plus_one(const GraphData &g, NodeId id) {
  if (g.node(id).op != Op::Add || g.dtype(id) != DType::F32) return kNoNode;
  for (std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    NodeId tanh = g.operand(id, i);
    if (g.node(tanh).op == Op::Tanh && is_constant(g, g.operand(id, 1 - i), 1))
      return g.operand(tanh, 0);
  }
  return kNoNode;
}

NodeId build_sigmoid_form(GraphData &g, NodeId u) {
  NodeId two = build_constant(g, float_literal(DType::F32, 2), g.shape(u));
  NodeId doubled = build_elementwise(g, Op::Mul, {{u, two}});
  NodeId sigmoid = build_elementwise(g, Op::Sigmoid, {{doubled}});
  return build_elementwise(g, Op::Mul, {{sigmoid, two}});
}

}  // namespace

Graph relax(const Graph &graph) {
  Rewriter r(graph);
  const GraphData &from = r.from();
  std::vector<double> room = room_for_error(from);
  for (NodeId id = 0; id < from.size(); ++id) {
    NodeId u = room[id] >= kApproximateError ? match_tanh_plus_one(from, id) : kNoNode;
    r.set(id, u == kNoNode ? r.copy(id) : build_sigmoid_form(r.to(), r[u]));
  }
  return r.finish();
}

}  // namespace fuse
