// Errors that results leave to their operands, one backward loop.
//
// Relative ones flow through products, absolute ones through what has a bounded slope: a sigmoid of
// a sigmoid asks little of its operand. An operation that errs takes half of its room.
#include "passes/tolerance.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuse {

namespace {

constexpr double kNoUser = std::numeric_limits<double>::infinity();

bool is_at_least_1(const GraphData &g, NodeId id) {
  return g.node(id).op == Op::Constant && std::fabs(as_double(g.attr<Literal>(id))) >= 1;
}

/// By node: whatever reads it adds a number of at least 1, whose last place hides an absolute
/// error of that size.
std::vector<bool> added_to_units(const GraphData &g) {
  std::vector<bool> added(g.size(), true);
  for (NodeId id = 0; id < g.size(); ++id) {
    bool adds = g.node(id).op == Op::Add || g.node(id).op == Op::Sub;
    for (std::size_t i = 0; i < g.operands(id).size(); ++i)
      if (!adds || !is_at_least_1(g, g.operand(id, 1 - i))) added[g.operand(id, i)] = false;
  }
  return added;
}

class Tolerance {
 public:
  explicit Tolerance(const GraphData &graph)
      : g_(graph),
        ranges_(value_ranges(graph)),
        room_(graph.size(), {kNoUser, kNoUser}),
        rounded_(rounded_to_16_bits(graph)),
        added_to_units_(added_to_units(graph)),
        inexact_(graph.size()),
        positive_(graph.size()) {}

  std::vector<Room> room() {
    for (const Output &o : g_.outputs) room_[o.node] = {};
    for (const auto &[id, marked] : g_.keep_marks)
      if (marked) room_[id] = {};
    for (NodeId id = 0; id < g_.size(); ++id) positive_[id] = is_positive(id);
    for (NodeId id = static_cast<NodeId>(g_.size()); id-- > 0;) {
      if (room_[id].relative == kNoUser) room_[id] = {};
      for (std::size_t i = 0; i < g_.operands(id).size(); ++i) {
        Room &operand = room_[g_.operand(id, i)];
        operand.relative = std::min(operand.relative, room_for_operand(id));
        operand.absolute = std::min(operand.absolute, absolute_room_for_operand(id, i));
      }
    }
    return room_;
  }

  std::vector<bool> approximable() {
    room();
    std::vector<bool> result(g_.size());
    for (NodeId id = 0; id < g_.size(); ++id) {
      inexact_[id] = is_inexact(id);
      result[id] = may_approximate(id);
    }
    return result;
  }

 private:
  const GraphData &g_;
  std::vector<ValueRange> ranges_;
  std::vector<Room> room_;
  std::vector<bool> rounded_, added_to_units_, inexact_, positive_;

  bool operand_is(const std::vector<bool> &property, NodeId id) const {
    auto operands = g_.operands(id);
    return std::any_of(operands.begin(), operands.end(), [&](NodeId o) { return property[o]; });
  }

  bool operands_are(const std::vector<bool> &property, NodeId id) const {
    auto operands = g_.operands(id);
    return std::all_of(operands.begin(), operands.end(), [&](NodeId o) { return property[o]; });
  }

  /// The value is not the same on every machine anyway.
  bool is_inexact(NodeId id) const {
    const OpInfo &op = info(g_.node(id).op);
    bool accumulates = op.kind == OpKind::Reduce || op.kind == OpKind::Scan;
    bool rounds = op.max_ulp > 0 || (accumulates && !op.is(Exact));
    return (rounds && is_float(g_.dtype(id))) || operand_is(inexact_, id);
  }

  /// Not negative, NaN aside.
  bool is_positive(NodeId id) const {
    if (!is_float(g_.dtype(id))) return false;
    switch (g_.node(id).op) {
      case Op::Exp:
      case Op::Exp2:
      case Op::Sigmoid:
      case Op::Abs:
      case Op::Sqrt:
      case Op::Rsqrt: return true;
      case Op::Constant: return as_double(g_.attr<Literal>(id)) >= 0;
      case Op::Mul: return g_.operand(id, 0) == g_.operand(id, 1) || operands_are(positive_, id);
      case Op::Add:
      case Op::Div:
      case Op::Sum:
      case Op::CumSum:
      case Op::Cast:
      case Op::Broadcast:
      case Op::Reshape: return operands_are(positive_, id);
      default: return false;
    }
  }

  /// What a node's own room leaves to each operand.
  double room_for_operand(NodeId id) const {
    switch (g_.node(id).op) {
      case Op::Cast: return is_float16(g_.dtype(id)) ? rounding_room(g_.dtype(id)) : 0;
      case Op::Mul:
      case Op::Div: return own_room(id) / 4;
      case Op::Neg:
      case Op::Abs:
      case Op::Sqrt:
      case Op::Rsqrt:
      case Op::Select:
      case Op::Broadcast:
      case Op::Reshape:
      case Op::Transpose:
      case Op::Slice:
      case Op::Flip:
      case Op::Concat:
      case Op::Pad: return own_room(id);
      case Op::Add:
      case Op::Sum:
      case Op::CumSum: return operands_are(positive_, id) ? own_room(id) / 2 : 0;
      default: return 0;
    }
  }

  /// A 16-bit node rounds: its operands' errors pass through that rounding, so none are left.
  double own_room(NodeId id) const { return g_.dtype(id) == DType::F32 ? room_[id].relative : 0; }

  double own_absolute_room(NodeId id) const {
    return g_.dtype(id) == DType::F32 ? room_[id].in(ranges_[id]) : 0;
  }

  /// The error of operand i that moves the result by no more than the room that is left to it.
  double absolute_room_for_operand(NodeId id, std::size_t i) const {
    double room = own_absolute_room(id);
    if (room == 0) return g_.node(id).op == Op::Cast ? rounding_room_of(id) : 0;
    double shares = static_cast<double>(num_variable_operands(id));
    auto over = [&](double slope) {
      return slope > 0 && std::isfinite(slope) ? room / (slope * shares) : 0;
    };
    auto factor = [&](std::size_t j) { return ranges_[g_.operand(id, j)].greatest_magnitude(); };
    switch (g_.node(id).op) {
      case Op::Neg:
      case Op::Abs:
      case Op::Select:
      case Op::Broadcast:
      case Op::Reshape:
      case Op::Transpose:
      case Op::Slice:
      case Op::Flip:
      case Op::Concat:
      case Op::Pad: return room;
      case Op::Sigmoid: return over(2 * 0.25);
      case Op::Tanh: return over(2);
      case Op::Add:
      case Op::Sub: return over(1);
      case Op::Mul: return over(factor(1 - i));
      case Op::Fma: return over(i == 2 ? 1 : factor(1 - i));
      default: return 0;
    }
  }

  /// Those that may err: literals do not.
  std::size_t num_variable_operands(NodeId id) const {
    std::size_t literals = 0;
    for (NodeId o : g_.operands(id)) literals += g_.node(o).op == Op::Constant;
    return std::max<std::size_t>(1, g_.operands(id).size() - literals);
  }

  /// Of a 16-bit result that stays away from zero.
  double rounding_room_of(NodeId id) const {
    return is_float16(g_.dtype(id)) ? rounding_room(g_.dtype(id)) * ranges_[id].least_magnitude()
                                    : 0;
  }

  bool may_approximate(NodeId id) const {
    Op op = g_.node(id).op;
    bool inexact_function = op == Op::Exp || op == Op::Exp2 || op == Op::Sigmoid;
    if (is_float16(g_.dtype(id))) return inexact_function;
    if (op == Op::Tanh && g_.dtype(id) == DType::F32)
      return allows_approximate_tanh(room_[id].in(ranges_[id]), 1, ranges_[id]);
    if (op == Op::Erf) return g_.dtype(id) == DType::F32 && rounded_[id] && added_to_units_[id];
    bool has_room = room_[id].relative >= kApproximateError;
    bool divides = op == Op::Div && operand_is(inexact_, id) && (has_room || rounded_[id]);
    return g_.dtype(id) == DType::F32 && (divides || (inexact_function && has_room));
  }
};

/// Whether errors of operands are those of the result, but for a factor near one.
bool passes_errors(Op op) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Sqrt:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Fma:
    case Op::Min:
    case Op::Max:
    case Op::Select:
    case Op::Sum:
    case Op::CumSum:
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Transpose:
    case Op::Slice:
    case Op::Flip:
    case Op::Pad:
    case Op::Concat:
    case Op::Gather: return true;
    default: return false;
  }
}

}  // namespace

double rounding_room(DType type) {
  switch (type) {
    case DType::BF16: return 0x1p-10;
    case DType::F16: return 0x1p-13;
    default: return 0;
  }
}

std::vector<bool> approximable(const GraphData &graph) { return Tolerance(graph).approximable(); }

std::vector<bool> rounded_to_16_bits(const GraphData &g) {
  std::vector<bool> rounded(g.size(), true);
  for (const Output &o : g.outputs) rounded[o.node] = false;
  for (const auto &[id, marked] : g.keep_marks) rounded[id] = rounded[id] && !marked;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;) {
    bool rounds = g.node(id).op == Op::Cast && is_float16(g.dtype(id));
    bool passes =
        rounds || (passes_errors(g.node(id).op) && g.dtype(id) == DType::F32 && rounded[id]);
    if (passes) continue;
    for (NodeId operand : g.operands(id)) rounded[operand] = false;
  }
  return rounded;
}

std::vector<Room> room_for_error(const GraphData &graph) { return Tolerance(graph).room(); }

bool allows_approximate_tanh(double room, double slope, const ValueRange &tanh) {
  return slope * kApproximateTanhError * tanh.greatest_magnitude() <= room / 2;
}

}  // namespace fuse
