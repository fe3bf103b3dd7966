// Operations on a select between what rows share become a select between their results: rows are
// fewer than elements.
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/op.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

/// What a constant or a broadcast repeats.
struct Shared {
  std::vector<NodeId> sources;  // constants and operands of broadcasts
  Shape shape;                  // of the latter, all alike
};

std::optional<Shared> match_shared(Simplifier &s, const std::vector<NodeId> &values) {
  Shared shared;
  bool has_shape = false;
  for (NodeId id : values) {
    bool repeats = s.is(id, Op::Broadcast);
    if (!repeats && !s.is_constant(id)) return std::nullopt;
    NodeId source = repeats ? s.arg(id, 0) : id;
    if (repeats && has_shape && s.shape(source) != shared.shape) return std::nullopt;
    if (repeats) shared.shape = s.shape(source);
    has_shape |= repeats;
    shared.sources.push_back(source);
  }
  return shared;
}

/// The operation on sources, repeated to the node's shape.
NodeId apply_to_shared(Simplifier &s, NodeId n, const Shared &shared) {
  std::vector<NodeId> operands;
  for (NodeId id : shared.sources)
    operands.push_back(s.is_constant(id) ? build_constant(s.g, s.literal(id), shared.shape) : id);
  NodeId result = s.g.add(s.op(n), s.dtype(n), shared.shape, operands);
  return build_broadcast(s.g, result, s.shape(n));
}

/// f(select(c, a, b), w) = select(c, f(a, w), f(b, w)), where a, b and w are repeated.
NodeId operation_on_select(Simplifier &s, NodeId n) {
  auto range = s.g.operands(n);
  std::vector<NodeId> operands(range.begin(), range.end());
  auto it = std::find_if(operands.begin(), operands.end(),
                         [&](NodeId id) { return s.is(id, Op::Select); });
  if (it == operands.end()) return kNoNode;
  // Of a narrow type literals are rounded to it by the select.
  NodeId select = *it, condition = s.arg(select, 0);
  NodeId branches[] = {s.value(select, s.arg(select, 1)), s.value(select, s.arg(select, 2))};
  if (s.is(condition, Op::Broadcast)) return kNoNode;  // the select is not of elements itself
  NodeId results[2];
  for (int i = 0; i < 2; ++i) {
    *it = branches[i];
    std::optional<Shared> shared = match_shared(s, operands);
    if (!shared) return kNoNode;
    results[i] = apply_to_shared(s, n, *shared);
  }
  return s.make(n, Op::Select, {condition, results[0], results[1]});
}

constexpr const char *kIdentity = "f(select(c, a, b), w) = select(c, f(a, w), f(b, w)) of rows";

constexpr Rule kRules[] = {
    {Op::Neg, kIdentity, operation_on_select}, {Op::Add, kIdentity, operation_on_select},
    {Op::Sub, kIdentity, operation_on_select}, {Op::Mul, kIdentity, operation_on_select},
    {Op::Div, kIdentity, operation_on_select}, {Op::Cast, kIdentity, operation_on_select},
};

}  // namespace

std::span<const Rule> select_rules() { return kRules; }

}  // namespace fuse
