// Integer and bool operations: wraparound, and a defined result for every operand.
//
// Division by zero gives 0, so does its remainder; the quotient of the least value and -1 wraps;
// shifts by the width or more give 0, or the sign.
#include "codegen/math.h"
#include "codegen/ops.h"
#include "ir/format.h"
#include "ir/op.h"

namespace fuse {

/// Truncated, with a divisor of 1 in place of those that trap.
llvm::Value *Ops::emit_divide(DType dtype, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType();
  llvm::Value *zero = llvm::ConstantInt::get(type, 0), *one = llvm::ConstantInt::get(type, 1);
  llvm::Value *by_zero = b_.CreateICmpEQ(y, zero);
  if (!is_signed_int(dtype)) {
    llvm::Value *quotient = b_.CreateUDiv(x, b_.CreateSelect(by_zero, one, y));
    return b_.CreateSelect(by_zero, zero, quotient);
  }
  llvm::Value *by_minus_one = b_.CreateICmpEQ(y, llvm::ConstantInt::getSigned(type, -1));
  llvm::Value *safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, y);
  llvm::Value *quotient = b_.CreateSDiv(x, safe);
  quotient = b_.CreateSelect(by_minus_one, b_.CreateNeg(x), quotient);
  return b_.CreateSelect(by_zero, zero, quotient);
}

/// Rem, Mod and FloorDiv, from the truncated quotient.
llvm::Value *Ops::emit_remainder(Op op, DType dtype, llvm::Value *x, llvm::Value *y) {
  llvm::Value *zero = llvm::ConstantInt::get(x->getType(), 0);
  llvm::Value *quotient = emit_divide(dtype, x, y);
  llvm::Value *rest = b_.CreateSub(x, b_.CreateMul(quotient, y));
  rest = b_.CreateSelect(b_.CreateICmpEQ(y, zero), zero, rest);
  if (!is_signed_int(dtype) || op == Op::Rem) return op == Op::FloorDiv ? quotient : rest;
  llvm::Value *differ = b_.CreateICmpSLT(b_.CreateXor(x, y), zero);
  llvm::Value *down = b_.CreateAnd(b_.CreateICmpNE(rest, zero), differ);
  if (op == Op::FloorDiv) return b_.CreateAdd(quotient, b_.CreateSExt(down, x->getType()));
  return b_.CreateSelect(down, b_.CreateAdd(rest, y), rest);
}

/// Shifts by the width or more give 0, or the sign. LLVM knows that PTX clamps amounts and hands
/// them on as they are, of which PTX reads 32 bits; so they are clamped here before.
llvm::Value *Ops::emit_shift(Op op, DType dtype, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType();
  unsigned width = type->getIntegerBitWidth();
  bool keeps_sign = op == Op::Shr && is_signed_int(dtype);
  llvm::Value *most = llvm::ConstantInt::get(type, keeps_sign ? width - 1 : width);
  llvm::Value *amount = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, y, most);
  if (keeps_sign) return b_.CreateAShr(x, amount);
  llvm::Value *low = b_.CreateAnd(amount, llvm::ConstantInt::get(type, width - 1));
  llvm::Value *shifted = op == Op::Shl ? b_.CreateShl(x, low) : b_.CreateLShr(x, low);
  llvm::Value *in_range = b_.CreateICmpULT(amount, most);
  return b_.CreateSelect(in_range, shifted, llvm::ConstantInt::get(type, 0));
}

/// By squaring; a negative exponent leaves the inverses of 1 and -1, and 0.
llvm::Value *Ops::emit_power(DType dtype, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType();
  llvm::Value *zero = llvm::ConstantInt::get(type, 0), *one = llvm::ConstantInt::get(type, 1);
  if (!is_signed_int(dtype)) return emit_int_power(b_, x, y);
  llvm::Value *inverse = b_.CreateICmpSLT(y, zero);
  llvm::Value *power = emit_int_power(b_, x, b_.CreateSelect(inverse, b_.CreateNeg(y), y));
  llvm::Value *is_unit = b_.CreateOr(b_.CreateICmpEQ(x, one),
                                     b_.CreateICmpEQ(x, llvm::ConstantInt::getSigned(type, -1)));
  return b_.CreateSelect(b_.CreateAnd(inverse, b_.CreateNot(is_unit)), zero, power);
}

llvm::Value *Ops::emit_int(Op op, DType dtype, const Values &x) {
  llvm::Value *zero = llvm::ConstantInt::get(x[0]->getType(), 0);
  switch (op) {
    case Op::Neg: return b_.CreateNeg(x[0]);
    case Op::Abs: {
      if (!is_signed_int(dtype)) return x[0];
      return b_.CreateSelect(b_.CreateICmpSLT(x[0], zero), b_.CreateNeg(x[0]), x[0]);
    }
    case Op::Sign: {
      llvm::Value *some = b_.CreateZExt(b_.CreateICmpNE(x[0], zero), x[0]->getType());
      if (!is_signed_int(dtype)) return some;
      return b_.CreateSelect(b_.CreateICmpSLT(x[0], zero), constant(dtype, -1), some);
    }
    case Op::Not: return b_.CreateNot(x[0]);
    case Op::Add: return b_.CreateAdd(x[0], x[1]);
    case Op::Sub: return b_.CreateSub(x[0], x[1]);
    case Op::Mul: return b_.CreateMul(x[0], x[1]);
    case Op::Div: return emit_divide(dtype, x[0], x[1]);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem: return emit_remainder(op, dtype, x[0], x[1]);
    case Op::Pow: return emit_power(dtype, x[0], x[1]);
    case Op::Min:
    case Op::Max: return emit_min_max(op == Op::Max, dtype, x[0], x[1]);
    case Op::And: return b_.CreateAnd(x[0], x[1]);
    case Op::Or: return b_.CreateOr(x[0], x[1]);
    case Op::Xor: return b_.CreateXor(x[0], x[1]);
    case Op::Shl:
    case Op::Shr: return emit_shift(op, dtype, x[0], x[1]);
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
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite:
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
  fail(ErrorCode::Internal, "{} of {} is not an integer operation", info(op).text,
       to_string(dtype));
}

}  // namespace fuse
