// The error function, its inverse, and the gamma function's logarithm and its derivative, in f64.
#include "codegen/math_f64.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.141592653589793;

/// erf for |x| <= 1.
Num erf_small(Num x) {
  return x *
         polynomial(x * x, {-4.230945824295338e-12, 8.709045129053106e-11, -1.216456005728345e-09,
                            1.4792401209404813e-08, -1.6364642158167616e-07, 1.6462045441468418e-06,
                            -1.4925647567519332e-05, 0.00012055332902888736, -0.000854832702193483,
                            0.0052239776254232985, -0.02686617064512984, 0.1128379167095512,
                            -0.37612638903183754, 1.1283791670955126});
}

/// erfc for x in [1, 28]: e^(-x^2) times a slowly varying factor, fitted on three intervals.
Num erfc_large(Num x) {
  Num near =
      polynomial(x - 1.75, {-1.2122502617537188e-09, 4.843675986860995e-09, -1.589789230506663e-08,
                            6.045191233829322e-08, -2.278695540562056e-07, 8.275753489404636e-07,
                            -2.9279023630255475e-06, 1.0086535231948864e-05, -3.375536224123748e-05,
                            0.00010950531744961819, -0.00034353335270409817, 0.0010392045192651948,
                            -0.0030209746514672014, 0.008404319207503399, -0.02225999524138744,
                            0.055763630087083585, -0.13097634551448523, 0.2849722347374364});
  Num middle =
      polynomial(1 / x - 0.3, {6.9312214434639285, -5.499212286333226, 1.8314503410458949,
                               0.5676883634618927, -1.2506730168316564, 0.8546952911360086,
                               -0.17932057302099202, -0.26586031635437757, 0.34126539413929813,
                               -0.1584558196403043, -0.08154446619052468, 0.20807244586689266,
                               -0.13558385929632288, -0.134601014177032, 0.5416332030996615});
  Num far = polynomial(
      1 / (x * x), {53032.09057955133, -18640.330391512874, 3605.6178557144535, -569.0454027393695,
                    91.07397143416797, -16.653175907704956, 3.702418490169509, -1.0578550235585338,
                    0.4231421861433607, -0.2820947917712854, 0.5641895835477546});
  Num square = x * x, rest = fma(x, x, -square);
  Num factor = select(x < 2.5, near, select(x < 5, middle, far) / x);
  return exp(-square) * (1 - rest) * factor;
}

/// log(gamma(1 + t)) for |t| <= 0.3, log(gamma(2 + t)) for |t| <= 0.5.
Num lgamma_near_one(Num t) {
  return t * polynomial(t, {0.07633709188806316,  -0.08019441175447228, 0.05011243437737915,
                            -0.05312897280751772, 0.0630995651453415,   -0.06729490499300494,
                            0.07139378733392125,  -0.07689155601321464, 0.08335541330907491,
                            -0.09095566217499068, 0.1000994192400071,   -0.11133422583960341,
                            0.12550967005800104,  -0.14404989732657422, 0.16955717699364384,
                            -0.20738555102473696, 0.27058080842779486,  -0.4006856343865422,
                            0.8224670334241132,   -0.5772156649015329});
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
  Cond near_zero = x < 0.3, low = x < 0.5, below_one = x < 0.7, near_one = x < 1.3;
  Num y = select(low, x + 2, select(below_one, x + 1, select(x < 1.5, x + 1, x)));
  Num divisor = select(low, x * (x + 1), select(x < 1.5, x, 1));
  Num factor = x.number(1);
  for (int i = 0; i < 6; ++i) {
    Cond is_above = y > 2.5;
    y = select(is_above, y - 1, y);
    factor = select(is_above, factor * y, factor);
  }
  Num general = lgamma_near_two(y - 2) + log(factor / divisor);
  Num tiny = lgamma_near_one(x) - log(x);
  Num one = lgamma_near_one(x - 1);
  Num upper = select(below_one, general, select(near_one, one, general));
  return select(near_zero, tiny, upper);
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

/// About the positive zero, where the recurrence would cancel.
Num digamma_near_zero(Num x) {
  constexpr double kZero = 0x1.762d86356be3fp+0, kZeroLow = 0x1.b86a722197829p-54;
  Num t = (x - kZero) - kZeroLow;
  return t * polynomial(t, {0.0012233433006454324, -0.0017881731629368614, 0.002288935746653952,
                            -0.0033461365316861395, 0.004927732045782053, -0.007205923913340662,
                            0.010538759984258197, -0.015424719669211927, 0.022597648827772654,
                            -0.0331611273453454, 0.04880428815820619, -0.07219956124777696,
                            0.1078240506912889, -0.16394270544244532, 0.25849976095565097,
                            -0.4427631689835921, 0.9676722454476212});
}

/// The recurrence up to 10, then the asymptotic series.
Num digamma_positive(Num x) {
  Num near = digamma_near_zero(x);
  Cond is_near = abs(x - 1.4616321449683622) < 0.25;
  Num below = x.number(0);
  for (int i = 0; i < 10; ++i) {
    Cond is_below = x < 10;
    below = select(is_below, below + 1 / x, below);
    x = select(is_below, x + 1, x);
  }
  Num u = 1 / (x * x);
  Num series = u * polynomial(u, {-3617 / 8160.0, 1 / 12.0, -691 / 32760.0, 1 / 132.0, -1 / 240.0,
                                  1 / 252.0, -1 / 120.0, 1 / 12.0});
  return select(is_near, near, log(x) - 0.5 / x - series - below);
}

}  // namespace

Num erf(Num x) {
  Num a = abs(x), inside = min_number(a, 28);
  Num y = select(a <= 1, erf_small(inside), 1 - erfc_large(max_number(inside, 1)));
  return select(x != x, x, copysign(y, x));
}

Num erfc(Num x) {
  Num tail = erfc_large(min_number(max_number(abs(x), 1), 28));
  Num y = select(abs(x) < 1, 1 - erf_small(x), select(x < 0, 2 - tail, tail));
  return select(x != x, x, y);
}

/// Halley's iteration on erf, or erfc where that keeps the digits, from a closed form.
Num erfinv(Num x) {
  constexpr double kShape = 0.147, kSlope = 1.1283791670955126;  // 2 / sqrt(pi)
  Num a = abs(x), upper = 1 - a;
  Num l = log(upper * (1 + a));
  Num c = 2 / (kPi * kShape) + 0.5 * l;
  Num y = sqrt(sqrt(c * c - l * (1 / kShape)) - c);
  for (int i = 0; i < 3; ++i) {
    Num error = select(a < 0.5, erf(y) - a, upper - erfc(y));
    Num step = error / (kSlope * exp(-(y * y)));
    y = y - step / (1 + y * step);
  }
  y = select(a < 1e-8, a * (1 / kSlope), y);
  y = select(a == 1, kInfinity, select(a > 1, kNaN, y));
  return select(x != x, x, copysign(y, x));
}

Num lgamma(Num x) {
  Num a = abs(x);
  Num positive = lgamma_positive(a);
  Num reflected = log(kPi / abs(sin_pi(a))) - log(a) - positive;
  Num y = select(x < 0, reflected, positive);
  y = select(x == floor(x), select(x <= 0, kInfinity, y), y);
  y = select(a == kInfinity, kInfinity, y);
  return select(x != x, x, y);
}

Num digamma(Num x) {
  Num a = select(x <= 0, 1 - x, x);
  Num positive = digamma_positive(a);
  Num y = select(x <= 0, positive - kPi * cot_pi(x).high, positive);
  y = select(x <= 0, select(x == floor(x), kNaN, y), y);
  y = select(x == 0, -copysign(x.number(kInfinity), x), y);
  return select(x == kInfinity, kInfinity, y);
}

}  // namespace fuse::math64
