// The pass `simplify`: applies the rules to every node, operands first, until none applies.
//
// Before: a verified graph. After: the same values bit for bit (pow within its allowed error), and
// no rule applies, so the pass is idempotent. It ends because every rule goes downhill.
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "passes/rewriter.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fuse {

bool Simplifier::is(NodeId id, Op wanted) const {
  return op(id) == wanted && !g.keep_marks.contains(id);
}

bool Simplifier::is_number(NodeId id, double value) const {
  if (!is_constant(id) || is_bool(dtype(id))) return false;
  if (is_int(dtype(id))) return value == std::trunc(value) && as_double(literal(id)) == value;
  double v = as_double(literal(id));
  return v == value && std::signbit(v) == std::signbit(value);
}

bool Simplifier::is_all_ones(NodeId id) const {
  return is_constant(id) && !is_float(dtype(id)) &&
         literal(id).bits == wrap_int(dtype(id), ~std::uint64_t{0});
}

NodeId Simplifier::constant(NodeId like, Literal literal) {
  if (is_float(dtype(like))) literal = float_literal(dtype(like), as_double(literal));
  return g.add(Op::Constant, dtype(like), shape(like), {}, literal);
}

NodeId Simplifier::constant(NodeId like, double value) {
  if (is_float(dtype(like))) return constant(like, float_literal(DType::F64, value));
  return constant(like, int_literal(dtype(like), static_cast<std::int64_t>(value)));
}

NodeId Simplifier::value(NodeId like, NodeId operand) {
  return dtype(operand) == dtype(like) ? operand : constant(like, literal(operand));
}

NodeId Simplifier::make(NodeId like, Op op, std::initializer_list<NodeId> operands) {
  return g.add(op, dtype(like), shape(like), operands);
}

NodeId Simplifier::is_inside(NodeId x, std::int64_t count) {
  auto compare = [&](Op op, std::int64_t bound) {
    NodeId constant = build_constant(g, int_literal(dtype(x), bound), shape(x));
    return g.add(op, DType::Bool, shape(x), {{x, constant}});
  };
  NodeId low = compare(Op::Ge, 0), high = compare(Op::Le, count - 1);
  return g.add(Op::And, DType::Bool, shape(x), {{low, high}});
}

namespace {

using RulesOfOps = std::array<std::vector<Rule>, kNumOps>;

RulesOfOps collect_rules() {
  RulesOfOps rules;
  for (std::span<const Rule> table :
       {arithmetic_rules(), logic_rules(), convert_rules(), view_rules(), join_rules(),
        reduce_rules(), scan_rules(), pick_rules(), gather_rules(), position_rules(),
        select_rules(), transpose_rules()})
    for (const Rule &r : table) rules[static_cast<std::size_t>(r.op)].push_back(r);
  return rules;
}

/// The operands of a commutative operation in one order: ascending, constants last.
NodeId order_operands(Simplifier &s, NodeId id) {
  if (!info(s.op(id)).is(Commutative)) return kNoNode;
  NodeId a = s.arg(id, 0), b = s.arg(id, 1);
  bool swap = s.is_constant(a) != s.is_constant(b) ? s.is_constant(a) : a > b;
  return swap ? s.make(id, s.op(id), {b, a}) : kNoNode;
}

/// A value without elements equals a constant.
NodeId empty_to_constant(Simplifier &s, NodeId id) {
  if (s.op(id) == Op::Input || s.is_constant(id) || info(s.op(id)).kind == OpKind::Extern)
    return kNoNode;
  const Shape &shape = s.shape(id);
  bool is_empty = std::find(shape.begin(), shape.end(), Dim(0)) != shape.end();
  return is_empty ? s.constant(id, 0.0) : kNoNode;
}

NodeId apply_first(Simplifier &s, const RulesOfOps &rules, NodeId id) {
  if (NodeId constant = empty_to_constant(s, id); constant != kNoNode) return constant;
  if (NodeId ordered = order_operands(s, id); ordered != kNoNode) return ordered;
  for (const Rule &r : rules[static_cast<std::size_t>(s.op(id))])
    if (NodeId simpler = r.rewrite(s, id); simpler != kNoNode) return simpler;
  return kNoNode;
}

/// One pass over the graph; says whether a rule fired.
Graph simplify_once(const Graph &graph, const RulesOfOps &rules, bool &changed) {
  Rewriter r(graph);
  std::vector<std::uint32_t> old_uses = count_uses(r.from()), uses;
  Simplifier s(r.to(), uses);
  for (NodeId id = 0; id < r.from().size(); ++id) {
    NodeId made = r.copy(id);
    for (NodeId simpler = made; simpler != kNoNode; simpler = apply_first(s, rules, made)) {
      changed |= simpler != made;
      made = simpler;
    }
    r.set(id, made);
    uses.resize(r.to().size(), 0);
    uses[made] += old_uses[id];
  }
  return eliminate_dead(r.finish());
}

}  // namespace

Graph simplify(const Graph &graph) {
  static const RulesOfOps rules = collect_rules();
  Graph result = eliminate_dead(graph);  // a dead reader must not count
  for (bool changed = true; changed;) {
    changed = false;
    result = simplify_once(result, rules, changed);
  }
  return result;
}

}  // namespace fuse
