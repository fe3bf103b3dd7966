// Integer and bool operations: two's complement, in 64 bits, without undefined behaviour. Operands
// are sign- or zero-extended, so only division, order, shifts and remainders ask for signedness.
#include "ir/scalar_math.h"

#include <algorithm>

namespace fuse {

namespace {

using Signed = std::int64_t;
using Unsigned = std::uint64_t;

Signed wrapping_add(Signed a, Signed b) { return Signed(Unsigned(a) + Unsigned(b)); }
Signed wrapping_sub(Signed a, Signed b) { return Signed(Unsigned(a) - Unsigned(b)); }
Signed wrapping_mul(Signed a, Signed b) { return Signed(Unsigned(a) * Unsigned(b)); }

bool less(DType type, Signed a, Signed b) {
  return is_signed_int(type) ? a < b : Unsigned(a) < Unsigned(b);
}

Signed divide(DType type, Signed a, Signed b) {
  if (b == 0) return 0;
  if (!is_signed_int(type)) return Signed(Unsigned(a) / Unsigned(b));
  return b == -1 ? wrapping_sub(0, a) : a / b;
}

Signed remainder(DType type, Signed a, Signed b) {
  if (b == 0) return 0;
  return wrapping_sub(a, wrapping_mul(divide(type, a, b), b));
}

/// Whether the truncated quotient lies above the floor.
bool floors_down(DType type, Signed a, Signed b) {
  return is_signed_int(type) && remainder(type, a, b) != 0 && (a < 0) != (b < 0);
}

Signed shift_left(DType type, Signed a, Signed amount) {
  return Unsigned(amount) < 8 * size_of(type) ? Signed(Unsigned(a) << amount) : 0;
}

Signed shift_right(DType type, Signed a, Signed amount) {
  bool all = Unsigned(amount) >= 8 * size_of(type);
  if (is_signed_int(type)) return a >> (all ? 63 : amount);
  return all ? 0 : Signed(Unsigned(a) >> amount);
}

/// 1 / a^|b| truncated for negative b: only 1 and -1 have inverses.
Signed power(DType type, Signed a, Signed b) {
  bool inverse = is_signed_int(type) && b < 0;
  if (inverse && a != 1 && a != -1) return 0;
  Signed result = 1;
  for (Unsigned n = inverse ? 0 - Unsigned(b) : Unsigned(b); n != 0; n >>= 1) {
    if (n & 1) result = wrapping_mul(result, a);
    a = wrapping_mul(a, a);
  }
  return result;
}

Signed sign(DType type, Signed a) { return less(type, a, 0) ? -1 : a != 0; }

}  // namespace

std::int64_t int_op(Op op, DType type, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::Neg: return wrapping_sub(0, a);
    case Op::Abs: return less(type, a, 0) ? wrapping_sub(0, a) : a;
    case Op::Sign: return sign(type, a);
    case Op::Not: return is_bool(type) ? !a : ~a;
    case Op::Add: return wrapping_add(a, b);
    case Op::Sub: return wrapping_sub(a, b);
    case Op::Mul: return wrapping_mul(a, b);
    case Op::Div: return divide(type, a, b);
    case Op::FloorDiv: return divide(type, a, b) - floors_down(type, a, b);
    case Op::Mod: return remainder(type, a, b) + (floors_down(type, a, b) ? b : 0);
    case Op::Rem: return remainder(type, a, b);
    case Op::Pow: return power(type, a, b);
    case Op::Min: return less(type, b, a) ? b : a;
    case Op::Max: return less(type, a, b) ? b : a;
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Shl: return shift_left(type, a, b);
    case Op::Shr: return shift_right(type, a, b);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return less(type, a, b);
    case Op::Le: return !less(type, b, a);
    case Op::Gt: return less(type, b, a);
    case Op::Ge: return !less(type, a, b);
    case Op::IsNan:
    case Op::IsInf: return 0;
    case Op::IsFinite: return 1;
    case Op::Input:
    case Op::Constant:
    case Op::Iota:
    case Op::RandomBits:
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
    case Op::Sin:
    case Op::Cos:
    case Op::Tan:
    case Op::Asin:
    case Op::Acos:
    case Op::Atan:
    case Op::Sinh:
    case Op::Cosh:
    case Op::Tanh:
    case Op::Asinh:
    case Op::Acosh:
    case Op::Atanh:
    case Op::Erf:
    case Op::Erfc:
    case Op::Erfinv:
    case Op::Lgamma:
    case Op::Digamma:
    case Op::Sigmoid:
    case Op::Atan2:
    case Op::Fma:
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
  return 0;
}

}  // namespace fuse
