// Exponentials and hyperbolic functions in f64.
#include "codegen/math_f64.h"
#include "codegen/num_pair.h"

namespace fuse::math64 {

namespace {

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

/// (e^r - 1 - r - r^2 / 2) / r^3 for |r| <= ln(2) / 2.
Num cubic_tail(Num r) {
  return polynomial(
      r, {1 / 87178291200.0, 1 / 6227020800.0, 1 / 479001600.0, 1 / 39916800.0, 1 / 3628800.0,
          1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0, 1 / 120.0, 1 / 24.0, 1 / 6.0});
}

/// x = k ln 2 + r. The first product is exact.
struct Reduced {
  Num k;
  NumPair r;
};

Reduced reduce(Num x) {
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  Num k = round_even(x * kLog2E);
  return {k, fast_two_sum(fma(k, -kHigh, x), k * -kLow)};
}

/// e^r.
Num exp_small(NumPair r) {
  Num x = r.high;
  NumPair sum = fast_two_sum(x.number(1), x);
  Num tail = x * x * fma(x, cubic_tail(x), 0.5);
  return sum.high + (sum.low + fma(sum.high + tail, r.low, tail));
}

/// e^x * 2^power, in range where the product is.
Num exp_times(NumPair x, double power) {
  Reduced reduced = reduce(min_number(max_number(x.high, -746), 711));
  reduced.r.low = reduced.r.low + x.low;
  Num y = scale(exp_small(reduced.r), reduced.k + power);
  return select(x.high != x.high, x.high, y);
}

/// e^r - 1; the terms to r^2 are exact.
NumPair expm1_small(NumPair x) {
  Num r = x.high;
  NumPair square = two_product(r, r);
  NumPair sum = fast_two_sum(r, 0.5 * square.high);
  Num linear = fma(r, x.low, x.low) + 0.5 * square.low;
  return fast_two_sum(sum.high, fma(square.high * r, cubic_tail(r), sum.low + linear));
}

/// Where these functions are their arguments. A quarter would lose digits of subnormals.
Num or_tiny(Num x, Num y) { return select(abs(x) < 0x1p-54, x, y); }

/// A quarter of e^x - 1 = 2^k (e^r - 1) + (2^k - 1): in range where sinh is.
NumPair quarter_expm1(Num x) {
  Num inside = min_number(max_number(x, -50), 710.5);
  Reduced reduced = reduce(inside);
  NumPair p = expm1_small(reduced.r);
  Num power = power_of_two(reduced.k - 2);
  Num offset = power - 0.25, lost = (power - offset) - 0.25;
  NumPair sum = fast_two_sum(offset, power * p.high);
  return fast_two_sum(sum.high, sum.low + fma(power, p.low, lost));
}

}  // namespace

Num exp(Num x) { return exp_times({x, x.number(0)}, 0); }

Num exp(NumPair x) { return exp_times(x, 0); }

Num exp2(Num x) {
  Num inside = min_number(max_number(x, -1080), 1030);
  Num k = round_even(inside);
  NumPair r = times({inside - k, x.number(0)}, kLn2, kLn2Low);
  Num y = scale(exp_small(r), k);
  return select(x != x, x, y);
}

Num expm1(Num x) { return select(x != x, x, or_tiny(x, 4 * quarter_expm1(x).high)); }

/// With t = e^|x| - 1: (t + t / (t + 1)) / 2.
Num sinh(Num x) {
  Num quarter = quarter_expm1(abs(x)).high;
  Num y = copysign(2 * (quarter + quarter / fma(quarter, 4.0, 1.0)), x);
  return select(x != x, x, or_tiny(x, y));
}

Num cosh(Num x) {
  Num half = exp_times({abs(x), x.number(0)}, -1);
  return half + 0.25 / half;
}

/// With t = e^(2 |x|) - 1: t / (t + 2).
Num tanh(Num x) {
  NumPair quarter = quarter_expm1(2 * min_number(abs(x), 22));
  NumPair divisor = two_sum(quarter.high, x.number(0.5));
  Num y = divide(quarter, {divisor.high, divisor.low + quarter.low}).high;
  return select(x != x, x, or_tiny(x, copysign(y, x)));
}

Num sigmoid(Num x) {
  Num e = exp(-abs(x));
  return select(x < 0, e, 1) / (1 + e);
}

}  // namespace fuse::math64
