// The inexact functions in quadruple precision: libquadmath's, and what it lacks.
#pragma once

#include "ir/op.h"

namespace fuse {

__extension__ typedef __float128 Quad;

/// The function's value, right to about 1e-30; y is the second operand of pow and atan2.
Quad quad_function(Op op, Quad x, Quad y);

/// Error of `actual` in units in the last place of the dtype at the value; near the negative zeros
/// of lgamma and digamma of units of 1 at least, as docs/numerics.md has it. 0 where both are NaN
/// or the value is out of the dtype's range and actual infinite or the largest number.
double error_in_ulps(Op op, DType type, Quad x, Quad value, Quad actual);

}  // namespace fuse
