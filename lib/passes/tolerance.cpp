// Relative errors that results leave to their operands, one backward loop.
#include "passes/tolerance.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <limits>

namespace fuse {

namespace {

constexpr double kNoUser = std::numeric_limits<double>::infinity();

class Tolerance {
 public:
  explicit Tolerance(const GraphData &graph)
      : g_(graph), room_(graph.size(), kNoUser), inexact_(graph.size()), positive_(graph.size()) {}

  std::vector<double> room() {
    for (const Output &o : g_.outputs) room_[o.node] = 0;
    for (const auto &[id, marked] : g_.keep_marks)
      if (marked) room_[id] = 0;
    for (NodeId id = 0; id < g_.size(); ++id) positive_[id] = is_positive(id);
    for (NodeId id = static_cast<NodeId>(g_.size()); id-- > 0;) {
      if (room_[id] == kNoUser) room_[id] = 0;
      for (NodeId operand : g_.operands(id))
        room_[operand] = std::min(room_[operand], room_for_operand(id));
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
  std::vector<double> room_;  // relative error that users leave
  std::vector<bool> inexact_, positive_;

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

  double rounding_room(NodeId id) const {
    switch (g_.dtype(id)) {
      case DType::BF16: return 0x1p-10;
      case DType::F16: return 0x1p-13;
      default: return 0;
    }
  }

  /// What a node's own room leaves to each operand.
  double room_for_operand(NodeId id) const {
    switch (g_.node(id).op) {
      case Op::Cast: return is_float16(g_.dtype(id)) ? rounding_room(id) : 0;
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
  double own_room(NodeId id) const { return g_.dtype(id) == DType::F32 ? room_[id] : 0; }

  bool may_approximate(NodeId id) const {
    Op op = g_.node(id).op;
    bool inexact_function = op == Op::Exp || op == Op::Exp2 || op == Op::Sigmoid;
    if (is_float16(g_.dtype(id))) return inexact_function;
    bool candidate = inexact_function || (op == Op::Div && operand_is(inexact_, id));
    return candidate && g_.dtype(id) == DType::F32 && room_[id] >= kApproximateError;
  }
};

}  // namespace

std::vector<bool> approximable(const GraphData &graph) { return Tolerance(graph).approximable(); }

std::vector<double> room_for_error(const GraphData &graph) { return Tolerance(graph).room(); }

}  // namespace fuse
