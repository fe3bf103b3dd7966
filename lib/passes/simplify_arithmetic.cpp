// Rules of arithmetic. Each holds for every dtype that the op takes, or says which: for floats that
// includes signed zeros, infinities and NaN; integers wrap.
#include "passes/simplify.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <cmath>

namespace fuse {

namespace {

/// 1 / c where that is exact in the literal's dtype: c is a power of two.
NodeId exact_reciprocal(Simplifier &s, NodeId c) {
  if (!s.is_constant(c) || !is_float(s.dtype(c))) return kNoNode;
  double value = as_double(s.literal(c)), inverse = 1 / value;
  int exponent;
  if (std::fabs(std::frexp(value, &exponent)) != 0.5 || !std::isfinite(inverse)) return kNoNode;
  Literal literal = float_literal(s.dtype(c), inverse);
  return as_double(literal) == inverse ? s.constant(c, literal) : kNoNode;
}

NodeId operand_if(Simplifier &s, NodeId n, bool condition) {
  return condition ? s.value(n, s.arg(n, 0)) : kNoNode;
}

NodeId zero_if(Simplifier &s, NodeId n, bool condition) {
  return condition ? s.constant(n, 0.0) : kNoNode;
}

/// op(f(x)) is f(x) for any of these inner ops.
NodeId inner_if(Simplifier &s, NodeId n, std::initializer_list<Op> inner) {
  for (Op op : inner)
    if (s.is(s.arg(n, 0), op)) return s.arg(n, 0);
  return kNoNode;
}

NodeId integral(Simplifier &s, NodeId n) {
  return inner_if(s, n, {Op::Floor, Op::Ceil, Op::Round, Op::Trunc, Op::Sign});
}

constexpr Rule kRules[] = {
    {Op::Neg, "-(-x) = x",
     [](Simplifier &s, NodeId n) {
       NodeId x = s.arg(n, 0);
       return s.is(x, Op::Neg) ? s.value(n, s.arg(x, 0)) : kNoNode;
     }},
    {Op::Neg, "-(a - b) = b - a, integers (floats: the sign of 0)",
     [](Simplifier &s, NodeId n) {
       NodeId x = s.arg(n, 0);
       bool fires = s.has_int_type(n) && s.is(x, Op::Sub);
       return fires ? s.make(n, Op::Sub, {s.arg(x, 1), s.arg(x, 0)}) : kNoNode;
     }},
    {Op::Abs, "|-x| = |x|, signed",
     [](Simplifier &s, NodeId n) {
       NodeId x = s.arg(n, 0);
       bool fires = s.is(x, Op::Neg) && !is_unsigned_int(s.dtype(n));
       return fires ? s.make(n, Op::Abs, {s.arg(x, 0)}) : kNoNode;
     }},
    {Op::Abs, "||x|| = |x|", [](Simplifier &s, NodeId n) { return inner_if(s, n, {Op::Abs}); }},
    {Op::Abs, "|x| = x, unsigned",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, is_unsigned_int(s.dtype(n))); }},
    {Op::Sign, "sign(sign(x)) = sign(x)",
     [](Simplifier &s, NodeId n) { return inner_if(s, n, {Op::Sign}); }},
    {Op::Floor, "floor of a whole number", integral},
    {Op::Ceil, "ceil of a whole number", integral},
    {Op::Round, "round of a whole number", integral},
    {Op::Trunc, "trunc of a whole number", integral},

    {Op::Add, "x + -0 = x, floats (x + 0 turns -0 into 0)",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), -0.0)); }},
    {Op::Add, "a + (-b) = a - b",
     [](Simplifier &s, NodeId n) {
       NodeId b = s.arg(n, 1);
       return s.is(b, Op::Neg) ? s.make(n, Op::Sub, {s.arg(n, 0), s.arg(b, 0)}) : kNoNode;
     }},
    {Op::Add, "(-a) + b = b - a",
     [](Simplifier &s, NodeId n) {
       NodeId a = s.arg(n, 0);
       return s.is(a, Op::Neg) ? s.make(n, Op::Sub, {s.arg(n, 1), s.arg(a, 0)}) : kNoNode;
     }},

    {Op::Sub, "x - 0 = x",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), 0.0)); }},
    {Op::Sub, "a - (-b) = a + b",
     [](Simplifier &s, NodeId n) {
       NodeId b = s.arg(n, 1);
       return s.is(b, Op::Neg) ? s.make(n, Op::Add, {s.arg(n, 0), s.arg(b, 0)}) : kNoNode;
     }},
    {Op::Sub, "-0 - x = -x; integers: 0 - x = -x",
     [](Simplifier &s, NodeId n) {
       bool fires = s.is_number(s.arg(n, 0), -0.0);
       return fires ? s.make(n, Op::Neg, {s.arg(n, 1)}) : kNoNode;
     }},
    {Op::Sub, "x - x = 0, integers",
     [](Simplifier &s, NodeId n) {
       return zero_if(s, n, s.has_int_type(n) && s.arg(n, 0) == s.arg(n, 1));
     }},

    {Op::Mul, "x * 1 = x",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), 1.0)); }},
    {Op::Mul, "x * -1 = -x",
     [](Simplifier &s, NodeId n) {
       bool fires = s.is_number(s.arg(n, 1), -1.0);
       return fires ? s.make(n, Op::Neg, {s.arg(n, 0)}) : kNoNode;
     }},
    {Op::Mul, "x * 0 = 0, integers",
     [](Simplifier &s, NodeId n) {
       return zero_if(s, n, s.has_int_type(n) && s.is_number(s.arg(n, 1), 0.0));
     }},
    {Op::Mul, "(-a) * (-b) = a * b",
     [](Simplifier &s, NodeId n) {
       NodeId a = s.arg(n, 0), b = s.arg(n, 1);
       bool fires = s.is(a, Op::Neg) && s.is(b, Op::Neg);
       return fires ? s.make(n, Op::Mul, {s.arg(a, 0), s.arg(b, 0)}) : kNoNode;
     }},

    {Op::Div, "x / 1 = x",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), 1.0)); }},
    {Op::Div, "x / c = x * (1 / c), c a power of two: both round the same number",
     [](Simplifier &s, NodeId n) {
       NodeId inverse = exact_reciprocal(s, s.arg(n, 1));
       return inverse != kNoNode ? s.make(n, Op::Mul, {s.arg(n, 0), inverse}) : kNoNode;
     }},
    {Op::FloorDiv, "floordiv(x, 1) = x, integers",
     [](Simplifier &s, NodeId n) {
       return operand_if(s, n, s.has_int_type(n) && s.is_number(s.arg(n, 1), 1.0));
     }},
    {Op::Mod, "mod(x, 1) = 0, integers",
     [](Simplifier &s, NodeId n) {
       return zero_if(s, n, s.has_int_type(n) && s.is_number(s.arg(n, 1), 1.0));
     }},
    {Op::Rem, "rem(x, 1) = 0, integers",
     [](Simplifier &s, NodeId n) {
       return zero_if(s, n, s.has_int_type(n) && s.is_number(s.arg(n, 1), 1.0));
     }},

    {Op::Pow, "x^1 = x",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), 1.0)); }},
    {Op::Pow, "x^2 = x * x: rounded once, so within the error that pow is allowed",
     [](Simplifier &s, NodeId n) {
       NodeId x = s.arg(n, 0);
       return s.is_number(s.arg(n, 1), 2.0) ? s.make(n, Op::Mul, {x, x}) : kNoNode;
     }},
    {Op::Pow, "x^3 = x * x * x, within 2 ulp; not in 16 bits, where the square would be rounded",
     [](Simplifier &s, NodeId n) {
       NodeId x = s.arg(n, 0);
       bool fires = s.is_number(s.arg(n, 1), 3.0) && !is_float16(s.dtype(n));
       return fires ? s.make(n, Op::Mul, {s.make(n, Op::Mul, {x, x}), x}) : kNoNode;
     }},

    {Op::Shl, "x << 0 = x",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), 0.0)); }},
    {Op::Shr, "x >> 0 = x",
     [](Simplifier &s, NodeId n) { return operand_if(s, n, s.is_number(s.arg(n, 1), 0.0)); }},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kRules; }

}  // namespace fuse
