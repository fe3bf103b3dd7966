// Comparisons that positions decide.
#include "passes/positions.h"
#include "passes/simplify.h"

namespace fuse {

namespace {

/// Whether a op b, where a - b lies in the range; nothing where that depends.
std::optional<bool> decided(Op op, const Interval &difference) {
  auto [lo, hi] = difference;
  auto either = [](bool yes, bool no) {
    return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
  };
  switch (op) {
    case Op::Lt: return either(hi < 0, lo >= 0);
    case Op::Le: return either(hi <= 0, lo > 0);
    case Op::Gt: return either(lo > 0, hi <= 0);
    case Op::Ge: return either(lo >= 0, hi < 0);
    case Op::Eq: return either(lo == 0 && hi == 0, lo > 0 || hi < 0);
    case Op::Ne: return either(lo > 0 || hi < 0, lo == 0 && hi == 0);
    default: return std::nullopt;
  }
}

NodeId comparison_of_positions(Simplifier &s, NodeId n) {
  std::optional<Index> a = position_index(s.g, s.arg(n, 0));
  std::optional<Index> b = a ? position_index(s.g, s.arg(n, 1)) : std::nullopt;
  if (!b) return kNoNode;
  std::optional<Interval> difference = interval_over(*a - *b, s.shape(n));
  if (!difference) return kNoNode;
  std::optional<bool> value = decided(s.op(n), *difference);
  return value ? s.constant(n, Literal{DType::Bool, *value}) : kNoNode;
}

constexpr Rule kRules[] = {
    {Op::Lt, "x < y, decided by positions", comparison_of_positions},
    {Op::Le, "x <= y, decided by positions", comparison_of_positions},
    {Op::Gt, "x > y, decided by positions", comparison_of_positions},
    {Op::Ge, "x >= y, decided by positions", comparison_of_positions},
    {Op::Eq, "x == y, decided by positions", comparison_of_positions},
    {Op::Ne, "x != y, decided by positions", comparison_of_positions},
};

}  // namespace

std::span<const Rule> position_rules() { return kRules; }

}  // namespace fuse
