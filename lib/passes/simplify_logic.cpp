// Rules of comparisons, selects, bits, min and max. Exact for every dtype that the op takes.
#include "passes/simplify.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <cmath>

namespace fuse {

namespace {

NodeId first_if(Simplifier &s, NodeId n, bool condition) {
  return condition ? s.value(n, s.arg(n, 0)) : kNoNode;
}

bool operands_equal(Simplifier &s, NodeId n) { return s.arg(n, 0) == s.arg(n, 1); }

NodeId idempotent(Simplifier &s, NodeId n) { return first_if(s, n, operands_equal(s, n)); }

/// Floats compare false with themselves where they are NaN.
bool compares_itself(Simplifier &s, NodeId n) {
  return operands_equal(s, n) && !is_float(s.dtype(s.arg(n, 0)));
}

NodeId true_of_itself(Simplifier &s, NodeId n) {
  return compares_itself(s, n) ? s.constant(n, 1.0) : kNoNode;
}

NodeId false_of_itself(Simplifier &s, NodeId n) {
  return compares_itself(s, n) ? s.constant(n, 0.0) : kNoNode;
}

bool is_zero_bits(Simplifier &s, NodeId id) { return s.is_constant(id) && s.literal(id).bits == 0; }

/// The constant is the bottom (or top) of the order of its dtype.
bool is_extreme(Simplifier &s, NodeId id, bool top) {
  DType t = s.dtype(id);
  if (!s.is_constant(id)) return false;
  if (is_float(t)) return as_double(s.literal(id)) == (top ? INFINITY : -INFINITY);
  std::uint64_t ones = wrap_int(t, ~std::uint64_t{0});
  if (!is_signed_int(t)) return s.literal(id).bits == (top ? ones : 0);
  std::int64_t lowest = INT64_MIN >> (64 - 8 * static_cast<int>(size_of(t)));
  return as_int(s.literal(id)) == (top ? ~lowest : lowest);
}

/// The comparison that holds exactly where the given one does not, for operands of the dtype.
std::optional<Op> complement(Op op, DType dtype) {
  if (op == Op::Eq) return Op::Ne;
  if (op == Op::Ne) return Op::Eq;
  if (is_float(dtype)) return std::nullopt;
  if (op == Op::Lt) return Op::Ge;
  if (op == Op::Ge) return Op::Lt;
  if (op == Op::Gt) return Op::Le;
  if (op == Op::Le) return Op::Gt;
  return std::nullopt;
}

NodeId not_of_compare(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (info(s.op(x)).kind != OpKind::Compare || !s.is(x, s.op(x))) return kNoNode;
  std::optional<Op> op = complement(s.op(x), s.dtype(s.arg(x, 0)));
  return op ? s.make(n, *op, {s.arg(x, 0), s.arg(x, 1)}) : kNoNode;
}

NodeId select_of_constant(Simplifier &s, NodeId n) {
  NodeId condition = s.arg(n, 0);
  if (!s.is_constant(condition)) return kNoNode;
  return s.value(n, s.arg(n, s.literal(condition).bits ? 1 : 2));
}

NodeId select_of_bools(Simplifier &s, NodeId n) {
  NodeId a = s.arg(n, 1), b = s.arg(n, 2);
  if (!is_bool(s.dtype(n)) || !s.is_constant(a) || !s.is_constant(b)) return kNoNode;
  if (s.literal(a).bits == s.literal(b).bits) return a;
  return s.literal(a).bits ? s.arg(n, 0) : s.make(n, Op::Not, {s.arg(n, 0)});
}

NodeId bool_if_not_float(Simplifier &s, NodeId n, double value) {
  return is_float(s.dtype(s.arg(n, 0))) ? kNoNode : s.constant(n, value);
}

constexpr Rule kRules[] = {
    {Op::Not, "not not x = x",
     [](Simplifier &s, NodeId n) {
       NodeId x = s.arg(n, 0);
       return s.is(x, Op::Not) ? s.arg(x, 0) : kNoNode;
     }},
    {Op::Not, "not (a == b) = a != b; of order only where there is no NaN", not_of_compare},

    {Op::And, "x & x = x", idempotent},
    {Op::And, "x & 0 = 0",
     [](Simplifier &s, NodeId n) { return is_zero_bits(s, s.arg(n, 1)) ? s.arg(n, 1) : kNoNode; }},
    {Op::And, "x & ~0 = x",
     [](Simplifier &s, NodeId n) { return first_if(s, n, s.is_all_ones(s.arg(n, 1))); }},
    {Op::Or, "x | x = x", idempotent},
    {Op::Or, "x | 0 = x",
     [](Simplifier &s, NodeId n) { return first_if(s, n, is_zero_bits(s, s.arg(n, 1))); }},
    {Op::Or, "x | ~0 = ~0",
     [](Simplifier &s, NodeId n) { return s.is_all_ones(s.arg(n, 1)) ? s.arg(n, 1) : kNoNode; }},
    {Op::Xor, "x ^ x = 0",
     [](Simplifier &s, NodeId n) { return operands_equal(s, n) ? s.constant(n, 0.0) : kNoNode; }},
    {Op::Xor, "x ^ 0 = x",
     [](Simplifier &s, NodeId n) { return first_if(s, n, is_zero_bits(s, s.arg(n, 1))); }},
    {Op::Xor, "x ^ ~0 = not x",
     [](Simplifier &s, NodeId n) {
       bool fires = s.is_all_ones(s.arg(n, 1));
       return fires ? s.make(n, Op::Not, {s.arg(n, 0)}) : kNoNode;
     }},

    {Op::Min, "min(x, x) = x", idempotent},
    {Op::Min, "min(x, largest) = x; NaN stays NaN",
     [](Simplifier &s, NodeId n) { return first_if(s, n, is_extreme(s, s.arg(n, 1), true)); }},
    {Op::Max, "max(x, x) = x", idempotent},
    {Op::Max, "max(x, smallest) = x; NaN stays NaN",
     [](Simplifier &s, NodeId n) { return first_if(s, n, is_extreme(s, s.arg(n, 1), false)); }},

    {Op::Eq, "x == x, no floats", true_of_itself},
    {Op::Le, "x <= x, no floats", true_of_itself},
    {Op::Ge, "x >= x, no floats", true_of_itself},
    {Op::Ne, "not x != x, no floats", false_of_itself},
    {Op::Lt, "not x < x, no floats", false_of_itself},
    {Op::Gt, "not x > x, no floats", false_of_itself},
    {Op::IsNan, "integers are not NaN",
     [](Simplifier &s, NodeId n) { return bool_if_not_float(s, n, 0.0); }},
    {Op::IsInf, "integers are not infinite",
     [](Simplifier &s, NodeId n) { return bool_if_not_float(s, n, 0.0); }},
    {Op::IsFinite, "integers are finite",
     [](Simplifier &s, NodeId n) { return bool_if_not_float(s, n, 1.0); }},

    {Op::Select, "select of a constant condition", select_of_constant},
    {Op::Select, "select(c, x, x) = x",
     [](Simplifier &s, NodeId n) {
       return s.arg(n, 1) == s.arg(n, 2) ? s.value(n, s.arg(n, 1)) : kNoNode;
     }},
    {Op::Select, "select(not c, a, b) = select(c, b, a)",
     [](Simplifier &s, NodeId n) {
       NodeId c = s.arg(n, 0);
       if (!s.is(c, Op::Not)) return kNoNode;
       return s.make(n, Op::Select, {s.arg(c, 0), s.arg(n, 2), s.arg(n, 1)});
     }},
    {Op::Select, "select(c, true, false) = c; select(c, false, true) = not c", select_of_bools},
};

}  // namespace

std::span<const Rule> logic_rules() { return kRules; }

}  // namespace fuse
