// Conversions: each rounds once, to nearest even; float to integer saturates and NaN gives 0.
//
// Where the machine would round twice (f64 or 64-bit integers to 16 and 8 bits) the first step
// rounds to odd: that keeps enough of the value for the second to decide as if it were the only
// one.
#include "codegen/float8.h"
#include "codegen/ops.h"

namespace fuse {

namespace {

double largest_finite_of(DType dtype) {
  switch (dtype) {
    case DType::F8E4M3: return 448;
    case DType::F8E5M2: return 57344;
    case DType::F16: return 65504;
    case DType::BF16: return 0x1.fep127;
    default: return dtype == DType::F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
  }
}

}  // namespace

llvm::Value *Ops::cast(const Scalar &x, DType to) {
  if (x.dtype == to) return x.value;
  Scalar y = convert(Op::Cast, to, x);
  return y.dtype == to ? y.value : float_to_float(y.value, y.dtype, to);
}

llvm::Value *Ops::cast_saturating(const Scalar &x, DType to) {
  Scalar y = convert(Op::CastSat, to, x);
  return y.dtype == to ? y.value : float_to_float(y.value, y.dtype, to);
}

/// The conversion, except for the last rounding from f32, which round_slots may do in pairs.
Scalar Ops::convert(Op op, DType to, const Scalar &x) {
  if (op == Op::Bitcast) return {b_.CreateBitCast(x.value, type_of(to, b_.getContext())), to};
  bool saturate = op == Op::CastSat;
  if (!is_float(x.dtype) && !is_float(to))
    return {saturate ? clamp_int(x, to) : int_to_int(x, to), to};
  if (!is_float(to)) return {float_to_int(x.value, x.dtype, to), to};
  Scalar y = is_float(x.dtype) ? x : int_to_float(x, to);
  if (y.dtype == to && !saturate) return y;
  // f8 and f16 are clamped in f32, which holds them exactly.
  if (y.dtype != DType::F64) y = {float_to_float(y.value, y.dtype, DType::F32), DType::F32};
  if (to == DType::F64 && y.dtype != to) y = {b_.CreateFPExt(y.value, b_.getDoubleTy()), to};
  if (saturate) y.value = clamp_float(y.value, to);
  if (y.dtype == to) return y;
  if (y.dtype == DType::F32) return y;
  if (to == DType::F32) return {b_.CreateFPTrunc(y.value, b_.getFloatTy()), to};
  return {to_f32_odd(y.value), DType::F32};
}

/// NaN stays.
llvm::Value *Ops::clamp_float(llvm::Value *x, DType to) {
  double limit = largest_finite_of(to);
  llvm::Value *high = llvm::ConstantFP::get(x->getType(), limit);
  llvm::Value *low = llvm::ConstantFP::get(x->getType(), -limit);
  x = b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, high);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, low);
}

/// From and to types of at most 32 bits, or f32 to f64.
llvm::Value *Ops::float_to_float(llvm::Value *x, DType from, DType to) {
  if (from == to) return x;
  if (from == DType::F64) return float_to_float(to_f32_odd(x), DType::F32, to);
  llvm::Value *wide = x;
  if (is_float8(from))
    wide = emit_f8_to_f32(b_, x, from);
  else if (from != DType::F32)
    wide = b_.CreateFPExt(x, b_.getFloatTy());
  if (to == DType::F32) return wide;
  if (to == DType::F64) return b_.CreateFPExt(wide, b_.getDoubleTy());
  if (is_float8(to)) return emit_f32_to_f8(b_, wide, to);
  return b_.CreateFPTrunc(wide, type_of(to, b_.getContext()));
}

/// f64 to f32, rounded to odd: an inexact result has its last bit set.
llvm::Value *Ops::to_f32_odd(llvm::Value *x) {
  llvm::Value *nearest = b_.CreateFPTrunc(x, b_.getFloatTy());
  llvm::Value *back = b_.CreateFPExt(nearest, b_.getDoubleTy());
  llvm::Value *bits = b_.CreateBitCast(nearest, b_.getInt32Ty());
  llvm::Value *is_even = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), b_.getInt32(0));
  llvm::Value *adjust = b_.CreateAnd(b_.CreateFCmpONE(back, x), is_even);
  llvm::Value *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *inward =
      b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), size);
  llvm::Value *step = b_.CreateSelect(inward, b_.getInt32(~0U), b_.getInt32(1));
  llvm::Value *odd = b_.CreateBitCast(b_.CreateAdd(bits, step), b_.getFloatTy());
  return b_.CreateSelect(adjust, odd, nearest);
}

/// A 64-bit integer to f64, rounded to odd: digits beyond 53 bits are folded into the last.
llvm::Value *Ops::int64_to_f64_odd(llvm::Value *x, bool is_signed) {
  llvm::Value *zero = b_.getInt64(0);
  llvm::Value *negative = is_signed ? b_.CreateICmpSLT(x, zero) : b_.getFalse();
  llvm::Value *size = b_.CreateSelect(negative, b_.CreateNeg(x), x);
  constexpr std::uint64_t kBeyond = 0x7ff;
  llvm::Value *rest = b_.CreateICmpNE(b_.CreateAnd(size, kBeyond), zero);
  llvm::Value *folded = b_.CreateOr(b_.CreateAnd(size, ~kBeyond),
                                    b_.CreateShl(b_.CreateZExt(rest, b_.getInt64Ty()), 11));
  llvm::Value *is_large = b_.CreateICmpNE(b_.CreateLShr(size, 53), zero);
  llvm::Value *number = b_.CreateUIToFP(b_.CreateSelect(is_large, folded, size), b_.getDoubleTy());
  return b_.CreateSelect(negative, b_.CreateFNeg(number), number);
}

/// To the float type itself, or to a wider one that still holds what its rounding needs.
Scalar Ops::int_to_float(const Scalar &x, DType to) {
  bool is_signed = is_signed_int(x.dtype);
  auto number = [&](DType type) -> Scalar {
    llvm::Type *t = type_of(type, b_.getContext());
    return {is_signed ? b_.CreateSIToFP(x.value, t) : b_.CreateUIToFP(x.value, t), type};
  };
  if (to == DType::F64 || to == DType::F32) return number(to);
  std::size_t size = size_of(x.dtype);
  if (size <= 2) return number(DType::F32);
  if (size == 4) return number(DType::F64);
  return {int64_to_f64_odd(x.value, is_signed), DType::F64};
}

llvm::Value *Ops::float_to_int(llvm::Value *x, DType from, DType to) {
  llvm::Value *wide = from == DType::F64 ? x : float_to_float(x, from, DType::F32);
  if (is_bool(to)) return b_.CreateFCmpUNE(wide, llvm::ConstantFP::get(wide->getType(), 0));
  llvm::Type *type = type_of(to, b_.getContext());
  llvm::Intrinsic::ID id =
      is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b_.CreateIntrinsic(id, {type, wide->getType()}, {wide});
}

llvm::Value *Ops::int_to_int(const Scalar &x, DType to) {
  if (is_bool(to)) return b_.CreateIsNotNull(x.value);
  llvm::Type *type = type_of(to, b_.getContext());
  return is_signed_int(x.dtype) ? b_.CreateSExtOrTrunc(x.value, type)
                                : b_.CreateZExtOrTrunc(x.value, type);
}

/// In 65 bits every integer type is signed.
llvm::Value *Ops::clamp_int(const Scalar &x, DType to) {
  if (is_bool(to) || is_bool(x.dtype)) return int_to_int(x, to);
  llvm::Type *wide = b_.getIntNTy(size_of(x.dtype) == 8 || size_of(to) == 8 ? 128 : 64);
  auto extend = [&](llvm::Value *v, DType type) {
    return is_signed_int(type) ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide);
  };
  llvm::Value *value = extend(x.value, x.dtype);
  value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, extend(least(to), to));
  value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, extend(greatest(to), to));
  return b_.CreateTrunc(value, type_of(to, b_.getContext()));
}

}  // namespace fuse
