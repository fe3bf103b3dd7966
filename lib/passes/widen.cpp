// The pass `widen`: keeps f32 along chains of 16-bit arithmetic, as a hand-written kernel would.
//
// A 16-bit value stays unrounded ("wide") where its only reader is 16-bit arithmetic, perhaps
// behind views. Everything else is a rounding point: outputs, values with several readers, keep
// marks, and the operands of casts, comparisons, floor, ceil, round, trunc, sign, floordiv, mod,
// rem, bitcast, max, min, arg-reductions and extern ops.
//
// Before: a verified, canonical graph. After: wide nodes and their readers are f32 nodes; a reader
// that is no longer wide itself is followed by a cast. Nodes in no chain stay as they are. A wide
// product whose reader is a sum is contracted: fma(a, b, c). The pass is idempotent, and runs once,
// before any cut, so that results do not depend on what was fused.
#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "passes/rewriter.h"

#include <algorithm>

namespace fuse {

namespace {

/// Operations whose result jumps: their operands must be what the user's types say.
constexpr Op kRounding[] = {Op::Sign,  Op::Floor,    Op::Ceil, Op::Round,
                            Op::Trunc, Op::FloorDiv, Op::Mod,  Op::Rem};

/// Operations that compute in f32 on 16-bit floats and need no rounded operands.
bool is_arithmetic(Op op) {
  bool accumulates = info(op).kind == OpKind::Reduce || info(op).kind == OpKind::Scan;
  if (accumulates) return !info(op).is(Exact);
  if (std::find(std::begin(kRounding), std::end(kRounding), op) != std::end(kRounding))
    return false;
  const OpInfo &i = info(op);
  bool computes = i.kind == OpKind::Unary || i.kind == OpKind::Binary || i.kind == OpKind::Ternary;
  return computes && accepts(i.types, DType::BF16);
}

bool is_view(Op op) { return info(op).kind == OpKind::View; }

/// Which values stay in f32. Whether a reader takes an unrounded value is known from the end of the
/// graph, whether a view passes one on from its beginning: one loop each way.
std::vector<bool> find_wide(const GraphData &g) {
  std::vector<std::uint32_t> uses = count_uses(g);
  std::vector<NodeId> reader(g.size(), kNoNode);
  std::vector<bool> wide(g.size(), false);
  auto takes_wide = [&](NodeId id) {
    return id != kNoNode && is_float16(g.dtype(id)) &&
           (is_arithmetic(g.node(id).op) || (is_view(g.node(id).op) && wide[id]));
  };
  auto is_kept = [&](NodeId id) {
    auto mark = g.keep_marks.find(id);
    return mark != g.keep_marks.end() && mark->second;
  };
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;) {
    for (NodeId o : g.operands(id)) reader[o] = id;
    Op op = g.node(id).op;
    wide[id] = is_float16(g.dtype(id)) && (is_arithmetic(op) || is_view(op)) && uses[id] == 1 &&
               !is_kept(id) && takes_wide(reader[id]);
  }
  for (NodeId id = 0; id < g.size(); ++id) {
    if (!wide[id] || !is_view(g.node(id).op)) continue;
    std::span<const NodeId> operands = g.operands(id);
    wide[id] = std::any_of(operands.begin(), operands.end(), [&](NodeId o) { return wide[o]; });
  }
  return wide;
}

class Widener {
 public:
  explicit Widener(const Graph &graph) : r_(graph), wide_(find_wide(graph.data())) {}

  Graph run() {
    const GraphData &from = r_.from();
    for (NodeId id = 0; id < from.size(); ++id) {
      std::span<const NodeId> operands = from.operands(id);
      bool in_chain = wide_[id] || std::any_of(operands.begin(), operands.end(),
                                               [&](NodeId o) { return wide_[o]; });
      r_.set(id, in_chain ? retype(id) : r_.copy(id));
    }
    return eliminate_dead(r_.finish());
  }

 private:
  /// The node in f32, rounded unless it is wide.
  NodeId retype(NodeId id) {
    const GraphData &from = r_.from();
    std::vector<NodeId> operands;
    for (NodeId o : from.operands(id)) operands.push_back(in_f32(o));
    NodeId made = contract(id, operands);
    if (made == kNoNode)
      made = r_.to().add(from.node(id).op, DType::F32, from.shape(id), operands, from.any_attr(id));
    return wide_[id] ? made : build_convert(r_.to(), Op::Cast, made, from.dtype(id));
  }

  /// The f32 value of a 16-bit operand; conditions, indices and literals as they are.
  NodeId in_f32(NodeId old_operand) {
    NodeId x = r_[old_operand];
    if (!is_float16(r_.to().dtype(x))) return x;
    if (r_.to().node(x).op != Op::Constant) return build_convert(r_.to(), Op::Cast, x, DType::F32);
    double value = as_double(r_.to().attr<Literal>(x));
    return build_constant(r_.to(), float_literal(DType::F32, value), r_.to().shape(x));
  }

  bool is_wide_product(NodeId old_id) const {
    return wide_[old_id] && r_.from().node(old_id).op == Op::Mul;
  }

  NodeId negate(NodeId x) { return build_elementwise(r_.to(), Op::Neg, {{x}}); }

  /// a*b + c, a*b - c and c - a*b as one fma; kNoNode where the node is none of them.
  NodeId contract(NodeId id, const std::vector<NodeId> &operands) {
    Op op = r_.from().node(id).op;
    if (op != Op::Add && op != Op::Sub) return kNoNode;
    int product = is_wide_product(r_.from().operand(id, 0))   ? 0
                  : is_wide_product(r_.from().operand(id, 1)) ? 1
                                                              : -1;
    if (product < 0) return kNoNode;
    NodeId a = r_.to().operand(operands[product], 0), b = r_.to().operand(operands[product], 1);
    NodeId c = operands[1 - product];
    if (op == Op::Sub && product == 0) c = negate(c);
    if (op == Op::Sub && product == 1) a = negate(a);
    return r_.to().add(Op::Fma, DType::F32, r_.from().shape(id), {{a, b, c}});
  }

  Rewriter r_;
  std::vector<bool> wide_;
};

}  // namespace

// A dead reader must not count: it would make a rounding point.
Graph widen(const Graph &graph) { return Widener(eliminate_dead(graph)).run(); }

}  // namespace fuse
