// Float operations, comparisons and selects; the frame that all dtypes share.
//
// Every operation is computed in its compute type (f32 for narrower floats) and rounded once. The
// semantics are those of ops.def.
#include "codegen/ops.h"
#include "codegen/float8.h"

#include "codegen/math.h"
#include "ir/format.h"
#include "ir/op.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <limits>

namespace fuse {

llvm::Type *type_of(DType dtype, llvm::LLVMContext &context) {
  switch (dtype) {
    case DType::Bool: return llvm::Type::getInt1Ty(context);
    case DType::I8:
    case DType::U8:
    case DType::F8E4M3:
    case DType::F8E5M2: return llvm::Type::getInt8Ty(context);
    case DType::I16:
    case DType::U16: return llvm::Type::getInt16Ty(context);
    case DType::I32:
    case DType::U32: return llvm::Type::getInt32Ty(context);
    case DType::I64:
    case DType::U64: return llvm::Type::getInt64Ty(context);
    case DType::F16: return llvm::Type::getHalfTy(context);
    case DType::BF16: return llvm::Type::getBFloatTy(context);
    case DType::F32: return llvm::Type::getFloatTy(context);
    case DType::F64: return llvm::Type::getDoubleTy(context);
  }
  return nullptr;
}

llvm::Type *memory_type_of(DType dtype, llvm::LLVMContext &context) {
  return is_bool(dtype) ? llvm::Type::getInt8Ty(context) : type_of(dtype, context);
}

namespace {

/// f64 if any operand is, else f32 for floats, else the first operand's dtype.
DType compute_dtype(std::span<const Scalar> operands) {
  for (const Scalar &x : operands)
    if (x.dtype == DType::F64) return x.dtype;
  return compute_type(operands[0].dtype);
}

}  // namespace

llvm::Value *Ops::constant(DType dtype, double value) {
  llvm::Type *type = type_of(dtype, b_.getContext());
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, value);
  return llvm::ConstantInt::getSigned(type, static_cast<std::int64_t>(value));
}

llvm::Value *Ops::least(DType dtype) {
  llvm::Type *type = type_of(dtype, b_.getContext());
  if (is_float8(dtype)) return b_.getInt8(dtype == DType::F8E4M3 ? 0xfe : 0xfc);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::getInfinity(type, true);
  unsigned bits = type->getIntegerBitWidth();
  return llvm::ConstantInt::get(
      type, is_signed_int(dtype) ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0));
}

llvm::Value *Ops::greatest(DType dtype) {
  llvm::Type *type = type_of(dtype, b_.getContext());
  if (is_float8(dtype)) return b_.getInt8(dtype == DType::F8E4M3 ? 0x7e : 0x7c);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::getInfinity(type, false);
  unsigned bits = type->getIntegerBitWidth();
  return llvm::ConstantInt::get(type, is_signed_int(dtype) ? llvm::APInt::getSignedMaxValue(bits)
                                                           : llvm::APInt::getMaxValue(bits));
}

llvm::Value *Ops::exp2(llvm::Value *x, bool flushes) {
  llvm::Intrinsic::ID id =
      flushes ? llvm::Intrinsic::nvvm_ex2_approx_ftz : llvm::Intrinsic::nvvm_ex2_approx;
  return b_.CreateIntrinsic(b_.getFloatTy(), id, {x});
}

llvm::Value *Ops::emit(Op op, DType result, std::span<const Scalar> operands) {
  return cast(compute(op, result, operands), result);
}

Values Ops::emit_slots(Op op, DType result, const std::vector<Values> &operands,
                       std::span<const DType> dtypes, bool approximate) {
  bool are_bytes = dtypes[0] == DType::I8 || dtypes[0] == DType::U8;
  if (op == Op::Cast && are_bytes && result == DType::F32 && operands[0].size() % 4 == 0)
    return bytes_to_floats(operands[0], dtypes[0] == DType::I8);
  bool in_pairs = operands[0].size() % 2 == 0 && target_.sm >= kFloat8Instructions;
  if (op == Op::Cast && dtypes[0] == DType::F8E4M3 && result == DType::F32 && in_pairs)
    return emit_e4m3_to_f32_pairs(b_, operands[0]);
  if (in_pairs && is_float8(result) && (op == Op::Cast || op == Op::CastSat))
    return to_float8(operands[0], dtypes[0], result, op == Op::CastSat);
  std::vector<Scalar> slots;
  for (std::size_t s = 0; s < operands[0].size(); ++s) {
    std::vector<Scalar> x;
    for (std::size_t i = 0; i < operands.size(); ++i) x.push_back({operands[i][s], dtypes[i]});
    slots.push_back(compute(op, result, x, approximate));
  }
  return round_slots(slots, result);
}

Values Ops::to_float8(const Values &x, DType from, DType to, bool saturate) {
  Values floats;
  for (llvm::Value *value : x)
    floats.push_back(cast(convert(Op::Cast, to, {value, from}), DType::F32));
  return emit_f32_to_f8_pairs(b_, floats, to, saturate);
}

/// Four neighbours share a word. A byte n in the mantissa of 2^23 is 2^23 + n, a signed one with
/// its sign bit flipped is 2^23 + 128 + n: one permutation and one exact subtraction, where
/// conversions run at a quarter of that rate.
Values Ops::bytes_to_floats(const Values &bytes, bool are_signed) {
  constexpr std::uint32_t kExponent = 0x4b000000, kSigns = 0x80808080, kSelect = 0x7650;
  constexpr double kBase = 8388608;
  Values floats;
  for (std::size_t s = 0; s < bytes.size(); s += 4) {
    llvm::Value *four = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt8Ty(), 4));
    for (unsigned i = 0; i < 4; ++i) four = b_.CreateInsertElement(four, bytes[s + i], i);
    llvm::Value *word = b_.CreateBitCast(four, b_.getInt32Ty());
    if (are_signed) word = b_.CreateXor(word, b_.getInt32(kSigns));
    for (unsigned i = 0; i < 4; ++i) {
      llvm::Value *bits =
          b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_prmt,
                             {word, b_.getInt32(kExponent), b_.getInt32(kSelect + i)});
      llvm::Value *base = constant(DType::F32, are_signed ? kBase + 128 : kBase);
      floats.push_back(b_.CreateFSub(b_.CreateBitCast(bits, b_.getFloatTy()), base));
    }
  }
  return floats;
}

/// Neighbours of 16 bits are rounded together: one instruction packs two.
Values Ops::round_slots(const std::vector<Scalar> &slots, DType to) {
  bool in_pairs = is_float16(to) && slots[0].dtype == DType::F32 && slots.size() % 2 == 0;
  Values results;
  for (std::size_t s = 0; s < slots.size(); s += 2) {
    if (!in_pairs) {
      results.push_back(cast(slots[s], to));
      if (s + 1 < slots.size()) results.push_back(cast(slots[s + 1], to));
      continue;
    }
    llvm::Value *pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getFloatTy(), 2));
    pair = b_.CreateInsertElement(pair, slots[s].value, std::uint64_t{0});
    pair = b_.CreateInsertElement(pair, slots[s + 1].value, std::uint64_t{1});
    llvm::Type *narrow = llvm::FixedVectorType::get(type_of(to, b_.getContext()), 2);
    pair = b_.CreateFPTrunc(pair, narrow);
    results.push_back(b_.CreateExtractElement(pair, std::uint64_t{0}));
    results.push_back(b_.CreateExtractElement(pair, std::uint64_t{1}));
  }
  return results;
}

/// The result before the rounding to its dtype.
Scalar Ops::compute(Op op, DType result, std::span<const Scalar> operands, bool approximate) {
  const OpInfo &row = info(op);
  if (row.kind == OpKind::Convert) return convert(op, result, operands[0]);
  if (op == Op::Select) return emit_select(result, operands);
  if (op == Op::Fma && is_float16(result)) return emit_fma_16(operands);
  DType type = compute_dtype(operands);
  Values x;
  for (const Scalar &operand : operands) x.push_back(cast(operand, type));
  if (row.kind == OpKind::Compare) return {emit_compare(op, type, x[0], x[1]), DType::Bool};
  if (row.kind == OpKind::Test) return {emit_test(op, type, x[0]), DType::Bool};
  if (approximate && type == DType::F32) return {emit_approximate(b_, op, x), type};
  if (!is_float(type)) return {emit_int(op, type, x), type};
  if (row.is(Exact)) return {emit_float(op, type, x), type};
  return {emit_math(b_, op, x), type};
}

llvm::Value *Ops::emit_compare(Op op, DType dtype, llvm::Value *x, llvm::Value *y) {
  using P = llvm::CmpInst::Predicate;
  auto pick = [&](P of_float, P of_signed, P of_unsigned) {
    P predicate = is_float(dtype) ? of_float : is_signed_int(dtype) ? of_signed : of_unsigned;
    return b_.CreateCmp(predicate, x, y);
  };
  if (op == Op::Eq) return pick(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
  if (op == Op::Ne) return pick(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
  if (op == Op::Lt) return pick(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
  if (op == Op::Le) return pick(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
  if (op == Op::Gt) return pick(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
  FUSE_CHECK(op == Op::Ge, "{} is not a comparison", info(op).text);
  return pick(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
}

llvm::Value *Ops::emit_test(Op op, DType dtype, llvm::Value *x) {
  if (!is_float(dtype)) return b_.getInt1(op == Op::IsFinite);
  if (op == Op::IsNan) return b_.CreateFCmpUNO(x, x);
  llvm::Value *size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *infinity = llvm::ConstantFP::getInfinity(x->getType());
  return op == Op::IsInf ? b_.CreateFCmpOEQ(size, infinity) : b_.CreateFCmpOLT(size, infinity);
}

Scalar Ops::emit_select(DType result, std::span<const Scalar> operands) {
  bool as_is = operands[1].dtype == result && operands[2].dtype == result;
  DType type = as_is ? result : compute_type(result);
  llvm::Value *x = cast(operands[1], type), *y = cast(operands[2], type);
  return {b_.CreateSelect(operands[0].value, x, y), type};
}

/// a * b is exact in f64; the sum is rounded to odd, so that rounding it again rounds it once.
Scalar Ops::emit_fma_16(std::span<const Scalar> operands) {
  llvm::Value *a = cast(operands[0], DType::F64), *b = cast(operands[1], DType::F64);
  llvm::Value *c = cast(operands[2], DType::F64);
  llvm::Value *product = b_.CreateFMul(a, b);
  llvm::Value *sum = b_.CreateFAdd(product, c);
  llvm::Value *shadow = b_.CreateFSub(sum, product);
  llvm::Value *error =
      b_.CreateFAdd(b_.CreateFSub(product, b_.CreateFSub(sum, shadow)), b_.CreateFSub(c, shadow));
  llvm::Value *bits = b_.CreateBitCast(sum, b_.getInt64Ty());
  llvm::Value *zero = llvm::ConstantFP::get(b_.getDoubleTy(), 0);
  llvm::Value *is_even = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), b_.getInt64(0));
  llvm::Value *adjust = b_.CreateAnd(b_.CreateFCmpONE(error, zero), is_even);
  // An error of the sum's sign lies farther from zero.
  llvm::Value *outward = b_.CreateICmpSGE(
      b_.CreateXor(bits, b_.CreateBitCast(error, b_.getInt64Ty())), b_.getInt64(0));
  llvm::Value *step = b_.CreateSelect(outward, b_.getInt64(1), b_.getInt64(-1));
  llvm::Value *odd = b_.CreateBitCast(b_.CreateAdd(bits, step), b_.getDoubleTy());
  return {b_.CreateSelect(adjust, odd, sum), DType::F64};
}

llvm::Value *Ops::emit_min_max(bool is_max, DType dtype, llvm::Value *x, llvm::Value *y) {
  if (is_float(dtype))
    return b_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x,
                                    y);
  if (is_bool(dtype)) return is_max ? b_.CreateOr(x, y) : b_.CreateAnd(x, y);
  llvm::Intrinsic::ID of_signed = is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
  llvm::Intrinsic::ID of_unsigned = is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin;
  return b_.CreateBinaryIntrinsic(is_signed_int(dtype) ? of_signed : of_unsigned, x, y);
}

/// The remainder moved to the divisor's sign; a zero takes that sign too.
llvm::Value *Ops::emit_float_mod(llvm::Value *x, llvm::Value *y) {
  llvm::Value *zero = llvm::ConstantFP::get(x->getType(), 0);
  llvm::Value *r = emit_fmod(b_, x, y);
  llvm::Value *differ = b_.CreateXor(b_.CreateFCmpOLT(r, zero), b_.CreateFCmpOLT(y, zero));
  llvm::Value *moved = b_.CreateSelect(differ, b_.CreateFAdd(r, y), r);
  llvm::Value *signed_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, y);
  return b_.CreateSelect(b_.CreateFCmpOEQ(r, zero), signed_zero, moved);
}

/// The quotient without its remainder, snapped to the nearest integer, as Python has it.
llvm::Value *Ops::emit_floor_divide(llvm::Value *x, llvm::Value *y) {
  auto number = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
  llvm::Value *zero = number(0);
  llvm::Value *r = emit_fmod(b_, x, y), *plain = b_.CreateFDiv(x, y);
  llvm::Value *quotient = b_.CreateFDiv(b_.CreateFSub(x, r), y);
  llvm::Value *differ = b_.CreateXor(b_.CreateFCmpOLT(r, zero), b_.CreateFCmpOLT(y, zero));
  llvm::Value *lower = b_.CreateAnd(b_.CreateFCmpUNE(r, zero), differ);
  quotient = b_.CreateSelect(lower, b_.CreateFSub(quotient, number(1)), quotient);
  llvm::Value *below = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient);
  llvm::Value *up = b_.CreateFCmpOGT(b_.CreateFSub(quotient, below), number(0.5));
  llvm::Value *snapped = b_.CreateSelect(up, b_.CreateFAdd(below, number(1)), below);
  llvm::Value *signed_zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, plain);
  snapped = b_.CreateSelect(b_.CreateFCmpOEQ(quotient, zero), signed_zero, snapped);
  return b_.CreateSelect(b_.CreateFCmpOEQ(y, zero), plain, snapped);
}

llvm::Value *Ops::emit_float(Op op, DType dtype, const Values &x) {
  auto unary = [&](llvm::Intrinsic::ID id) -> llvm::Value * {
    return b_.CreateUnaryIntrinsic(id, x[0]);
  };
  llvm::Value *zero = llvm::ConstantFP::get(x[0]->getType(), 0);
  switch (op) {
    case Op::Neg: return b_.CreateFNeg(x[0]);
    case Op::Abs: return unary(llvm::Intrinsic::fabs);
    case Op::Sign: {
      llvm::Value *negative = b_.CreateSelect(b_.CreateFCmpOLT(x[0], zero),
                                              llvm::ConstantFP::get(x[0]->getType(), -1), x[0]);
      return b_.CreateSelect(b_.CreateFCmpOGT(x[0], zero),
                             llvm::ConstantFP::get(x[0]->getType(), 1), negative);
    }
    case Op::Floor: return unary(llvm::Intrinsic::floor);
    case Op::Ceil: return unary(llvm::Intrinsic::ceil);
    case Op::Round: return unary(llvm::Intrinsic::roundeven);
    case Op::Trunc: return unary(llvm::Intrinsic::trunc);
    case Op::Sqrt: return unary(llvm::Intrinsic::sqrt);
    case Op::Add: return b_.CreateFAdd(x[0], x[1]);
    case Op::Sub: return b_.CreateFSub(x[0], x[1]);
    case Op::Mul: return b_.CreateFMul(x[0], x[1]);
    case Op::Div: return b_.CreateFDiv(x[0], x[1]);
    case Op::FloorDiv: return emit_floor_divide(x[0], x[1]);
    case Op::Mod: return emit_float_mod(x[0], x[1]);
    case Op::Rem: return emit_fmod(b_, x[0], x[1]);
    case Op::Min:
    case Op::Max: return emit_min_max(op == Op::Max, dtype, x[0], x[1]);
    case Op::Fma:
      return b_.CreateIntrinsic(x[0]->getType(), llvm::Intrinsic::fma, {x[0], x[1], x[2]});
    case Op::Input:
    case Op::Constant:
    case Op::Iota:
    case Op::RandomBits:
    case Op::Not:
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
    case Op::Pow:
    case Op::Atan2:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Shl:
    case Op::Shr:
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite:
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
  fail(ErrorCode::Internal, "{} is not an exact float operation", info(op).text);
}

}  // namespace fuse
