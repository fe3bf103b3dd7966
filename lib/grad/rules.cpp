// The table of the rules, in the order of ops.def: an operation without a row does not compile.
#include "grad/rules.h"

#include "ir/op.h"

#include <fuse/builders.h>

#include <cstddef>
#include <iterator>

namespace fuse {

namespace {

struct Row {
  Op op;
  Rule rule;
};

/// Steps and what is no float have derivatives of 0 where they have one.
constexpr Rule kFlat = nullptr;

constexpr double kLn2 = 0.69314718055994531, kInvLn2 = 1.4426950408889634;
constexpr double kTwoOverSqrtPi = 1.1283791670955126, kHalfSqrtPi = 0.88622692545275801;

/// 1 - v^2 without the loss of its digits near 1.
Value one_minus_square(Value v) { return (1.0 - v) * (1.0 + v); }

constexpr Row kRules[] = {
    {Op::Input, kFlat},
    {Op::Constant, kFlat},
    {Op::Iota, kFlat},
    {Op::RandomBits, kFlat},

    {Op::Neg, [](Adjoint &a) { a.add(0, -a.dy()); }},
    {Op::Abs, [](Adjoint &a) { a.scale(0, sign(a.x())); }},
    {Op::Sign, kFlat},
    {Op::Floor, kFlat},
    {Op::Ceil, kFlat},
    {Op::Round, kFlat},
    {Op::Trunc, kFlat},
    {Op::Sqrt, [](Adjoint &a) { a.scale(0, 0.5 / a.y()); }},
    {Op::Not, kFlat},

    {Op::Rsqrt, [](Adjoint &a) { a.scale(0, -0.5 * a.y() * a.y() * a.y()); }},
    {Op::Cbrt, [](Adjoint &a) { a.scale(0, 1.0 / (3.0 * square(a.y()))); }},
    {Op::Exp, [](Adjoint &a) { a.scale(0, a.y()); }},
    {Op::Exp2, [](Adjoint &a) { a.scale(0, kLn2 * a.y()); }},
    {Op::Expm1, [](Adjoint &a) { a.scale(0, exp(a.x())); }},
    {Op::Log, [](Adjoint &a) { a.add(0, a.dy() / a.divisor(a.x())); }},
    {Op::Log2, [](Adjoint &a) { a.add(0, kInvLn2 * a.dy() / a.divisor(a.x())); }},
    {Op::Log1p, [](Adjoint &a) { a.add(0, a.dy() / a.divisor(1.0 + a.x())); }},
    {Op::Sin, [](Adjoint &a) { a.scale(0, cos(a.x())); }},
    {Op::Cos, [](Adjoint &a) { a.scale(0, -sin(a.x())); }},
    {Op::Tan, [](Adjoint &a) { a.scale(0, 1.0 + square(a.y())); }},
    {Op::Asin, [](Adjoint &a) { a.scale(0, rsqrt(one_minus_square(a.x()))); }},
    {Op::Acos, [](Adjoint &a) { a.scale(0, -rsqrt(one_minus_square(a.x()))); }},
    {Op::Atan, [](Adjoint &a) { a.scale(0, 1.0 / (1.0 + square(a.x()))); }},
    {Op::Sinh, [](Adjoint &a) { a.scale(0, cosh(a.x())); }},
    {Op::Cosh, [](Adjoint &a) { a.scale(0, sinh(a.x())); }},
    {Op::Tanh, [](Adjoint &a) { a.scale(0, one_minus_square(a.y())); }},
    {Op::Asinh, [](Adjoint &a) { a.scale(0, rsqrt(square(a.x()) + 1.0)); }},
    {Op::Acosh, [](Adjoint &a) { a.scale(0, rsqrt((a.x() - 1.0) * (a.x() + 1.0))); }},
    {Op::Atanh, [](Adjoint &a) { a.scale(0, 1.0 / one_minus_square(a.x())); }},
    {Op::Erf, [](Adjoint &a) { a.scale(0, kTwoOverSqrtPi * exp(-square(a.x()))); }},
    {Op::Erfc, [](Adjoint &a) { a.scale(0, -kTwoOverSqrtPi * exp(-square(a.x()))); }},
    {Op::Erfinv, [](Adjoint &a) { a.scale(0, kHalfSqrtPi * exp(square(a.y()))); }},
    {Op::Lgamma, [](Adjoint &a) { a.scale(0, digamma(a.x())); }},
    {Op::Digamma, [](Adjoint &a) { a.scale(0, trigamma(a.x())); }},
    {Op::Sigmoid, [](Adjoint &a) { a.scale(0, a.y() * (1.0 - a.y())); }},

    {Op::Add,
     [](Adjoint &a) {
       a.add(0, a.dy());
       a.add(1, a.dy());
     }},
    {Op::Sub,
     [](Adjoint &a) {
       a.add(0, a.dy());
       if (a.wants(1)) a.add(1, -a.dy());
     }},
    {Op::Mul,
     [](Adjoint &a) {
       if (a.wants(0)) a.add(0, a.times(a.dy(), a.x(1)));
       if (a.wants(1)) a.add(1, a.times(a.dy(), a.x(0)));
     }},
    {Op::Div, div_rule},
    {Op::FloorDiv, kFlat},
    {Op::Mod, mod_rule},
    {Op::Rem, rem_rule},
    {Op::Pow, pow_rule},
    {Op::Min, min_rule},
    {Op::Max, max_rule},
    {Op::Atan2, atan2_rule},
    {Op::And, kFlat},
    {Op::Or, kFlat},
    {Op::Xor, kFlat},
    {Op::Shl, kFlat},
    {Op::Shr, kFlat},

    {Op::Eq, kFlat},
    {Op::Ne, kFlat},
    {Op::Lt, kFlat},
    {Op::Le, kFlat},
    {Op::Gt, kFlat},
    {Op::Ge, kFlat},

    {Op::IsNan, kFlat},
    {Op::IsInf, kFlat},
    {Op::IsFinite, kFlat},

    {Op::Fma,
     [](Adjoint &a) {
       if (a.wants(0)) a.add(0, a.times(a.dy(), a.x(1)));
       if (a.wants(1)) a.add(1, a.times(a.dy(), a.x(0)));
       a.add(2, a.dy());
     }},
    {Op::Select, select_rule},

    {Op::Cast, [](Adjoint &a) { a.add(0, cast(a.dy(), compute_type(a.operand(0).dtype()))); }},
    {Op::CastSat, cast_sat_rule},
    {Op::Bitcast, kFlat},

    {Op::Broadcast, broadcast_rule},
    {Op::Reshape, [](Adjoint &a) { a.add(0, reshape(a.cotangent(), a.operand(0).shape())); }},
    {Op::Transpose, transpose_rule},
    {Op::Slice, slice_rule},
    {Op::Flip, [](Adjoint &a) { a.add(0, flip(a.cotangent(), a.attr<AxesAttr>().axes)); }},
    {Op::Pad, pad_rule},
    {Op::Concat, concat_rule},
    {Op::Gather, gather_rule},

    {Op::Sum, sum_rule},
    {Op::Prod, prod_rule},
    {Op::ReduceMax, reduce_max_rule},
    {Op::ReduceMin, reduce_min_rule},
    {Op::Any, kFlat},
    {Op::All, kFlat},
    {Op::ArgMax, kFlat},
    {Op::ArgMin, kFlat},

    {Op::CumSum, cumsum_rule},
    {Op::CumProd, cumprod_rule},
    {Op::CumMax, cummax_rule},
    {Op::CumMin, cummin_rule},
    {Op::LogCumSumExp, logcumsumexp_rule},

    {Op::Extern, extern_rule},
    {Op::ExternResult, extern_rule},

    {Op::StopGradient, kFlat},
    {Op::CustomGradient, custom_gradient_rule},
};

constexpr bool has_a_row_for_every_op() {
  if (std::size(kRules) != kNumOps) return false;
  for (std::size_t i = 0; i < std::size(kRules); ++i)
    if (kRules[i].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(has_a_row_for_every_op(), "an operation of ops.def has no rule here, in its order");

}  // namespace

Rule rule_of(Op op) { return kRules[static_cast<std::size_t>(op)].rule; }

}  // namespace fuse
