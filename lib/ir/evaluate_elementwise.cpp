// Elementwise nodes over whole tensors.
//
// Exact operations on exact operands give the rounded result itself; everything else keeps the
// unrounded value and adds the operation's own bound to what its operands bring.
#include "ir/evaluate_ball.h"
#include "ir/parallel.h"
#include "ir/scalar_math.h"

namespace fuse {

namespace {

using Operands = std::span<const Expected *const>;

bool any_inexact(Operands operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Expected *x) { return !x->error.empty(); });
}

bool all_splat(Operands operands) {
  return std::all_of(operands.begin(), operands.end(), [](const Expected *x) { return x->splat; });
}

bool has_f64(Operands operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Expected *x) { return x->dtype == DType::F64; });
}

/// Operations that hand a value on, or are exact, add no rounding of their own, unless a literal is
/// wider than the result.
bool rounds(Op op, DType dtype, Operands operands) {
  if (info(op).kind == OpKind::Unary) return op == Op::Sqrt;
  if (op == Op::Min || op == Op::Max || op == Op::Rem)
    return operands[0]->dtype != dtype || operands[1]->dtype != dtype;
  return true;
}

template <class C>
double exact_element(Op op, DType dtype, Operands x, std::int64_t i) {
  double v[3] = {};
  for (std::size_t k = 0; k < x.size(); ++k) v[k] = value_at<double>(*x[k], x[k]->splat ? 0 : i);
  if (op == Op::Fma && is_float16(dtype)) return round_float(dtype, fma_to_odd(v[0], v[1], v[2]));
  return round_float(dtype, float_op<C>(op, C(v[0]), C(v[1]), C(v[2])));
}

void evaluate_exact(Op op, Expected &out, Operands x) {
  bool is_double = has_f64(x);
  parallel_for(std::int64_t(out.stored()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      out.value[i] = is_double ? exact_element<double>(op, out.dtype, x, i)
                               : exact_element<float>(op, out.dtype, x, i);
    }
  });
}

template <class R>
struct Balls {
  Ball<R> x[3];
  Balls(Operands operands, std::int64_t i) {
    for (std::size_t k = 0; k < operands.size(); ++k) x[k] = ball_at<R>(*operands[k], i);
  }
  bool exact() const { return x[0].e == 0 && x[1].e == 0 && x[2].e == 0; }
};

/// Magnitude that the bound of a function is relative to. Near the negative zeros of lgamma and
/// digamma bounds are absolute.
template <class R>
double bound_scale(Op op, const Ball<R> &x, const Ball<R> &y) {
  double magnitude = std::fabs(double(y.v)) + y.e;
  bool absolute = op == Op::Digamma || (op == Op::Lgamma && x.v < 0);
  return absolute ? std::max(magnitude, 1.0) : magnitude;
}

template <class R>
void evaluate_inexact(Op op, Expected &out, Operands operands) {
  const Precision precision(out.dtype);
  const OpInfo &op_info = info(op);
  bool exact_op = op_info.is(Exact), adds_rounding = rounds(op, out.dtype, operands);
  auto element = [&](std::int64_t i) -> Ball<R> {
    Balls<R> in(operands, i);
    if (exact_op && in.exact()) {
      return {sizeof(R) > sizeof(double) ? exact_element<double>(op, out.dtype, operands, i)
                                         : exact_element<float>(op, out.dtype, operands, i),
              0};
    }
    Ball<R> y = propagate(op, in.x);
    if (std::isinf(y.e) || !std::isfinite(y.v)) return settle(precision, y);
    double scale = bound_scale(op, in.x[0], y);
    if (!exact_op)
      y.e += function_error(precision, op_info.max_ulp, scale);
    else if (adds_rounding)
      y.e += rounding_error(precision, scale);
    return settle(precision, y);
  };
  parallel_for(std::int64_t(out.stored()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) set_ball(out, i, element(i));
  });
}

template <class R>
void evaluate_predicate(Op op, Expected &out, Operands operands) {
  parallel_for(std::int64_t(out.stored()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Ball<R> y = propagate(op, Balls<R>(operands, i).x);
      out.bits[i] = y.v != 0;
      if (!out.error.empty()) out.error[i] = y.e;
    }
  });
}

/// A certain false (and) or true (or) settles the result whatever the other operand is.
bool dominates(Op op, const Expected &x, std::int64_t i) {
  if (!is_bool(x.dtype) || error_at(x, i) != 0) return false;
  return (op == Op::And && bits_at(x, i) == 0) || (op == Op::Or && bits_at(x, i) != 0);
}

void evaluate_int(Op op, Expected &out, Operands x) {
  DType type = x[0]->dtype;
  for (std::int64_t i = 0; i < std::int64_t(out.stored()); ++i) {
    auto a = std::int64_t(bits_at(*x[0], i));
    auto b = x.size() > 1 ? std::int64_t(bits_at(*x[1], i)) : 0;
    out.bits[i] = wrap_int(out.dtype, std::uint64_t(int_op(op, type, a, b)));
    if (out.error.empty()) continue;
    bool certain = error_at(*x[0], i) == 0 && (x.size() == 1 || error_at(*x[1], i) == 0);
    bool settled = x.size() > 1 && (dominates(op, *x[0], i) || dominates(op, *x[1], i));
    if (settled) out.bits[i] = op == Op::Or;
    out.error[i] = certain || settled ? 0 : kUnknown;
  }
}

/// Covers both operands of a select that may go either way.
template <class R>
Ball<R> hull(const Ball<R> &a, const Ball<R> &b) {
  if (std::isnan(a.v) && std::isnan(b.v)) return a;
  if (a.v == b.v) return {a.v, std::max(a.e, b.e)};
  double apart = static_cast<double>(std::fabs(a.v - b.v));
  return {a.v, std::isfinite(apart) ? std::max(a.e, apart + b.e) : kUnknown};
}

template <class R>
void select_floats(Expected &out, Operands x) {
  const Precision precision(out.dtype);
  auto operand = [&](const Expected &from, std::int64_t i) {
    Ball<R> ball = ball_at<R>(from, i);
    if (from.dtype != out.dtype) ball.v = round_float(out.dtype, double(ball.v));
    return ball;
  };
  for (std::int64_t i = 0; i < std::int64_t(out.stored()); ++i) {
    bool first = bits_at(*x[0], i) != 0;
    Ball<R> chosen = operand(first ? *x[1] : *x[2], i);
    if (error_at(*x[0], i) != 0) chosen = hull(chosen, operand(first ? *x[2] : *x[1], i));
    set_ball(out, i, chosen);
  }
}

void select_ints(Expected &out, Operands x) {
  for (std::int64_t i = 0; i < std::int64_t(out.stored()); ++i) {
    const Expected &chosen = bits_at(*x[0], i) != 0 ? *x[1] : *x[2];
    out.bits[i] = bits_at(chosen, i);
    if (out.error.empty()) continue;
    bool same = bits_at(*x[1], i) == bits_at(*x[2], i) && error_at(*x[1], i) == 0 &&
                error_at(*x[2], i) == 0;
    out.error[i] = error_at(*x[0], i) == 0 || same ? error_at(chosen, i) : kUnknown;
  }
}

void evaluate_select(Expected &out, Operands x) {
  if (!is_float(out.dtype)) return select_ints(out, x);
  return out.dtype == DType::F64 ? select_floats<long double>(out, x)
                                 : select_floats<double>(out, x);
}

}  // namespace

Expected evaluate_elementwise(Op op, DType dtype, Operands operands) {
  bool inexact = any_inexact(operands) || (is_float(dtype) && !info(op).is(Exact));
  Expected out = make_expected(dtype, operands[0]->shape, all_splat(operands), inexact);
  if (op == Op::Select)
    evaluate_select(out, operands);
  else if (!is_float(operands[0]->dtype))
    evaluate_int(op, out, operands);
  else if (!is_float(dtype) && has_f64(operands))
    evaluate_predicate<long double>(op, out, operands);
  else if (!is_float(dtype))
    evaluate_predicate<double>(op, out, operands);
  else if (!inexact)
    evaluate_exact(op, out, operands);
  else if (has_f64(operands))
    evaluate_inexact<long double>(op, out, operands);
  else
    evaluate_inexact<double>(op, out, operands);
  return out;
}

}  // namespace fuse
