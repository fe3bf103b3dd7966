// Conversions. Rounding is monotonic, so an inexact operand becomes what lies between the roundings
// of its interval's ends.
#include "ir/evaluate_ball.h"
#include "ir/parallel.h"
#include "ir/scalar.h"

#include <limits>

namespace fuse {

namespace {

std::uint64_t element_bits(const Expected &x, std::int64_t i) {
  if (!is_float(x.dtype)) return bits_at(x, i);
  return encode_float(x.dtype, x.value[x.splat ? 0 : i]);
}

/// Literal of a float value before rounding; f64 holds every narrower one.
Literal wide_literal(double value) { return {DType::F64, std::bit_cast<std::uint64_t>(value)}; }

double as_number(DType type, std::uint64_t bits) { return as_double({type, bits}); }

struct Ends {
  double low, high;
};

Ends ends_at(const Expected &x, std::int64_t i) {
  Ball<long double> ball = ball_at<long double>(x, i);
  return {double(ball.v - ball.e), double(ball.v + ball.e)};
}

double spread(double middle, double low, double high) {
  if (std::isnan(middle) && std::isnan(low) && std::isnan(high)) return 0;
  if (middle == low && middle == high) return 0;
  double e = std::max(std::fabs(high - middle), std::fabs(middle - low));
  return std::isnan(e) ? kUnknown : e;
}

/// An inexact float to any dtype but a wider float.
double narrowed_error(Op op, DType to, const Expected &x, std::int64_t i, double middle) {
  Ends ends = ends_at(x, i);
  double low = as_number(to, convert(op, to, wide_literal(ends.low)));
  double high = as_number(to, convert(op, to, wide_literal(ends.high)));
  double e = spread(middle, low, high);
  bool either_zero = is_float(to) && e == 0 && std::signbit(low) != std::signbit(high);
  if (either_zero) return std::numeric_limits<double>::denorm_min();  // it is not exact
  return is_bool(to) && e > 0 ? kUnknown : e;
}

/// Rounding an inexact value to 16 bits is where widened chains are judged: a whole unit.
double rounded_error(const Precision &p, const Expected &x, std::int64_t i) {
  double e = error_at(x, i);
  double magnitude = std::fabs(x.value[x.splat ? 0 : i]) + e;
  return e + (p.is_16_bit() ? p.ulp(magnitude) + 0x1p-120 : p.ulp(magnitude) / 2);
}

bool widens(DType from, DType to) {
  return is_float(from) && is_float(to) && size_of(to) > size_of(from) &&
         !(from == DType::BF16 && to == DType::F16);
}

void set_float(Op op, Expected &out, const Expected &x, std::int64_t i, const Precision &p) {
  std::size_t at = x.splat ? 0 : static_cast<std::size_t>(i);
  double e = error_at(x, i);
  if (e == 0) {
    out.value[i] =
        is_float(x.dtype) && op == Op::Cast
            ? round_float(out.dtype, x.value[at])
            : as_number(out.dtype, convert(op, out.dtype, {x.dtype, element_bits(x, i)}));
    return;
  }
  if (std::isinf(e)) {
    out.value[i] = x.value.empty() ? as_number(x.dtype, x.bits[at]) : x.value[at];
    out.error[i] = kUnknown;
  } else if (!is_float(x.dtype) || is_float8(out.dtype) || op == Op::CastSat) {
    Literal middle = is_float(x.dtype) ? wide_literal(x.value[at]) : Literal{x.dtype, x.bits[at]};
    out.value[i] = as_number(out.dtype, convert(op, out.dtype, middle));
    out.error[i] = is_float(x.dtype) ? narrowed_error(op, out.dtype, x, i, out.value[i])
                                     : e + p.ulp(std::fabs(out.value[i]) + e);
  } else {
    double total = widens(x.dtype, out.dtype) ? e : rounded_error(p, x, i);
    set_ball(out, i, settle(p, Ball<long double>{value_at<long double>(x, at), total}));
  }
}

void set_int(Op op, Expected &out, const Expected &x, std::int64_t i) {
  double e = error_at(x, i);
  bool from_float = is_float(x.dtype);
  Literal middle =
      from_float ? wide_literal(x.value[x.splat ? 0 : i]) : Literal{x.dtype, bits_at(x, i)};
  out.bits[i] = convert(op, out.dtype, middle);
  if (e == 0) return;
  out.error[i] = from_float && !std::isinf(e)
                     ? narrowed_error(op, out.dtype, x, i, as_number(out.dtype, out.bits[i]))
                     : kUnknown;
}

/// The bits of a NaN are anyone's: NaNs equal one another.
void bitcast(Expected &out, const Expected &x, std::int64_t i) {
  std::uint64_t bits = convert(Op::Bitcast, out.dtype, {x.dtype, element_bits(x, i)});
  if (is_float(out.dtype))
    out.value[i] = decode_float(out.dtype, bits);
  else
    out.bits[i] = bits;
  bool is_nan = is_float(x.dtype) && std::isnan(x.value[x.splat ? 0 : i]);
  if (is_nan || error_at(x, i) != 0) out.error[i] = kUnknown;
}

}  // namespace

Expected evaluate_convert(Op op, DType dtype, const Expected &x) {
  bool inexact = !x.error.empty() || (op == Op::Bitcast && is_float(x.dtype));
  Expected out = make_expected(dtype, x.shape, x.splat, inexact);
  const Precision precision(is_float(dtype) ? dtype : DType::F64);
  parallel_for(std::int64_t(out.stored()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (op == Op::Bitcast)
        bitcast(out, x, i);
      else if (is_float(dtype))
        set_float(op, out, x, i, precision);
      else
        set_int(op, out, x, i);
    }
  });
  return out;
}

}  // namespace fuse
