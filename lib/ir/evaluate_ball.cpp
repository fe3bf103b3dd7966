// How errors pass through float operations: bounds over the whole interval of each operand, not
// derivatives at its middle. Functions that rise or fall throughout are evaluated at both ends.
#include "ir/evaluate_ball.h"

#include "ir/scalar_math.h"

namespace fuse {

namespace {

template <class R>
R low(const Ball<R> &x) {
  return x.v - x.e;
}

template <class R>
R high(const Ball<R> &x) {
  return x.v + x.e;
}

template <class R>
bool may_be_zero(const Ball<R> &x) {
  return std::fabs(x.v) <= x.e;
}

/// A distance, as a double that is not too small; 0 between equal infinities and between NaNs.
template <class R>
double distance(R a, R b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  R d = std::fabs(a - b);
  if (std::isnan(d)) return kUnknown;
  return std::nextafter(static_cast<double>(d), kUnknown);
}

template <class R>
double widest(R middle, std::initializer_list<R> others) {
  double e = 0;
  for (R other : others) e = std::max(e, distance(middle, other));
  return e;
}

/// Functions whose extremes over an interval are at its ends; a NaN end is outside the domain.
template <class R>
double error_at_ends(Op op, const Ball<R> &x, R middle) {
  return widest(middle, {float_op<R>(op, low(x), 0, 0), float_op<R>(op, high(x), 0, 0)});
}

/// x * y with x within its error; `middle` is the product.
template <class R>
double product_error(const Ball<R> &x, const Ball<R> &y, R middle) {
  if (!std::isfinite(middle)) return may_be_zero(x) || may_be_zero(y) ? kUnknown : 0;
  double a = std::fabs(double(x.v)), b = std::fabs(double(y.v));
  double e = (x.e ? x.e * (b + y.e) : 0) + (y.e ? y.e * a : 0);
  return std::isnan(e) ? kUnknown : e;
}

template <class R>
double quotient_error(const Ball<R> &x, const Ball<R> &y, R middle) {
  if (may_be_zero(y) && (y.e > 0 || may_be_zero(x))) return x.e == 0 && y.e == 0 ? 0 : kUnknown;
  if (!std::isfinite(middle) || std::isinf(y.v)) return 0;
  return (x.e + std::fabs(double(middle)) * y.e) / (std::fabs(double(y.v)) - y.e);
}

template <class R>
double max_error(Op op, const Ball<R> &x, const Ball<R> &y, R middle) {
  if (std::isnan(middle)) return 0;
  return widest(middle, {float_op<R>(op, low(x), low(y), 0), float_op<R>(op, high(x), high(y), 0)});
}

template <class R>
double floordiv_error(const Ball<R> &x, const Ball<R> &y, R middle) {
  R quotient = x.v / y.v;
  double e = quotient_error(x, y, quotient);
  if (!std::isfinite(e) || !std::isfinite(middle)) return e;
  R slack = e + std::fabs(quotient) * std::numeric_limits<float>::epsilon();
  return widest(middle, {std::floor(quotient - slack), std::floor(quotient + slack)});
}

/// A remainder jumps by the divisor where the quotient passes an integer.
template <class R>
double remainder_error(const Ball<R> &x, const Ball<R> &y) {
  R quotient = x.v / y.v;
  double e = quotient_error(x, y, quotient);
  if (!std::isfinite(e) || !std::isfinite(quotient)) return e;
  if (std::floor(quotient - e) != std::floor(quotient + e)) return kUnknown;
  return x.e + (std::fabs(double(quotient)) + 1) * y.e;
}

template <class R>
double power_error(const Ball<R> &x, const Ball<R> &y, R middle) {
  bool whole = y.e == 0 && std::nearbyint(y.v) == y.v;
  if (low(x) > 0 || (x.e == 0 && x.v >= 0)) {
    return widest(middle, {std::pow(low(x), low(y)), std::pow(low(x), high(y)),
                           std::pow(high(x), low(y)), std::pow(high(x), high(y))});
  }
  if (!whole) return x.e == 0 && y.e == 0 ? 0 : kUnknown;
  if (y.v < 0 && may_be_zero(x)) return kUnknown;
  if (y.v == 0) return 0;
  return widest(middle,
                {std::pow(low(x), y.v), std::pow(high(x), y.v), may_be_zero(x) ? R(0) : middle});
}

template <class R>
double angle_error(const Ball<R> &y, const Ball<R> &x) {
  double radius = std::hypot(double(x.v), double(y.v)), e = std::hypot(x.e, y.e);
  bool on_cut = may_be_zero(y) && low(x) <= 0;
  if (on_cut || radius <= 2 * e) return x.e == 0 && y.e == 0 ? 0 : kUnknown;
  return std::isinf(radius) ? 0 : e / (radius - e);
}

/// Whether the interval holds a pole of gamma.
template <class R>
bool holds_pole(const Ball<R> &x) {
  return low(x) <= 0 && std::floor(low(x)) != std::floor(high(x));
}

template <class R>
double lgamma_error(const Ball<R> &x, R middle) {
  if (!std::isfinite(middle)) return 0;
  if (holds_pole(x)) return kUnknown;
  double slope = std::max(std::fabs(digamma(low(x))), std::fabs(digamma(high(x))));
  return slope * x.e;
}

template <class R>
double tan_error(const Ball<R> &x, R middle) {
  constexpr R kPi = 3.14159265358979323846264338327950288L;
  if (x.e > 1 || std::floor(low(x) / kPi + R(0.5)) != std::floor(high(x) / kPi + R(0.5)))
    return kUnknown;
  return error_at_ends(Op::Tan, x, middle);
}

template <class R>
double compare_error(const Ball<R> &x, const Ball<R> &y) {
  R gap = std::fabs(x.v - y.v);
  return gap <= x.e + y.e && (x.e > 0 || y.e > 0) ? kUnknown : 0;
}

template <class R>
double error_of(Op op, const Ball<R> *x, R middle) {
  switch (op) {
    case Op::Neg:
    case Op::Abs: return x[0].e;
    case Op::Sin:
    case Op::Cos: return std::isnan(middle) ? 0 : std::min(x[0].e, 2.0);
    case Op::Sign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Cbrt:
    case Op::Exp:
    case Op::Exp2:
    case Op::Expm1:
    case Op::Log:
    case Op::Log2:
    case Op::Log1p:
    case Op::Asin:
    case Op::Acos:
    case Op::Atan:
    case Op::Sinh:
    case Op::Tanh:
    case Op::Asinh:
    case Op::Acosh:
    case Op::Atanh:
    case Op::Erf:
    case Op::Erfc:
    case Op::Erfinv:
    case Op::Sigmoid: return error_at_ends(op, x[0], middle);
    case Op::Cosh:
      return std::max(error_at_ends(op, x[0], middle),
                      may_be_zero(x[0]) ? distance(middle, R(1)) : 0);
    case Op::Tan: return tan_error(x[0], middle);
    case Op::Lgamma: return lgamma_error(x[0], middle);
    case Op::Digamma: return holds_pole(x[0]) ? kUnknown : error_at_ends(op, x[0], middle);
    case Op::Add:
    case Op::Sub: return x[0].e + x[1].e;
    case Op::Mul: return product_error(x[0], x[1], middle);
    case Op::Fma: return product_error(x[0], x[1], x[0].v * x[1].v) + x[2].e;
    case Op::Div: return quotient_error(x[0], x[1], middle);
    case Op::FloorDiv: return floordiv_error(x[0], x[1], middle);
    case Op::Mod:
    case Op::Rem: return remainder_error(x[0], x[1]);
    case Op::Pow: return power_error(x[0], x[1], middle);
    case Op::Min:
    case Op::Max: return max_error(op, x[0], x[1], middle);
    case Op::Atan2: return angle_error(x[0], x[1]);
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge: return compare_error(x[0], x[1]);
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite: return 0;
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
  return kUnknown;
}

template <class R>
Ball<R> propagate_ball(Op op, const Ball<R> *x) {
  R middle = float_op<R>(op, x[0].v, x[1].v, x[2].v);
  if (x[0].e == 0 && x[1].e == 0 && x[2].e == 0) return {middle, 0};
  bool unknown = std::isinf(x[0].e) || std::isinf(x[1].e) || std::isinf(x[2].e);
  return {middle, unknown ? kUnknown : error_of(op, x, middle)};
}

}  // namespace

Ball<double> propagate(Op op, const Ball<double> *x) { return propagate_ball(op, x); }
Ball<long double> propagate(Op op, const Ball<long double> *x) { return propagate_ball(op, x); }

}  // namespace fuse
