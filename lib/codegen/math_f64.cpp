// The inexact functions in f64: exponentials, logarithms and what follows from them.
//
// Polynomials are Taylor series where the reduced range is short, else Chebyshev fits. Errors stay
// within a few units in the last place of f64, so results rounded to f32 are nearly always exact.
#include "codegen/math_f64.h"

#include "codegen/math_functions.h"
#include "ir/format.h"
#include "ir/op.h"

#include <limits>

namespace fuse {

namespace math64 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634, kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;

/// 2^k for an integral k in [-1022, 1023].
Num power_of_two(Num k) {
  Builder &b = k.builder();
  llvm::Value *i = b.CreateFPToSI(k.value(), b.getInt64Ty());
  return k.with(b.CreateBitCast(b.CreateShl(b.CreateAdd(i, b.getInt64(1023)), 52), k.type()));
}

/// x * 2^k with one rounding at most, for k in [-2000, 2000].
Num scale(Num x, Num k) {
  Num half = floor(k * 0.5);
  return x * power_of_two(half) * power_of_two(k - half);
}

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
Num exp_tail(Num r) {
  return polynomial(
      r, {1 / 87178291200.0, 1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
          1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0, 1 / 6.0, 0.5});
}

Num remainder_of_exp(Num x, Num k) { return fma(k, -kLn2Low, fma(k, -kLn2, x)); }

/// 2 atanh(s) / s - 2 over s^2, for s^2 <= 0.0295.
Num log_tail(Num z) {
  return polynomial(z, {2 / 23.0, 2 / 21.0, 2 / 19.0, 2 / 17.0, 2 / 15.0, 2 / 13.0, 2 / 11.0,
                        2 / 9.0, 2 / 7.0, 2 / 5.0, 2 / 3.0});
}

/// k ln 2 + log(1 + f).
Num log_sum(Num k, Num f) {
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  Num s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  Num low = fma(k, kLow, s * (half + z * log_tail(z)));
  return fma(k, kHigh, f - (half - low));
}

/// x = m * 2^k with m in [sqrt(1/2), sqrt(2)); x is positive and finite.
struct Decomposed {
  Num m, k;
};

Decomposed decompose(Num x) {
  Builder &b = x.builder();
  Cond is_tiny = x < 0x1p-1022;
  Num scaled = select(is_tiny, x * 0x1p54, x);
  llvm::Value *bits = b.CreateBitCast(scaled.value(), b.getInt64Ty());
  llvm::Value *above = b.CreateSub(bits, b.getInt64(0x3fe6a09e667f3bcd));
  llvm::Value *k = b.CreateAShr(above, 52);
  Num m = x.with(b.CreateBitCast(b.CreateSub(bits, b.CreateShl(k, 52)), x.type()));
  Num exponent = x.with(b.CreateSIToFP(k, x.type()));
  return {m, select(is_tiny, exponent - 54, exponent)};
}

/// Gives log-like functions their values at 0, inf and where they are not defined.
Num with_log_domain(Num x, Num y) {
  y = select(x == kInfinity, kInfinity, y);
  y = select(x == 0, -kInfinity, y);
  y = select(x < 0, kNaN, y);
  return select(x != x, x, y);
}

}  // namespace

Num exp(Num x) {
  Num inside = min_number(max_number(x, -746), 710);
  Num k = round_even(inside * kLog2E);
  Num r = remainder_of_exp(inside, k);
  Num y = scale(1 + fma(r * r, exp_tail(r), r), k);
  return select(x != x, x, y);
}

Num exp2(Num x) {
  Num inside = min_number(max_number(x, -1080), 1030);
  Num k = round_even(inside);
  Num r = (inside - k) * kLn2;
  Num y = scale(1 + fma(r * r, exp_tail(r), r), k);
  return select(x != x, x, y);
}

Num expm1(Num x) {
  Num inside = min_number(max_number(x, -50), 710);
  Num k = round_even(inside * kLog2E);
  Num r = remainder_of_exp(inside, k);
  Num p = fma(r * r, exp_tail(r), r);
  Num half = power_of_two(k - 1);
  Num y = select(k == 0, p, 2 * fma(p, half, half - 0.5));
  return select(x != x, x, y);
}

Num log(Num x) {
  Decomposed d = decompose(x);
  return with_log_domain(x, log_sum(d.k, d.m - 1));
}

Num log2(Num x) {
  Decomposed d = decompose(x);
  Num l = log_sum(d.k.number(0), d.m - 1);
  constexpr double kLow = 2.0355273740931033e-17;
  return with_log_domain(x, fma(l, kLog2E, fma(l, kLow, d.k)));
}

Num log1p(Num x) {
  Num u = 1 + x;
  Num lost = select(abs(x) < 1, x - (u - 1), 1 - (u - x));
  Num far = log(u) + select(u < kInfinity, lost / u, 0);
  far = select(u == 0, -kInfinity, far);
  return select(abs(x) < 0.28, log_sum(x.number(0), x), far);
}

Num sinh(Num x) {
  Num a = abs(x), t = expm1(a), e = exp(a * 0.5);
  Num y = select(a < 700, 0.5 * (t + t / (t + 1)), (0.5 * e) * e);
  return copysign(y, x);
}

Num cosh(Num x) {
  Num a = abs(x), e = exp(a), h = exp(a * 0.5);
  return select(a < 700, 0.5 * e + 0.5 / e, (0.5 * h) * h);
}

Num tanh(Num x) {
  Num a = abs(x), t = expm1(2 * min_number(a, 22));
  Num y = copysign(t / (t + 2), x);
  return select(x != x, x, y);
}

Num asinh(Num x) {
  Num a = abs(x), square = a * a;
  Num y = select(a < 0x1p28, log1p(a + square / (1 + sqrt(square + 1))), log(a) + kLn2);
  return copysign(y, x);
}

Num acosh(Num x) {
  Num t = x - 1;
  Num y = select(x < 0x1p28, log1p(t + sqrt(t * (t + 2))), log(x) + kLn2);
  return select(x < 1, kNaN, y);
}

Num atanh(Num x) {
  Num a = abs(x);
  return copysign(0.5 * log1p((a + a) / (1 - a)), x);
}

Num sigmoid(Num x) {
  Num e = exp(-abs(x));
  return select(x < 0, e, 1) / (1 + e);
}

/// Halley's iteration from the exponent divided by 3.
Num cbrt(Num x) {
  Builder &b = x.builder();
  Num a = abs(x);
  Cond is_tiny = a < 0x1p-1022;
  Cond is_huge = a > 0x1p1000;
  a = select(is_tiny, a * 0x1p54, select(is_huge, a * 0x1p-54, a));
  llvm::Value *bits = b.CreateBitCast(a.value(), b.getInt64Ty());
  llvm::Value *third =
      b.CreateAdd(b.CreateUDiv(bits, b.getInt64(3)), b.getInt64(0x2a9f7893782da1ce));
  Num y = x.with(b.CreateBitCast(third, x.type()));
  for (int i = 0; i < 4; ++i) {
    Num cube = y * y * y;
    y = y - y * ((cube - a) / (cube + cube + a));
  }
  y = copysign(select(is_tiny, y * 0x1p-18, select(is_huge, y * 0x1p18, y)), x);
  Cond plain = abs(x) < kInfinity;
  return select(x == 0, x, select(plain, y, x));
}

/// log|x| in two parts, then e^(y log|x|); the sign and the special values by C's rules.
Num pow(Num x, Num y) {
  Num a = abs(x);
  Decomposed d = decompose(a);
  Num f = d.m - 1, u = 2 + f, s = f / u;
  Num s_low = (fma(-s, u, f) - s * (f - (u - 2))) / u;
  Num z = s * s, tail = fma(s * z, log_tail(z), 2 * s_low);
  Num high = d.k * kLn2;
  Num high_low = fma(d.k, kLn2, -high) + d.k * kLn2Low;
  Num sum = high + 2 * s;
  Num sum_low = select(abs(high) < abs(2 * s), high - (sum - 2 * s), 2 * s - (sum - high));
  Num rest = sum_low + (high_low + tail);
  Num total = sum + rest, low = rest - (total - sum);
  Num t = y * total, t_low = fma(y, total, -t) + y * low;
  Num finite = exp(t) * (1 + select(abs(t) < 800, t_low, 0));
  Num grows = select(a < 1, -y, y);
  Num extreme = select(grows > 0, kInfinity, y.number(0));
  Num power = select(a == 0, extreme, select(a == kInfinity, extreme, finite));
  power = select(abs(y) == kInfinity, select(a == 1, 1, extreme), power);
  Num whole = floor(y);
  Cond is_whole = y == whole;
  Num half = y * 0.5;
  Cond is_odd = {x.builder().CreateAnd(is_whole.value, (floor(half) != half).value)};
  Num negative = select(is_odd, -power, select(is_whole, power, kNaN));
  negative = select(a == kInfinity, select(is_odd, -power, power), negative);
  Num signed_power = select(copysign(x.number(1), x) < 0, negative, power);
  signed_power = select(x == 0, select(is_odd, copysign(power, x), power), signed_power);
  Num result = select(x != x, x, select(y != y, y, signed_power));
  return select(x == 1, 1, select(y == 0, 1, result));
}

}  // namespace math64

Num math_f64(Op op, const std::vector<Num> &x) {
  switch (op) {
    case Op::Rsqrt: return 1 / sqrt(x[0]);
    case Op::Cbrt: return math64::cbrt(x[0]);
    case Op::Exp: return math64::exp(x[0]);
    case Op::Exp2: return math64::exp2(x[0]);
    case Op::Expm1: return math64::expm1(x[0]);
    case Op::Log: return math64::log(x[0]);
    case Op::Log2: return math64::log2(x[0]);
    case Op::Log1p: return math64::log1p(x[0]);
    case Op::Sin: return math64::sin(x[0]);
    case Op::Cos: return math64::cos(x[0]);
    case Op::Tan: return math64::tan(x[0]);
    case Op::Asin: return math64::asin(x[0]);
    case Op::Acos: return math64::acos(x[0]);
    case Op::Atan: return math64::atan(x[0]);
    case Op::Sinh: return math64::sinh(x[0]);
    case Op::Cosh: return math64::cosh(x[0]);
    case Op::Tanh: return math64::tanh(x[0]);
    case Op::Asinh: return math64::asinh(x[0]);
    case Op::Acosh: return math64::acosh(x[0]);
    case Op::Atanh: return math64::atanh(x[0]);
    case Op::Erf: return math64::erf(x[0]);
    case Op::Erfc: return math64::erfc(x[0]);
    case Op::Erfinv: return math64::erfinv(x[0]);
    case Op::Lgamma: return math64::lgamma(x[0]);
    case Op::Digamma: return math64::digamma(x[0]);
    case Op::Sigmoid: return math64::sigmoid(x[0]);
    case Op::Pow: return math64::pow(x[0], x[1]);
    case Op::Atan2: return math64::atan2(x[0], x[1]);
    case Op::Input:
    case Op::Constant:
    case Op::Iota:
    case Op::Neg:
    case Op::Abs:
    case Op::Sign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
    case Op::Sqrt:
    case Op::Not:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem:
    case Op::Min:
    case Op::Max:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Shl:
    case Op::Shr:
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite:
    case Op::Fma:
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
    case Op::Extern:
    case Op::ExternResult: break;
  }
  fail(ErrorCode::Internal, "{} is not an inexact function", info(op).text);
}

}  // namespace fuse
