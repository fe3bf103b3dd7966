// Transposes rise: an elementwise operation of values transposed alike is the transpose of one, so
// that what it makes lies as what it is made of, and transposes meet that undo one another.
#include "ir/build.h"
#include "ir/op.h"
#include "passes/simplify.h"

#include <algorithm>

namespace fuse {

namespace {

const std::vector<int> &order(Simplifier &s, NodeId id) { return s.g.attr<AxesAttr>(id).axes; }

std::vector<int> inverse(const std::vector<int> &order) {
  std::vector<int> at(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = static_cast<int>(i);
  return at;
}

Shape permuted(const Shape &shape, const std::vector<int> &order) {
  Shape result;
  for (int a : order) result.push_back(shape[a]);
  return result;
}

/// The order of the operands that are transposes; null where they differ, or none is one.
const std::vector<int> *common_order(Simplifier &s, NodeId n) {
  const std::vector<int> *common = nullptr;
  for (NodeId x : s.g.operands(n)) {
    if (!s.is(x, Op::Transpose)) continue;
    if (common && *common != order(s, x)) return nullptr;
    common = &order(s, x);
  }
  return common;
}

/// Whether a transpose of the operand moves nothing in memory.
bool moves_freely(Simplifier &s, NodeId x) {
  return s.is(x, Op::Transpose) || s.is_constant(x) || s.is(x, Op::Broadcast);
}

/// What a broadcast repeats, with axes of its own for all of the result's.
NodeId repeated(Simplifier &s, NodeId broadcast) {
  NodeId x = s.arg(broadcast, 0);
  Shape shape(s.shape(broadcast).size() - s.shape(x).size(), Dim(1));
  shape.insert(shape.end(), s.shape(x).begin(), s.shape(x).end());
  return build_reshape(s.g, x, shape);
}

/// An operand as it is before the transpose to that order.
NodeId before(Simplifier &s, NodeId x, const std::vector<int> &to) {
  if (s.is(x, Op::Transpose)) return s.arg(x, 0);
  Shape shape = permuted(s.shape(x), inverse(to));
  if (s.is_constant(x)) return build_constant(s.g, s.literal(x), shape);
  return build_broadcast(s.g, build_transpose(s.g, repeated(s, x), inverse(to)), shape);
}

NodeId elementwise_of_transposes(Simplifier &s, NodeId n) {
  const std::vector<int> *common = common_order(s, n);
  auto operands = s.g.operands(n);
  if (!common ||
      !std::all_of(operands.begin(), operands.end(), [&](NodeId x) { return moves_freely(s, x); }))
    return kNoNode;
  const std::vector<int> to = *common;
  std::vector<NodeId> plain(operands.begin(), operands.end());
  for (NodeId &x : plain) x = before(s, x, to);
  NodeId made = s.g.add(s.op(n), s.dtype(n), permuted(s.shape(n), inverse(to)), plain);
  return build_transpose(s.g, made, to);
}

bool is_elementwise(Op op) {
  switch (info(op).kind) {
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary:
    case OpKind::Compare:
    case OpKind::Test:
    case OpKind::Convert: return true;
    case OpKind::Leaf:
    case OpKind::Random:
    case OpKind::View:
    case OpKind::Reduce:
    case OpKind::Scan:
    case OpKind::Extern:
    case OpKind::Gradient: return false;
  }
  return false;
}

std::vector<Rule> rules_of_elementwise_ops() {
  std::vector<Rule> rules;
  for (int i = 0; i < kNumOps; ++i)
    if (auto op = static_cast<Op>(i); is_elementwise(op))
      rules.push_back({op, "elementwise of transposes", elementwise_of_transposes});
  return rules;
}

}  // namespace

std::span<const Rule> transpose_rules() {
  static const std::vector<Rule> rules = rules_of_elementwise_ops();
  return rules;
}

}  // namespace fuse
