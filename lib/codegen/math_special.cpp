// The error function, its complement and its inverse, in f64.
#include "codegen/math_f64.h"
#include "codegen/num_pair.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSlope = 0x1.20dd750429b6dp0, kSlopeLow = 0x1.1ae3a914fed80p-56;  // 2 / sqrt(pi)

/// erf for |x| <= 1: the linear term and the rest.
NumPair erf_small(Num x) {
  Num z = x * x;
  Num tail = polynomial(
      z, {-4.374621450325064e-12, 8.800680090460203e-11, -1.219035624032117e-09,
          1.4796618901290416e-08, -1.6365085592632062e-07, 1.6462076794793434e-06,
          -1.4925649082364785e-05, 0.0001205533295270044, -0.0008548327023024696,
          0.005223977625438469, -0.026866170645131082, 0.11283791670955125, -0.37612638903183754});
  NumPair linear = two_product(x, x.number(kSlope));
  return fast_two_sum(linear.high, fma(x, fma(z, tail, kSlopeLow), linear.low));
}

/// erfc for x in [0.5, 28]: e^(-x^2) times a slowly varying factor, fitted on three intervals.
Num erfc_large(Num x) {
  Num near =
      polynomial(x - 1.5, {4.089897411779722e-12,   -1.734053928766956e-11, 4.8778006804111125e-11,
                           -1.9648646045553093e-10, 8.348299788481909e-10,  -3.251584211636436e-09,
                           1.2320891414760783e-08,  -4.595084529057363e-08, 1.675518801711717e-07,
                           -5.960923218763459e-07,  2.066969922878226e-06,  -6.974987783040836e-06,
                           2.2864312427826564e-05,  -7.265892314129167e-05, 0.00022330994432059154,
                           -0.0006619300662692695,  0.0018861348770324421,  -0.00514595754799691,
                           0.013377340953066615,    -0.032930905299562184,  0.0761510398554774,
                           -0.16362291773256007,    0.3215854164543175});
  Num middle =
      polynomial(1 / x - 0.3, {6.932549735063257, -5.499157308765412, 1.8314104819622157,
                               0.5676866907581516, -1.2506725600566784, 0.8546953106160509,
                               -0.17932057551235667, -0.26586031646266767, 0.341265394145836,
                               -0.15845581964001357, -0.08154446619053193, 0.20807244586689233,
                               -0.13558385929632288, -0.134601014177032, 0.5416332030996615});
  Num far = polynomial(
      1 / (x * x), {3438037.514087318, -1252718.1963617918, 237240.63685527167, -33542.73137991154,
                    4352.467618402735, -593.5149853241949, 91.60920419075981, -16.660980863003374,
                    3.702492752634896, -1.0578554643813989, 0.42314218765225087,
                    -0.2820947917738721, 0.5641895835477563});
  NumPair square = two_product(x, x);
  Num factor = select(x < 2.5, near, select(x < 5, middle, far) / x);
  return exp(NumPair{-square.high, -square.low}) * factor;
}

/// erfinv within 2^-22, for a in [0, 1).
Num erfinv_estimate(Num a) {
  Num w = -log((1 - a) * (1 + a)), s = sqrt(w);
  Num center = polynomial(w, {2.2605977741170975e-08, -1.098948458299626e-07, -5.48766581695036e-06,
                              7.257810853178963e-05, -0.0001761591830400175, -0.0022867828511138845,
                              0.011525431199929647, 0.2320181828567194, 0.8862267858628946});
  Num tail = polynomial(
      s - 4, {5.239363471176206e-07, -1.415496908380879e-06, -4.436744423777415e-06,
              2.7277909466976558e-05, -8.657827732604066e-05, 0.0002883411787350895,
              -0.000851385846299902, 0.001256434053182528, 1.0094942232196116, 3.8397833958481202});
  return select(w < 5, a * center, tail);
}

}  // namespace

Num erf(Num x) {
  Num a = abs(x), inside = min_number(a, 28);
  Num y = select(a <= 1, erf_small(inside).high, 1 - erfc_large(max_number(inside, 1)));
  return select(x != x, x, copysign(y, x));
}

Num erfc(Num x) {
  NumPair small = erf_small(x);
  Num tail = erfc_large(min_number(max_number(abs(x), 0.5), 28));
  Num y = select(abs(x) < 0.5, (1 - small.high) - small.low, select(x < 0, 2 - tail, tail));
  return select(x != x, x, y);
}

/// One step of Halley's iteration, on erf, or on erfc where that keeps the digits.
Num erfinv(Num x) {
  Num a = abs(x), y = erfinv_estimate(a);
  NumPair small = erf_small(y);
  Num error =
      select(y < 0.8, (small.high - a) + small.low, (1 - a) - erfc_large(max_number(y, 0.5)));
  Num step = error / (kSlope * exp(-(y * y)));
  y = y - step / fma(y, step, 1.0);
  y = select(a < 1e-8, a * (1 / kSlope), y);
  y = select(a == 1, kInfinity, select(a > 1, kNaN, y));
  return select(x != x, x, copysign(y, x));
}

}  // namespace fuse::math64
