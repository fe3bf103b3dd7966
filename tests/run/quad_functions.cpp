#include "run/quad_functions.h"

#include "ir/float_bits.h"

#include <quadmath.h>
#include <cmath>
#include <limits>

namespace fuse {

namespace {

/// The recurrence up to 60, then the asymptotic series: terms B(2k) / (2k x^2k).
Quad digamma_positive(Quad x) {
  const double kNumerators[] = {1, -1, 1, -1, 1, -691, 1, -3617, 43867, -174611, 77683, -236364091};
  const double kDivisors[] = {12, 120, 252, 240, 132, 32760, 12, 8160, 14364, 6600, 276, 65520};
  Quad below = 0;
  for (; x < 60; x += 1) below += 1 / x;
  Quad square = 1 / (x * x), sum = 0;
  for (int i = 11; i >= 0; --i) sum = (sum + Quad(kNumerators[i]) / kDivisors[i]) * square;
  return logq(x) - 1 / (2 * x) - sum - below;
}

Quad digamma(Quad x) {
  if (isnanq(x) || x == -HUGE_VALQ) return nanq("");
  if (x == 0) return -1 / x;
  if (x == HUGE_VALQ) return x;
  if (x > 0) return digamma_positive(x);
  Quad fraction = x - rintq(x);
  if (fraction == 0) return nanq("");
  return digamma_positive(1 - x) - M_PIq / tanq(M_PIq * fraction);
}

/// Newton's iteration from libm's precision; 1 - x is exact for x of f64.
Quad erfinv(Quad signed_x) {
  Quad x = fabsq(signed_x);
  if (!(x <= 1)) return nanq("");
  if (x == 1) return copysignq(HUGE_VALQ, signed_x);
  if (x < 1e-12Q) return signed_x * sqrtq(M_PIq) / 2;
  double l = double(logq((1 - x) * (1 + x))), c = 2 / (M_PI * 0.147) + l / 2;
  Quad y = std::sqrt(std::sqrt(c * c - l / 0.147) - c);
  for (int i = 0; i < 8; ++i) {
    Quad residual = x < 0.5Q ? erfq(y) - x : (1 - x) - erfcq(y);
    y -= residual / (M_2_SQRTPIq * expq(-y * y));
  }
  return copysignq(y, signed_x);
}

}  // namespace

Quad quad_function(Op op, Quad x, Quad y) {
  if (op == Op::Rsqrt) return 1 / sqrtq(x);
  if (op == Op::Cbrt) return cbrtq(x);
  if (op == Op::Exp) return expq(x);
  if (op == Op::Exp2) return exp2q(x);
  if (op == Op::Expm1) return expm1q(x);
  if (op == Op::Log) return logq(x);
  if (op == Op::Log2) return log2q(x);
  if (op == Op::Log1p) return log1pq(x);
  if (op == Op::Sin) return sinq(x);
  if (op == Op::Cos) return cosq(x);
  if (op == Op::Tan) return tanq(x);
  if (op == Op::Asin) return asinq(x);
  if (op == Op::Acos) return acosq(x);
  if (op == Op::Atan) return atanq(x);
  if (op == Op::Sinh) return sinhq(x);
  if (op == Op::Cosh) return coshq(x);
  if (op == Op::Tanh) return tanhq(x);
  if (op == Op::Asinh) return asinhq(x);
  if (op == Op::Acosh) return acoshq(x);
  if (op == Op::Atanh) return atanhq(x);
  if (op == Op::Erf) return erfq(x);
  if (op == Op::Erfc) return erfcq(x);
  if (op == Op::Erfinv) return erfinv(x);
  if (op == Op::Lgamma) return lgammaq(x);
  if (op == Op::Digamma) return digamma(x);
  if (op == Op::Sigmoid) return 1 / (1 + expq(-x));
  if (op == Op::Pow) return powq(x, y);
  if (op == Op::Atan2) return atan2q(x, y);
  return nanq("");
}

double error_in_ulps(Op op, DType type, Quad x, Quad value, Quad actual) {
  if (isnanq(value) || isnanq(actual)) return isnanq(value) && isnanq(actual) ? 0 : HUGE_VAL;
  Quad largest = largest_finite(type), size = fabsq(value);
  bool same_sign = signbitq(value) == signbitq(actual);
  if (size > largest) return same_sign && fabsq(actual) >= largest ? 0 : HUGE_VAL;
  if (isinfq(actual)) return same_sign && size >= largest * (1 - 0x1p-20Q) ? 0 : HUGE_VAL;
  bool absolute = op == Op::Digamma || (op == Op::Lgamma && x < 0);
  if (absolute && size < 1) size = 1;
  int exponent = 0, digits = type == DType::F32 ? 24 : 53;
  frexpq(size, &exponent);
  Quad ulp = fmaxq(ldexpq(1, exponent - digits), decode_float(type, 1));
  return double(fabsq(value - actual) / ulp);
}

}  // namespace fuse
