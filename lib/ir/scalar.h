// The meaning of every elementwise operation and every monoid on single elements, as bits.
//
// This is the definition that constant folding, the interpreter of kernels and the reference
// evaluator share; docs/numerics.md states it in words. Bits are those of a Literal: floats in the
// low bytes, integers sign- or zero-extended to 64 bits. A result that is NaN has the canonical
// NaN's bits, except where select, bitcast and views hand an operand through.
#pragma once

#include "ir/kernel.h"
#include "ir/literal.h"

#include <array>
#include <cstdint>
#include <span>

namespace fuse {

/// Bits of op(operands) in the given dtype: that of the node, so bool for comparisons and tests.
/// Takes every elementwise op, conversions included. Operands have the dtypes that the graph gives
/// them: one dtype, or f32 literals beside 16- and 8-bit floats.
std::uint64_t apply(Op op, DType type, std::span<const Literal> operands);

/// Cast, CastSat and Bitcast.
std::uint64_t convert(Op op, DType to, Literal x);

/// State of a monoid over a dtype; the entries after its results (monoids.def) are 0. Sum, Prod,
/// Welford and Online compute in f32, f64 or (Sum, Prod) an integer type: the dtype of the state.
using MonoidState = std::array<std::uint64_t, 3>;

MonoidState identity(Monoid monoid, DType type);

/// State of one element: its value, and the position (ArgMax, ArgMin) or the weight (Online).
MonoidState lift(Monoid monoid, DType type, std::span<const std::uint64_t> operands);

/// State of the elements of a followed by those of b.
MonoidState combine(Monoid monoid, DType type, const MonoidState &a, const MonoidState &b);

}  // namespace fuse
