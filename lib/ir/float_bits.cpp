// One generic encoder serves every float narrower than f64: scale the magnitude so that one unit
// is the last place, round to an integer in the FPU's nearest-even mode, and let a carry out of the
// significand run into the exponent.
#include "ir/float_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace fuse {

namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_inf;  // f8e4m3 spends only its top code on NaN and has no infinity

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint64_t max_code() const {  // of the magnitude, finite
    std::uint64_t top = (std::uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
    return has_inf ? top - (std::uint64_t{1} << mantissa_bits) : top - 1;
  }
};

Format format_of(DType type) {
  switch (type) {
    case DType::F8E4M3: return {4, 3, false};
    case DType::F8E5M2: return {5, 2, true};
    case DType::F16: return {5, 10, true};
    case DType::BF16: return {8, 7, true};
    case DType::F32: return {8, 23, true};
    case DType::Bool:
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
    case DType::U8:
    case DType::U16:
    case DType::U32:
    case DType::U64:
    case DType::F64: break;
  }
  return {11, 52, true};
}

std::uint64_t nan_code(const Format &f) {
  if (!f.has_inf) return (std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
  return (((std::uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) |
         (std::uint64_t{1} << (f.mantissa_bits - 1));
}

std::uint64_t magnitude_code(const Format &f, double magnitude) {
  int exponent = std::max(std::ilogb(magnitude), 1 - f.bias());
  double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  auto biased = static_cast<std::uint64_t>(exponent + f.bias() - 1);
  return (biased << f.mantissa_bits) + static_cast<std::uint64_t>(units);
}

double decode_magnitude(const Format &f, std::uint64_t code) {
  std::uint64_t mantissa = code & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  int exponent = static_cast<int>(code >> f.mantissa_bits);
  if (exponent == 0) return std::ldexp(double(mantissa), 1 - f.bias() - f.mantissa_bits);
  mantissa |= std::uint64_t{1} << f.mantissa_bits;
  return std::ldexp(double(mantissa), exponent - f.bias() - f.mantissa_bits);
}

}  // namespace

std::uint64_t encode_float(DType type, double value) {
  if (type == DType::F64)
    return std::isnan(value) ? nan_code(format_of(type)) : std::bit_cast<std::uint64_t>(value);
  if (type == DType::F32 && !std::isnan(value))
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  Format f = format_of(type);
  std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits)
                                           : std::uint64_t{0};
  if (std::isnan(value)) return nan_code(f);
  std::uint64_t overflow = f.has_inf ? f.max_code() + 1 : nan_code(f);
  if (std::isinf(value)) return sign | overflow;
  if (value == 0) return sign;
  std::uint64_t code = magnitude_code(f, std::fabs(value));
  return sign | (code > f.max_code() ? overflow : code);
}

double decode_float(DType type, std::uint64_t bits) {
  if (type == DType::F64) return std::bit_cast<double>(bits);
  if (type == DType::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  Format f = format_of(type);
  std::uint64_t sign_bit = std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  std::uint64_t code = bits & (sign_bit - 1);
  double magnitude;
  if (code <= f.max_code())
    magnitude = decode_magnitude(f, code);
  else
    magnitude = f.has_inf && code == f.max_code() + 1 ? INFINITY : NAN;
  return bits & sign_bit ? -magnitude : magnitude;
}

double round_float(DType type, double value) {
  if (type == DType::F64) return value;
  if (type == DType::F32) return static_cast<float>(value);
  Format f = format_of(type);
  auto bits = std::bit_cast<std::uint64_t>(value);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent < 1 - f.bias() || exponent >= f.bias())
    return decode_float(type, encode_float(type, value));
  int dropped = 52 - f.mantissa_bits;
  bits += (std::uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<double>(bits >> dropped << dropped);
}

double largest_finite(DType type) {
  if (type == DType::F64) return std::numeric_limits<double>::max();
  return decode_float(type, format_of(type).max_code());
}

std::uint64_t wrap_int(DType type, std::uint64_t bits) {
  if (is_bool(type)) return bits != 0;
  int shift = 64 - 8 * static_cast<int>(size_of(type));
  if (is_signed_int(type))
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift);
  return bits << shift >> shift;
}

Literal float_literal(DType type, double value) { return {type, encode_float(type, value)}; }

Literal int_literal(DType type, std::int64_t value) {
  if (is_float(type)) return float_literal(type, static_cast<double>(value));
  return {type, wrap_int(type, static_cast<std::uint64_t>(value))};
}

double as_double(const Literal &literal) {
  if (is_float(literal.dtype)) return decode_float(literal.dtype, literal.bits);
  if (is_signed_int(literal.dtype)) return static_cast<double>(as_int(literal));
  return static_cast<double>(literal.bits);
}

std::int64_t as_int(const Literal &literal) {
  return static_cast<std::int64_t>(wrap_int(literal.dtype, literal.bits));
}

}  // namespace fuse
