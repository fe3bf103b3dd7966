// Elementwise operations on bits: decode, compute in the right type, round once.
//
// Exact float operations compute in the compute type (f32 for 16- and 8-bit floats), the others in
// a wider one. A 16-bit fma is the exception: its f32 result would be rounded twice.
#include "ir/scalar.h"

#include "ir/float_bits.h"
#include "ir/scalar_math.h"

#include <algorithm>
#include <bit>

namespace fuse {

namespace {

/// Rounds to double in such a way that a further rounding to a narrower type is the only one.
double to_odd(long double x) {
  double nearest = static_cast<double>(x);
  if (nearest == x || !std::isfinite(nearest) || (std::bit_cast<std::uint64_t>(nearest) & 1))
    return nearest;
  return std::nextafter(nearest, x > nearest ? INFINITY : -INFINITY);
}

std::uint64_t float_of_float(Op op, DType to, double value) {
  double limit = largest_finite(to);
  if (op == Op::CastSat) value = value > limit ? limit : value < -limit ? -limit : value;
  return encode_float(to, value);
}

/// An integer as the nearest float; 64-bit integers exceed a double's significand.
std::uint64_t float_of_int(Op op, DType to, Literal x) {
  std::int64_t value = as_int(x);
  long double wide = is_signed_int(x.dtype) ? static_cast<long double>(value)
                                            : static_cast<long double>(std::uint64_t(value));
  double narrow = to == DType::F64 ? static_cast<double>(wide) : to_odd(wide);
  return float_of_float(op, to, narrow);
}

std::int64_t least_int(DType type) {
  return is_signed_int(type) ? std::int64_t(-1) << (8 * size_of(type) - 1) : 0;
}

std::uint64_t greatest_int(DType type) {
  return ~std::uint64_t{0} >> (64 - 8 * size_of(type) + is_signed_int(type));
}

std::uint64_t saturated_int(DType to, double value) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  if (value <= static_cast<double>(least_int(to))) return std::uint64_t(least_int(to));
  if (value >= static_cast<double>(greatest_int(to))) return greatest_int(to);
  if (value < 0) return std::uint64_t(static_cast<std::int64_t>(value));
  return static_cast<std::uint64_t>(value);
}

std::uint64_t int_of_int(Op op, DType to, Literal x) {
  std::uint64_t bits = wrap_int(x.dtype, x.bits);
  if (op == Op::Cast) return wrap_int(to, bits);
  bool negative = is_signed_int(x.dtype) && std::int64_t(bits) < 0;
  if (negative) return std::uint64_t(std::max(std::int64_t(bits), least_int(to)));
  return std::min(bits, greatest_int(to));
}

std::uint64_t bits_of(DType type, Literal x) {
  std::uint64_t bits = x.bits;
  if (!is_float(type)) return wrap_int(type, bits);
  return bits & (~std::uint64_t{0} >> (64 - 8 * size_of(type)));
}

template <class C, class Wide>
double compute(Op op, const double *x) {
  if (info(op).is(Exact)) return float_op<C>(op, C(x[0]), C(x[1]), C(x[2]));
  return static_cast<double>(float_op<Wide>(op, x[0], x[1], x[2]));
}

std::uint64_t apply_float(Op op, DType type, std::span<const Literal> operands) {
  double x[3] = {};
  bool is_double = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    x[i] = as_double(operands[i]);
    is_double |= operands[i].dtype == DType::F64;
  }
  if (op == Op::Fma && is_float16(type)) return encode_float(type, fma_to_odd(x[0], x[1], x[2]));
  double y = is_double ? compute<double, long double>(op, x) : compute<float, double>(op, x);
  return is_float(type) ? encode_float(type, y) : std::uint64_t(y != 0);
}

std::uint64_t apply_select(DType type, std::span<const Literal> x) {
  const Literal &chosen = as_int(x[0]) != 0 ? x[1] : x[2];
  return chosen.dtype == type ? chosen.bits : encode_float(type, as_double(chosen));
}

}  // namespace

std::uint64_t convert(Op op, DType to, Literal x) {
  if (op == Op::Bitcast) return bits_of(to, x);
  if (is_float(x.dtype)) {
    double value = as_double(x);
    if (is_bool(to)) return value != 0;
    return is_float(to) ? float_of_float(op, to, value) : saturated_int(to, value);
  }
  if (is_bool(to)) return as_int(x) != 0;
  if (is_int(to)) return int_of_int(op, to, x);
  return float_of_int(op, to, x);
}

std::uint64_t apply(Op op, DType type, std::span<const Literal> operands) {
  if (info(op).kind == OpKind::Convert) return convert(op, type, operands[0]);
  if (op == Op::Select) return apply_select(type, operands);
  DType operand_type = operands[0].dtype;
  if (is_float(operand_type)) return apply_float(op, type, operands);
  std::int64_t b = operands.size() > 1 ? as_int(operands[1]) : 0;
  return wrap_int(type, std::uint64_t(int_op(op, operand_type, as_int(operands[0]), b)));
}

}  // namespace fuse
