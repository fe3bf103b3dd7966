// Inverse trigonometric functions in f64.
#include "codegen/math_f64.h"
#include "codegen/num_pair.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLow = 0x1.1a62633145c07p-54;

/// (atan(t) - t) / t over t^2 <= 0.1915.
Num atan_tail(Num z) {
  return z * polynomial(z, {0.01476642155379467, -0.033121323310643644, 0.044919637149159995,
                            -0.05216607416783708, 0.0587693549653035, -0.06666240859375808,
                            0.0769228548876496, -0.09090908353049669, 0.11111111096587765,
                            -0.1428571428556615, 0.19999999999999407, -0.3333333333333333});
}

/// atan(y / x) as a large term and the rest, for y, x >= 0 with a larger one in [2^-900, 2^1000]:
/// a multiple of pi/4 plus the arc tangent of at most tan(pi/8).
NumPair atan_of_ratio(Num y, Num x) {
  constexpr double kTanEighth = 0.41421356237309503;
  Cond is_low = y <= kTanEighth * x, is_high = x < kTanEighth * y;
  NumPair zero = {x.number(0), x.number(0)};
  NumPair middle = two_sum(y, -x), sum = two_sum(y, x);
  NumPair above =
      select(is_low, NumPair{y, zero.low}, select(is_high, NumPair{-x, zero.low}, middle));
  NumPair below = select(is_low, NumPair{x, zero.low}, select(is_high, NumPair{y, zero.low}, sum));
  NumPair u = divide(above, below);
  NumPair base = {select(is_low, 0, select(is_high, kHalfPi, x.number(0.5 * kHalfPi))),
                  select(is_low, 0, select(is_high, kHalfPiLow, x.number(0.5 * kHalfPiLow)))};
  NumPair angle = fast_two_sum(base.high, u.high);
  Num rest = fma(u.high, atan_tail(u.high * u.high), u.low + base.low);
  return fast_two_sum(angle.high, angle.low + rest);
}

/// asin(s) - s for s^2 = z <= 0.25.
Num asin_rest(Num s, Num z) {
  Num tail = polynomial(
      z, {0.02877844261259304, -0.014881409392818066, 0.017419357964884856, 0.00545087818772055,
          0.010324318288744113, 0.011478952690257387, 0.013971235301124539, 0.017352391265909227,
          0.022372173002005596, 0.030381944137085216, 0.04464285714637338, 0.07499999999998425,
          0.16666666666666669});
  return s * z * tail;
}

}  // namespace

Num asin(Num x) {
  Num a = abs(x);
  Cond is_large = a > 0.5;
  Num z = select(is_large, (1 - a) * 0.5, a * a);
  Num s = select(is_large, sqrt(z), a), rest = asin_rest(s, z);
  NumPair upper = fast_two_sum(x.number(kHalfPi), -2 * s);
  Num large = upper.high + (upper.low - (2 * rest - kHalfPiLow));
  return copysign(select(is_large, large, s + rest), x);
}

Num acos(Num x) {
  Num a = abs(x), z = (1 - a) * 0.5, s = sqrt(z);
  Num upper = 2 * (s + asin_rest(s, z));
  Num lower = 2 * kHalfPi - (upper - 2 * kHalfPiLow);
  Num middle = kHalfPi - (x + (asin_rest(x, x * x) - kHalfPiLow));
  return select(a <= 0.5, middle, select(x < 0, lower, upper));
}

/// Beyond 2^60 it is a quarter turn.
Num atan(Num x) {
  Num y = copysign(atan_of_ratio(min_number(abs(x), 0x1p60), x.number(1)).high, x);
  return select(x != x, x, y);
}

/// Infinities are taken as 1 beside 0; others are scaled into the range of the ratio.
Num atan2(Num y, Num x) {
  Num a = abs(y), c = abs(x);
  Num larger = select(a < c, c, a);
  Num scale = select(larger > 0x1p1000, 0x1p-100, select(larger < 0x1p-800, 0x1p200, x.number(1)));
  Num infinite = select(larger == kInfinity, 0, scale);
  Num n = select(a == kInfinity, 1, a * infinite), d = select(c == kInfinity, 1, c * infinite);
  NumPair r = atan_of_ratio(n, select(larger == 0, 1, d));
  NumPair back = fast_two_sum(x.number(2 * kHalfPi), -r.high);
  Num left = back.high + (back.low + (2 * kHalfPiLow - r.low));
  Num angle = copysign(select(copysign(x.number(1), x) < 0, left, r.high), y);
  return select(x != x, x, select(y != y, y, angle));
}

}  // namespace fuse::math64
