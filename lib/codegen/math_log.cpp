// Logarithms, inverse hyperbolic functions and powers in f64.
#include "codegen/math_f64.h"
#include "codegen/num_pair.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634, kLog2ELow = 0x1.777d0ffda0d24p-56;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// ln 2 in parts whose products with an exponent are exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;

/// (2 atanh(s) / s - 2 - 2 z / 3) / z^2 for z = s^2 <= 0.0295.
Num log_tail(Num z) {
  return polynomial(z, {2 / 23.0, 2 / 21.0, 2 / 19.0, 2 / 17.0, 2 / 15.0, 2 / 13.0, 2 / 11.0,
                        2 / 9.0, 2 / 7.0, 2 / 5.0});
}

/// k ln 2 + log(1 + f) + low.
Num log_sum(Num k, Num f, Num low) {
  Num s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  Num rest = fma(s, fma(z, fma(z, log_tail(z), 2 / 3.0), half), low);
  return fma(k, kLn2High, f - (half - rest));
}

/// log(1 + f) = 2 atanh(s) within 2^-63: its first two terms are pairs.
NumPair log_of_one_and(Num f) {
  constexpr double kThirds = 2 / 3.0, kThirdsLow = 0x1.5555555555555p-55;
  NumPair s = divide({f, f.number(0)}, fast_two_sum(f.number(2), f));
  NumPair z = two_product(s.high, s.high);
  NumPair factor = times({z.high, fma(2 * s.high, s.low, z.low)}, kThirds, kThirdsLow);
  NumPair cubic = two_product(s.high, factor.high);
  Num rest = fma(s.high, factor.low, fma(s.low, factor.high, cubic.low));
  rest = fma(s.high * z.high, z.high * log_tail(z.high), rest);
  NumPair sum = fast_two_sum(2 * s.high, cubic.high);
  return fast_two_sum(sum.high, sum.low + fma(s.low, 2.0, rest));
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

/// |x|^y for a finite x other than 0.
Num power_of_size(Num a, Num y) {
  NumPair l = log_pair(a);
  Num t = y * l.high, rest = fma(y, l.high, -t) + y * l.low;
  return exp(NumPair{t, select(abs(t) < 800, rest, 0)});
}

}  // namespace

NumPair log_pair(Num x) {
  Decomposed d = decompose(x);
  NumPair l = log_of_one_and(d.m - 1);
  NumPair sum = fast_two_sum(d.k * kLn2High, l.high);
  return fast_two_sum(sum.high, sum.low + fma(d.k, kLn2Rest, l.low));
}

Num log(Num x) {
  Decomposed d = decompose(x);
  return with_log_domain(x, log_sum(d.k, d.m - 1, d.k * kLn2Rest));
}

Num log2(Num x) {
  Decomposed d = decompose(x);
  NumPair l = times(log_of_one_and(d.m - 1), kLog2E, kLog2ELow);
  NumPair sum = fast_two_sum(d.k, l.high);
  return with_log_domain(x, sum.high + (sum.low + l.low));
}

/// u = 1 + x loses what is added again in proportion to u.
Num log1p(Num x) {
  Num u = 1 + x;
  Num lost = select(abs(x) < 1, x - (u - 1), 1 - (u - x));
  Decomposed d = decompose(u);
  return with_log_domain(u, log_sum(d.k, d.m - 1, fma(d.k, kLn2Rest, lost / u)));
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

/// The sign and the special values by C's rules.
Num pow(Num x, Num y) {
  Num a = abs(x);
  Num finite = power_of_size(a, y);
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

}  // namespace fuse::math64
