// The pass `relax`: identities of real numbers that save work, where readers leave room for the
// difference (tolerance.h).
//
// Before: a widened, canonical graph. After: the same values within that room. Rules:
//   tanh(u) + 1  ->  2 * sigmoid(2u)         tanh's digits near -1 cancel; sigmoid keeps them and
//                                            costs half
//   sigmoid(u)   ->  0.5 * tanh(u/2) + 0.5   one instruction of the multi-function unit for two,
//                                            where an absolute error of 2^-12 will do
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

/// A sigmoid in f32 whose readers leave room for an approximate tanh.
bool may_be_tanh(const GraphData &g, NodeId id, double room, const ValueRange &sigmoid) {
  if (g.node(id).op != Op::Sigmoid || g.dtype(id) != DType::F32) return false;
  ValueRange tanh = {2 * sigmoid.lo - 1, 2 * sigmoid.hi - 1};
  return room > 0 && allows_approximate_tanh(room, 0.5, tanh);
}

NodeId build_tanh_form(GraphData &g, NodeId u) {
  NodeId half = build_constant(g, float_literal(DType::F32, 0.5), g.shape(u));
  NodeId tanh = build_elementwise(g, Op::Tanh, {{build_elementwise(g, Op::Mul, {{u, half}})}});
  return build_elementwise(g, Op::Fma, {{tanh, half, half}});
}

class Relaxer {
 public:
  explicit Relaxer(const Graph &graph)
      : r_(graph), ranges_(value_ranges(r_.from())), room_(room_for_error(r_.from())) {}

  Graph run() {
    for (NodeId id = 0; id < r_.from().size(); ++id) r_.set(id, relaxed(id));
    return r_.finish();
  }

 private:
  NodeId relaxed(NodeId id) {
    const GraphData &from = r_.from();
    double absolute = room_[id].in(ranges_[id]);
    if (may_be_tanh(from, id, absolute, ranges_[id]))
      return build_tanh_form(r_.to(), r_[from.operand(id, 0)]);
    bool has_room = room_[id].relative >= kApproximateError;
    NodeId u = has_room ? match_tanh_plus_one(from, id) : kNoNode;
    // Where an absolute error will do, the tanh is the cheaper one.
    bool stays = u == kNoNode || allows_approximate_tanh(absolute, 1, {-1, 1});
    return stays ? r_.copy(id) : build_sigmoid_form(r_.to(), r_[u]);
  }

  Rewriter r_;
  std::vector<ValueRange> ranges_;
  std::vector<Room> room_;
};

}  // namespace

Graph relax(const Graph &graph) { return Relaxer(graph).run(); }

}  // namespace fuse
