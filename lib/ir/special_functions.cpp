// erfinv by Halley's iteration on erf or erfc; digamma by reflection, recurrence and the asymptotic
// series, with a Taylor series about its positive zero, where the recurrence would cancel.
#include "ir/special_functions.h"

#include <cmath>
#include <limits>

namespace fuse {

namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double kDigammaZero = 1.4616321449683623412626595423257213L;
constexpr long double kDigammaZeroRest = -1.8257096315963484214601e-20L;

template <class C>
C digamma_near_zero(C distance) {
  constexpr long double kTaylor[] = {0.9676722454476211704274448L, -0.4427631689835921060928653L,
                                     0.2584997609556510106244014L, -0.1639427054424065275042513L,
                                     0.1078240506912623657571829L, -0.07219956125645471092612178L,
                                     0.04880428816414310722509253L};
  C sum = 0;
  for (int i = 6; i >= 0; --i) sum = sum * distance + C(kTaylor[i]);
  return sum * distance;
}

/// x > 0. The series has terms B(2k) / (2k x^2k).
template <class C>
C digamma_positive(C x) {
  constexpr long double kSeries[] = {1 / 12.0L,  -1 / 120.0L,     1 / 252.0L, -1 / 240.0L,
                                     1 / 132.0L, -691 / 32760.0L, 1 / 12.0L,  -3617 / 8160.0L};
  C below = 0;
  for (; x < 25; x += 1) below += 1 / x;
  C square = 1 / (x * x), sum = 0;
  for (int i = 7; i >= 0; --i) sum = (sum + C(kSeries[i])) * square;
  return std::log(x) - 1 / (2 * x) - sum - below;
}

template <class C>
C digamma_of(C x) {
  constexpr C kNan = std::numeric_limits<C>::quiet_NaN();
  if (x == 0) return -1 / x;
  if (std::isnan(x) || (std::isinf(x) && x < 0)) return kNan;
  if (std::isinf(x)) return x;
  if (x < 0) {
    C fraction = x - std::nearbyint(x);
    if (fraction == 0) return kNan;
    return digamma_positive(1 - x) - C(kPi) / std::tan(C(kPi) * fraction);
  }
  C zero = C(kDigammaZero);
  C distance = (x - zero) - C((kDigammaZero - zero) + kDigammaZeroRest);
  return std::fabs(distance) < C(0.004) ? digamma_near_zero(distance) : digamma_positive(x);
}

/// A start with three digits; three steps of third order reach the precision of long double.
template <class C>
C erfinv_estimate(C x) {
  if (x < C(0.1)) return C(0.886226925452758L) * x * (1 + C(0.2617993877991494L) * x * x);
  C a = C(0.147L), w = std::log((1 - x) * (1 + x)), t = 2 / (C(kPi) * a) + w / 2;
  return std::sqrt(std::sqrt(t * t - w / a) - t);
}

template <class C>
C erfinv_of(C signed_x) {
  C x = std::fabs(signed_x);
  if (x == 0) return signed_x;
  if (x > 1 || std::isnan(x)) return std::numeric_limits<C>::quiet_NaN();
  if (x == 1) return std::copysign(std::numeric_limits<C>::infinity(), signed_x);
  C y = erfinv_estimate(x);
  for (int i = 0; i < 3; ++i) {
    C residual = x < C(0.5) ? std::erf(y) - x : (1 - x) - std::erfc(y);
    C slope = C(1.128379167095512573896158903121545172L) * std::exp(-y * y);
    C step = residual / slope;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, signed_x);
}

}  // namespace

double digamma(double x) { return digamma_of(x); }
long double digamma(long double x) { return digamma_of(x); }

double erfinv(double x) { return erfinv_of(x); }
long double erfinv(long double x) { return erfinv_of(x); }

double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

long double log_gamma(long double x) {
  int sign;
  return ::lgammal_r(x, &sign);
}

}  // namespace fuse
