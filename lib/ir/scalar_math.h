// The operations as arithmetic on C++ numbers: what scalar.cpp applies to bits and the evaluator
// to whole tensors. Each switch lists every op; those that are not arithmetic give 0.
//
// float_op<C> computes in C throughout. The exact operations round once, so C is the compute type
// (float for f32 and below, double for f64); the others want a wider C and one rounding after.
#pragma once

#include "ir/op.h"
#include "ir/special_functions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fuse {

/// The larger number; NaN wins, -0 is below +0.
template <class C>
C float_max(C a, C b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<C>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class C>
C float_min(C a, C b) {
  return -float_max(-a, -b);
}

template <class C>
C float_sign(C a) {
  return a > 0 ? C(1) : a < 0 ? C(-1) : a;
}

/// Python's a % b: the exact remainder, moved to the divisor's sign; a zero takes that sign too.
template <class C>
C float_mod(C a, C b) {
  C r = std::fmod(a, b);
  if (r == 0) return std::copysign(C(0), b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/// Python's a // b: the quotient without its remainder, snapped to the nearest integer, so that
/// 1.0 // 0.1 is 9. A zero divisor gives the quotient.
template <class C>
C float_floordiv(C a, C b) {
  if (b == 0) return a / b;
  C r = std::fmod(a, b);
  C quotient = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(C(0), a / b);
  C below = std::floor(quotient);
  return quotient - below > C(0.5) ? below + 1 : below;
}

/// a * b + c of f32 or narrower numbers as the double that rounds like the exact result: rounded
/// to odd.
inline double fma_to_odd(double a, double b, double c) {
  double product = a * b, sum = product + c;
  if (!std::isfinite(sum)) return sum;
  double shadow = sum - product;
  double error = (product - (sum - shadow)) + (c - shadow);
  if (error == 0 || (std::bit_cast<std::uint64_t>(sum) & 1)) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

/// Float operations, comparisons and tests (1 or 0).
template <class C>
C float_op(Op op, C a, C b, C c) {
  switch (op) {
    case Op::Neg: return -a;
    case Op::Abs: return std::fabs(a);
    case Op::Sign: return float_sign(a);
    case Op::Floor: return std::floor(a);
    case Op::Ceil: return std::ceil(a);
    case Op::Round: return std::nearbyint(a);
    case Op::Trunc: return std::trunc(a);
    case Op::Sqrt: return std::sqrt(a);
    case Op::Rsqrt: return 1 / std::sqrt(a);
    case Op::Cbrt: return std::cbrt(a);
    case Op::Exp: return std::exp(a);
    case Op::Exp2: return std::exp2(a);
    case Op::Expm1: return std::expm1(a);
    case Op::Log: return std::log(a);
    case Op::Log2: return std::log2(a);
    case Op::Log1p: return std::log1p(a);
    case Op::Sin: return std::sin(a);
    case Op::Cos: return std::cos(a);
    case Op::Tan: return std::tan(a);
    case Op::Asin: return std::asin(a);
    case Op::Acos: return std::acos(a);
    case Op::Atan: return std::atan(a);
    case Op::Sinh: return std::sinh(a);
    case Op::Cosh: return std::cosh(a);
    case Op::Tanh: return std::tanh(a);
    case Op::Asinh: return std::asinh(a);
    case Op::Acosh: return std::acosh(a);
    case Op::Atanh: return std::atanh(a);
    case Op::Erf: return std::erf(a);
    case Op::Erfc: return std::erfc(a);
    case Op::Erfinv: return static_cast<C>(erfinv(a));
    case Op::Lgamma: return static_cast<C>(log_gamma(a));
    case Op::Digamma: return static_cast<C>(digamma(a));
    case Op::Sigmoid: return 1 / (1 + std::exp(-a));
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::FloorDiv: return float_floordiv(a, b);
    case Op::Mod: return float_mod(a, b);
    case Op::Rem: return std::fmod(a, b);
    case Op::Pow: return std::pow(a, b);
    case Op::Min: return float_min(a, b);
    case Op::Max: return float_max(a, b);
    case Op::Atan2: return std::atan2(a, b);
    case Op::Fma: return std::fma(a, b, c);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::IsNan: return std::isnan(a);
    case Op::IsInf: return std::isinf(a);
    case Op::IsFinite: return std::isfinite(a);
    case Op::Input:
    case Op::Constant:
    case Op::Iota:
    case Op::RandomBits:
    case Op::Not:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Shl:
    case Op::Shr:
    case Op::Select:
    case Op::Cast:
    case Op::CastSat:
    case Op::Bitcast:
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Transpose:
    case Op::Slice:
    case Op::Flip:
    case Op::Pad:
    case Op::Concat:
    case Op::Gather:
    case Op::Sum:
    case Op::Prod:
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::Any:
    case Op::All:
    case Op::ArgMax:
    case Op::ArgMin:
    case Op::CumSum:
    case Op::CumProd:
    case Op::CumMax:
    case Op::CumMin:
    case Op::LogCumSumExp:
    case Op::Extern:
    case Op::ExternResult:
    case Op::StopGradient:
    case Op::CustomGradient: break;
  }
  return 0;
}

/// Integer and bool operations on 64-bit extended values; the caller wraps the result to the type.
std::int64_t int_op(Op op, DType type, std::int64_t a, std::int64_t b);

}  // namespace fuse
