// Conversions between numbers and the bits of each dtype, rounding once to nearest, ties to even.
#pragma once

#include "ir/literal.h"

namespace fuse {

/// Bits of the float dtype nearest to the value. Overflow gives infinity, or NaN in f8e4m3, which
/// has none. NaNs become the canonical quiet NaN.
std::uint64_t encode_float(DType type, double value);

/// The number that the bits of a float dtype stand for; exact.
double decode_float(DType type, std::uint64_t bits);

/// The number of the dtype nearest to the value: decode_float(encode_float(value)).
double round_float(DType type, double value);

/// Largest finite number of a float dtype.
double largest_finite(DType type);

/// Literals. An integer literal of an integer dtype wraps; of a float dtype it is rounded.
Literal float_literal(DType type, double value);
Literal int_literal(DType type, std::int64_t value);

/// Value of a literal of a float dtype, an integer dtype or bool, as a double (rounded once).
double as_double(const Literal &literal);

/// Value of an integer or bool literal, sign- or zero-extended.
std::int64_t as_int(const Literal &literal);

/// Truncates to the dtype's width and extends again, by its signedness.
std::uint64_t wrap_int(DType type, std::uint64_t bits);

}  // namespace fuse
