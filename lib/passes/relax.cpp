// The pass `relax`: identities of real numbers that save work, where readers leave room for the
// difference (tolerance.h).
//
// Before: a widened, canonical graph. After: the same values within that room. Rules:
//   tanh(u) + 1  ->  2 * sigmoid(2u)         tanh's digits near -1 cancel; sigmoid keeps them and
//                                            costs half
//   sigmoid(u)   ->  0.5 * tanh(u/2) + 0.5   one instruction of the multi-function unit for two,
//                                            where an absolute error of 2^-12 will do; also of
//                                            16 bits, where that much is left to their rounding
//   f(x) of 16 bits  ->  f(x) in f32, rounded, where that is there too: derivatives are made of
//                                            results before their rounding
//   exp(a - log(sum(exp(a))))  ->  exp(a) / sum(exp(a)), where a is x less its maximum: a softmax
//                                            from its logarithm takes no second exponential, and
//                                            loses fewer digits
//   iota == t, iota < iota, of i64  ->  of i32   the same bits: t becomes -1 where it is no
//                                            position
#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "passes/rewriter.h"
#include "passes/tolerance.h"

#include <optional>
#include <set>
#include <utility>

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

/// The operand of a broadcast, if it is of the op.
NodeId match_repeated(const GraphData &g, NodeId id, Op op) {
  if (g.node(id).op != Op::Broadcast) return kNoNode;
  NodeId x = g.operand(id, 0);
  return g.node(x).op == op ? x : kNoNode;
}

struct LogSoftmax {
  NodeId exponential, sum;  // exp(a), and its sum
};

/// exp(a - log(sum(exp(a)))) in f32, a not above 0.
std::optional<LogSoftmax> match_exp_of_log_softmax(const GraphData &g, NodeId id) {
  if (g.node(id).op != Op::Exp || g.dtype(id) != DType::F32) return std::nullopt;
  NodeId difference = g.operand(id, 0);
  if (g.node(difference).op != Op::Sub) return std::nullopt;
  NodeId a = g.operand(difference, 0), log = match_repeated(g, g.operand(difference, 1), Op::Log);
  if (log == kNoNode || g.node(a).op != Op::Sub) return std::nullopt;
  NodeId sum = g.operand(log, 0), maximum = match_repeated(g, g.operand(a, 1), Op::ReduceMax);
  bool is_below_0 = maximum != kNoNode && g.operand(maximum, 0) == g.operand(a, 0);
  if (!is_below_0 || g.node(sum).op != Op::Sum) return std::nullopt;
  NodeId exponential = g.operand(sum, 0);
  if (g.node(exponential).op != Op::Exp || g.operand(exponential, 0) != a) return std::nullopt;
  return LogSoftmax{exponential, sum};
}

NodeId build_quotient(GraphData &g, NodeId exponential, NodeId sum) {
  NodeId divisor = build_broadcast(g, sum, g.shape(exponential));
  return build_elementwise(g, Op::Div, {{exponential, divisor}});
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

/// A sigmoid of 16 bits whose own rounding leaves the room.
bool may_be_rounded_tanh(const GraphData &g, NodeId id, const ValueRange &sigmoid) {
  if (g.node(id).op != Op::Sigmoid || !is_float16(g.dtype(id))) return false;
  double room = rounding_room(g.dtype(id)) * sigmoid.least_magnitude();
  return room > 0 && allows_approximate_tanh(room, 0.5, {2 * sigmoid.lo - 1, 2 * sigmoid.hi - 1});
}

/// Functions f and 16-bit values x with f(x) in f32.
using Functions = std::set<std::pair<Op, NodeId>>;

bool is_function(const GraphData &g, NodeId id) {
  const OpInfo &op = info(g.node(id).op);
  return op.kind == OpKind::Unary && op.max_ulp > 0;
}

/// Those that stay as they are.
Functions functions_in_f32(const GraphData &g, const std::vector<Room> &room,
                           const std::vector<ValueRange> &ranges) {
  Functions found;
  for (NodeId id = 0; id < g.size(); ++id) {
    if (!is_function(g, id) || g.dtype(id) != DType::F32) continue;
    if (may_be_tanh(g, id, room[id].in(ranges[id]), ranges[id])) continue;
    NodeId cast = g.operand(id, 0);
    if (g.node(cast).op == Op::Cast && is_float16(g.dtype(g.operand(cast, 0))))
      found.insert({g.node(id).op, g.operand(cast, 0)});
  }
  return found;
}

/// 64-bit positions along an axis that 32-bit numbers span.
bool has_narrow_positions(const GraphData &g, NodeId id) {
  if (g.node(id).op != Op::Iota || g.dtype(id) != DType::I64) return false;
  auto axis = static_cast<std::size_t>(g.attr<AxesAttr>(id).axes[0]);
  const Dim &extent = g.shape(id)[axis];
  return extent.is_static() && extent.value() <= INT32_MAX;
}

/// Whether the node compares such positions, with others or, for equality, with what a broadcast
/// repeats.
bool compares_narrow_positions(const GraphData &g, NodeId id) {
  if (info(g.node(id).op).kind != OpKind::Compare) return false;
  NodeId a = g.operand(id, 0), b = g.operand(id, 1);
  bool has_a = has_narrow_positions(g, a), has_b = has_narrow_positions(g, b);
  if (has_a && has_b) return true;
  NodeId other = has_a ? b : a;
  bool is_equality = g.node(id).op == Op::Eq || g.node(id).op == Op::Ne;
  return (has_a || has_b) && is_equality && g.node(other).op == Op::Broadcast;
}

/// x as i32, or -1 where it is no position of [0, count).
NodeId build_narrow(GraphData &g, NodeId x, std::int64_t count) {
  auto number = [&](DType type, std::int64_t n) {
    return build_constant(g, int_literal(type, n), g.shape(x));
  };
  NodeId low = build_elementwise(g, Op::Ge, {{x, number(DType::I64, 0)}});
  NodeId high = build_elementwise(g, Op::Le, {{x, number(DType::I64, count - 1)}});
  NodeId inside = build_elementwise(g, Op::And, {{low, high}});
  NodeId narrow = build_convert(g, Op::Cast, x, DType::I32);
  return build_elementwise(g, Op::Select, {{inside, narrow, number(DType::I32, -1)}});
}

/// The operand of such a comparison in 32 bits, where the other one has `count` positions.
NodeId build_narrow_operand(GraphData &g, NodeId x, std::int64_t count) {
  const Shape shape = g.shape(x);
  if (g.node(x).op == Op::Iota)
    return build_iota(g, DType::I32, shape, g.attr<AxesAttr>(x).axes[0]);
  return build_broadcast(g, build_narrow(g, g.operand(x, 0), count), shape);
}

std::int64_t num_positions(const GraphData &g, NodeId iota) {
  return g.shape(iota)[static_cast<std::size_t>(g.attr<AxesAttr>(iota).axes[0])].value();
}

NodeId build_narrow_comparison(GraphData &g, Op op, NodeId a, NodeId b) {
  std::int64_t count = num_positions(g, g.node(a).op == Op::Iota ? a : b);
  NodeId x = build_narrow_operand(g, a, count), y = build_narrow_operand(g, b, count);
  return build_elementwise(g, op, {{x, y}});
}

class Relaxer {
 public:
  explicit Relaxer(const Graph &graph)
      : r_(graph),
        ranges_(value_ranges(r_.from())),
        room_(room_for_error(r_.from())),
        rounded_(rounded_to_16_bits(r_.from())),
        functions_(functions_in_f32(r_.from(), room_, ranges_)) {}

  Graph run() {
    for (NodeId id = 0; id < r_.from().size(); ++id) r_.set(id, relaxed(id));
    return r_.finish();
  }

 private:
  /// A function of 16 bits in a cheaper form; kNoNode where it stays.
  NodeId relaxed_function(NodeId id) {
    const GraphData &from = r_.from();
    if (!is_function(from, id) || !is_float16(from.dtype(id))) return kNoNode;
    NodeId x = from.operand(id, 0);
    bool is_tanh = may_be_rounded_tanh(from, id, ranges_[id]);
    if (!is_tanh && !functions_.contains({from.node(id).op, x})) return kNoNode;
    NodeId wide = build_convert(r_.to(), Op::Cast, r_[x], DType::F32);
    NodeId y = is_tanh ? build_tanh_form(r_.to(), wide)
                       : build_elementwise(r_.to(), from.node(id).op, {{wide}});
    return build_convert(r_.to(), Op::Cast, y, from.dtype(id));
  }

  NodeId relaxed(NodeId id) {
    const GraphData &from = r_.from();
    if (NodeId function = relaxed_function(id); function != kNoNode) return function;
    double absolute = room_[id].in(ranges_[id]);
    if (may_be_tanh(from, id, absolute, ranges_[id]))
      return build_tanh_form(r_.to(), r_[from.operand(id, 0)]);
    bool has_room = room_[id].relative >= kApproximateError;
    bool may_lose_digits = has_room || rounded_[id];
    if (auto match = may_lose_digits ? match_exp_of_log_softmax(from, id) : std::nullopt)
      return build_quotient(r_.to(), r_[match->exponential], r_[match->sum]);
    if (compares_narrow_positions(from, id))
      return build_narrow_comparison(r_.to(), from.node(id).op, r_[from.operand(id, 0)],
                                     r_[from.operand(id, 1)]);
    NodeId u = has_room ? match_tanh_plus_one(from, id) : kNoNode;
    // Where an absolute error will do, the tanh is the cheaper one.
    bool stays = u == kNoNode || allows_approximate_tanh(absolute, 1, {-1, 1});
    return stays ? r_.copy(id) : build_sigmoid_form(r_.to(), r_[u]);
  }

  Rewriter r_;
  std::vector<ValueRange> ranges_;
  std::vector<Room> room_;
  std::vector<bool> rounded_;
  Functions functions_;
};

}  // namespace

Graph relax(const Graph &graph) { return Relaxer(graph).run(); }

}  // namespace fuse
