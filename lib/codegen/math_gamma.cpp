// The logarithm of the gamma function and its derivative, in f64.
#include "codegen/control.h"
#include "codegen/math_f64.h"
#include "codegen/num_pair.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 0x1.921fb54442d18p1, kPiLow = 0x1.1a62633145c07p-53;

/// log(gamma(1 + t)) for t in [-0.3, 0.5], log(gamma(2 + t)) for |t| <= 0.5.
Num lgamma_near_one(Num t) {
  return t * polynomial(t, {0.010016839662016665, -0.03450550353611872,  0.054101916303225694,
                            -0.05574259156156904, 0.050941985147466236,  -0.0511433011614706,
                            0.05501756518274934,  -0.058927037431254686, 0.06257947456129383,
                            -0.06666927057470873, 0.07142696709351769,   -0.0769319649044932,
                            0.08335410821497227,  -0.09095405509713504,  0.10009945032324984,
                            -0.11133426461609001, 0.12550966963735205,   -0.14404989679065594,
                            0.16955717699645445,  -0.20738555102848874,  0.2705808084277883,
                            -0.40068563438653204, 0.8224670334241132,    -0.5772156649015329});
}

Num lgamma_near_two(Num t) {
  return t *
         polynomial(t, {6.379047507619774e-08,   -1.3412819758517287e-07, 2.0304806751615227e-07,
                        -4.303558760359961e-07,  9.578663334114758e-07,   -2.0449201467015115e-06,
                        4.374374916915131e-06,   -9.438458716242811e-06,  2.050726741605779e-05,
                        -4.4926351103833334e-05, 9.945750909889392e-05,   -0.00022315475074520367,
                        0.0005096695248853096,   -0.0011927539120010226,  0.002890510330738737,
                        -0.0073855510286681535,  0.02058080842778457,     -0.06735230105319814,
                        0.3224670334241132,      0.42278433509846713});
}

/// x in (0, 8): the recurrence leads to one of the two series.
Num lgamma_small(Num x) {
  Cond near_zero = x < 0.3, low = x < 0.5, below_one = x < 0.7, near_one = x < 1.5;
  Num y = select(low, x + 2, select(below_one, x + 1, x));
  Num divisor = select(low, x * (x + 1), select(below_one, x, 1));
  Num factor = x.number(1);
  for (int i = 0; i < 6; ++i) {
    Cond is_above = y > 2.5;
    y = select(is_above, y - 1, y);
    factor = select(is_above, factor * y, factor);
  }
  Num general = lgamma_near_two(y - 2) + log(factor / divisor);
  Num one = lgamma_near_one(x - 1);
  Num upper = select(below_one, general, select(near_one, one, general));
  return select(near_zero, lgamma_near_one(x) - log(x), upper);
}

/// Stirling's series, x >= 8.
Num lgamma_large(Num x) {
  Num u = 1 / (x * x);
  Num series = polynomial(u, {-3617 / 122400.0, 1 / 156.0, -691 / 360360.0, 1 / 1188.0, -1 / 1680.0,
                              1 / 1260.0, -1 / 360.0, 1 / 12.0});
  constexpr double kConstant = 0.9189385332046727 - 0.5;  // log(2 pi) / 2 - 1/2
  return (x - 0.5) * (log(x) - 1) + (kConstant + series / x);
}

Num lgamma_positive(Num x) { return select(x < 8, lgamma_small(x), lgamma_large(x)); }

/// x in (-40, -0.3): gamma(x) = gamma(y) / (x (x + 1) ... (y - 1)) with y in [1.5, 2.5]. The
/// factors are exact and so are the zeros kept, which reflection would cancel.
Num lgamma_by_recurrence(Num x) {
  Builder &b = x.builder();
  auto num = [&](llvm::Value *v) { return x.with(v); };
  Values end = emit_while(
      b, {x.value(), x.number(1).value(), x.number(0).value()},
      [&](const Values &v) { return (num(v[0]) < 1.5).value; },
      [&](const Values &v) -> Values {
        NumPair product = two_product(num(v[1]), num(v[0]));
        Num low = fma(num(v[2]), num(v[0]), product.low);
        return {(num(v[0]) + 1).value(), product.high.value(), low.value()};
      });
  Num product = num(end[1]);
  return lgamma_near_two(num(end[0]) - 2) - (log(abs(product)) + num(end[2]) / product);
}

/// Below -40 the zeros lie nearer to the poles than any number.
Num lgamma_negative(Num x) {
  Num a = -x, inside = select(x > -40, x, -40);
  Num reflected = log(kPi / abs(sin_pi(a))) - log(a) - lgamma_large(a);
  Num y = select(x > -40, lgamma_by_recurrence(inside), reflected);
  y = select(x > -0.3, lgamma_near_one(x) - log(a), y);
  return select(x == floor(x), kInfinity, y);
}

/// x in [1, 2]: a straight line through the zero times a polynomial.
Num digamma_unit(Num x) {
  constexpr double kZero = 0x1.762d86356be3fp+0, kZeroLow = 0x1.b86a722197829p-54;
  Num slope =
      polynomial(x - 1.5, {-0.00017312261802727394, 0.00025968482126430747, -0.00015148586836773365,
                           0.0002272331660987376,   -0.0004821990530566789, 0.0007233266279287554,
                           -0.0010376374098418604,  0.0015566317474486838,  -0.002345267632540769,
                           0.003519006401502276,    -0.005279964873257405,  0.007926944646403797,
                           -0.011908218001568644,   0.0179072524394512,     -0.02697579675613825,
                           0.04076083381242074,     -0.061922133273064534,  0.09498872445494122,
                           -0.14840492305390884,    0.2405424842407742,     -0.4236274212814605,
                           0.951055876031833});
  return ((x - kZero) - kZeroLow) * slope;
}

/// x in (0, 10): terms of one sign lead to [1, 2], but for one from below 1.
Num digamma_small(Num x) {
  Num y = select(x < 1, x + 1, x), above = select(x < 1, -1 / x, 0);
  for (int i = 0; i < 8; ++i) {
    Cond is_above = y > 2;
    y = select(is_above, y - 1, y);
    above = select(is_above, above + 1 / y, above);
  }
  return digamma_unit(y) + above;
}

/// x >= 10: log x and the asymptotic series.
NumPair digamma_large(Num x) {
  NumPair l = log_pair(x);
  Num inverse = 1 / x, u = inverse * inverse;
  Num series = polynomial(u, {-3617 / 8160.0, 1 / 12.0, -691 / 32760.0, 1 / 132.0, -1 / 240.0,
                              1 / 252.0, -1 / 120.0, 1 / 12.0});
  return {l.high, l.low - fma(u, series, 0.5 * inverse)};
}

NumPair digamma_positive(Num x) {
  return select(x < 10, NumPair{digamma_small(x), x.number(0)}, digamma_large(x));
}

/// digamma(1 - x) - pi cot(pi x), whose large terms cancel near its zeros.
Num digamma_reflected(Num x) {
  NumPair positive = digamma_positive(1 - x), cotangent = times(cot_pi(x), kPi, kPiLow);
  NumPair y = two_sum(positive.high, -cotangent.high);
  Num sum = y.high + (y.low + (positive.low - cotangent.low));
  return select(abs(x) < 0x1p-60, -1 / x, select(x == floor(x), kNaN, sum));
}

}  // namespace

Num lgamma(Num x) {
  Builder &b = x.builder();
  Values v = emit_branch(
      b, x > 0, [&] { return Values{lgamma_positive(x).value()}; },
      [&] { return Values{lgamma_negative(x).value()}; });
  Num y = select(abs(x) == kInfinity, kInfinity, x.with(v[0]));
  return select(x != x, x, y);
}

Num digamma(Num x) {
  Builder &b = x.builder();
  auto positive = [&] {
    NumPair y = digamma_positive(x);
    return Values{(y.high + y.low).value()};
  };
  auto negative = [&] { return Values{digamma_reflected(x).value()}; };
  Num y = x.with(emit_branch(b, x > 0, positive, negative)[0]);
  return select(x == kInfinity, kInfinity, y);
}

}  // namespace fuse::math64
