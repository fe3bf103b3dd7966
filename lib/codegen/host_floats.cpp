// Expansion of 16-bit floating-point operations; the rule is in the header.
#include "codegen/host_floats.h"

#include "ir/format.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

#include <vector>

namespace fuse {

namespace {

using namespace llvm;

class Expander {
 public:
  explicit Expander(Instruction *at) : b_(at) {}

  Value *replacement(Instruction &instruction);

 private:
  Type *like(Type *shape, Type *scalar) {
    auto *vector = dyn_cast<VectorType>(shape);
    return vector ? VectorType::get(scalar, vector->getElementCount()) : scalar;
  }
  Type *i16(Type *shape) { return like(shape, b_.getInt16Ty()); }
  Type *i32(Type *shape) { return like(shape, b_.getInt32Ty()); }
  Type *i64(Type *shape) { return like(shape, b_.getInt64Ty()); }
  Type *f32(Type *shape) { return like(shape, b_.getFloatTy()); }
  Type *f64(Type *shape) { return like(shape, b_.getDoubleTy()); }

  Value *to_f32(Value *value);
  Value *half_to_f32(Value *bits);
  Value *to_wide(Value *value, Type *wide);
  Value *from_f32(Value *value, Type *type);
  Value *f32_to_bfloat(Value *value);
  Value *f32_to_half(Value *value);
  Value *from_f64(Value *value, Type *type) { return from_f32(round_to_odd(value), type); }
  Value *round_to_odd(Value *value);
  Value *from_wide(Value *value, Type *type);
  Value *from_int(CastInst &cast);
  Value *fma(Value *a, Value *b, Value *c);
  Value *intrinsic(IntrinsicInst &call);

  IRBuilder<> b_;
};

Value *Expander::to_f32(Value *value) {
  Type *type = value->getType();
  Value *bits = b_.CreateZExt(b_.CreateBitCast(value, i16(type)), i32(type));
  if (type->getScalarType()->isHalfTy()) return half_to_f32(bits);
  return b_.CreateBitCast(b_.CreateShl(bits, 16), f32(type));
}

/// The exponent is moved by an exact multiplication, which normalises denormals too.
Value *Expander::half_to_f32(Value *bits) {
  Type *wide = bits->getType();
  Value *magnitude = b_.CreateAnd(bits, 0x7fff);
  Value *moved = b_.CreateBitCast(b_.CreateShl(magnitude, 13), f32(wide));
  Value *finite = b_.CreateFMul(moved, ConstantFP::get(f32(wide), 0x1p112));
  Value *special = b_.CreateICmpUGE(magnitude, ConstantInt::get(wide, 0x7c00));
  Value *infinite = b_.CreateOr(b_.CreateBitCast(moved, wide), 0x7f800000);
  Value *result = b_.CreateSelect(special, infinite, b_.CreateBitCast(finite, wide));
  Value *sign = b_.CreateShl(b_.CreateAnd(bits, 0x8000), 16);
  return b_.CreateBitCast(b_.CreateOr(result, sign), f32(wide));
}

Value *Expander::to_wide(Value *value, Type *wide) {
  Value *single = to_f32(value);
  return wide->getScalarType()->isDoubleTy() ? b_.CreateFPExt(single, wide) : single;
}

Value *Expander::from_f32(Value *value, Type *type) {
  Value *bits = type->getScalarType()->isHalfTy() ? f32_to_half(value) : f32_to_bfloat(value);
  return b_.CreateBitCast(b_.CreateTrunc(bits, i16(type)), type);
}

Value *Expander::f32_to_bfloat(Value *value) {
  Type *wide = i32(value->getType());
  Value *bits = b_.CreateBitCast(value, wide);
  Value *odd = b_.CreateAnd(b_.CreateLShr(bits, 16), 1);
  Value *bias = b_.CreateAdd(odd, ConstantInt::get(wide, 0x7fff));
  Value *rounded = b_.CreateLShr(b_.CreateAdd(bits, bias), 16);
  return b_.CreateSelect(b_.CreateFCmpUNO(value, value), ConstantInt::get(wide, 0x7fff), rounded);
}

/// Normal results round on the bits; denormal ones in an f32 addition that ends at their last bit.
Value *Expander::f32_to_half(Value *value) {
  Type *single = value->getType();
  Type *wide = i32(single);
  auto constant = [&](std::uint32_t bits) { return ConstantInt::get(wide, bits); };
  Value *bits = b_.CreateBitCast(value, wide);
  Value *sign = b_.CreateLShr(b_.CreateAnd(bits, 0x80000000u), 16);
  Value *magnitude = b_.CreateAnd(bits, 0x7fffffff);

  Value *odd = b_.CreateAnd(b_.CreateLShr(magnitude, 13), 1);
  Value *rebiased = b_.CreateAdd(magnitude, constant((15u - 127u) * (1u << 23) + 0xfff));
  Value *normal = b_.CreateLShr(b_.CreateAdd(rebiased, odd), 13);

  constexpr std::uint32_t kMagic = (127 - 15 + 23 - 10 + 1) << 23;
  Value *sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, single),
                             b_.CreateBitCast(constant(kMagic), single));
  Value *denormal = b_.CreateSub(b_.CreateBitCast(sum, wide), constant(kMagic));

  Value *result =
      b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(113u << 23)), denormal, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant((127u + 16) << 23)),
                           constant(0x7c00), result);
  result =
      b_.CreateSelect(b_.CreateICmpUGT(magnitude, constant(255u << 23)), constant(0x7fff), result);
  return b_.CreateOr(result, sign);
}

/// f64 -> f32 such that a further rounding to fewer bits is as if done once.
Value *Expander::round_to_odd(Value *value) {
  Type *wide = i32(value->getType());
  Value *nearest = b_.CreateFPTrunc(value, f32(value->getType()));
  Value *back = b_.CreateFPExt(nearest, value->getType());
  Value *bits = b_.CreateBitCast(nearest, wide);
  Value *above = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                  b_.CreateUnaryIntrinsic(Intrinsic::fabs, value));
  Value *step = b_.CreateSelect(above, ConstantInt::getSigned(wide, -1), ConstantInt::get(wide, 1));
  Value *even = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), ConstantInt::get(wide, 0));
  Value *moves = b_.CreateAnd(b_.CreateFCmpONE(back, value), even);
  Value *odd = b_.CreateSelect(moves, b_.CreateAdd(bits, step), bits);
  return b_.CreateBitCast(odd, nearest->getType());
}

Value *Expander::from_wide(Value *value, Type *type) {
  return value->getType()->getScalarType()->isDoubleTy() ? from_f64(value, type)
                                                         : from_f32(value, type);
}

/// Integers of more than 53 bits keep a sticky bit below those that f64 holds.
Value *Expander::from_int(CastInst &cast) {
  Value *value = cast.getOperand(0);
  bool is_signed = cast.getOpcode() == Instruction::SIToFP;
  Type *wide = i64(value->getType());
  value = is_signed ? b_.CreateSExtOrTrunc(value, wide) : b_.CreateZExtOrTrunc(value, wide);
  Value *sticky = b_.CreateICmpNE(b_.CreateAnd(value, 0xfff), ConstantInt::get(wide, 0));
  Value *cut = b_.CreateOr(b_.CreateAnd(value, ~std::uint64_t{0xfff}),
                           b_.CreateShl(b_.CreateZExt(sticky, wide), 11));
  Value *magnitude =
      is_signed ? b_.CreateBinaryIntrinsic(Intrinsic::abs, value, b_.getFalse()) : value;
  Value *large = b_.CreateICmpUGE(magnitude, ConstantInt::get(wide, std::uint64_t{1} << 53));
  value = b_.CreateSelect(large, cut, value);
  Type *real = f64(wide);
  Value *exact = is_signed ? b_.CreateSIToFP(value, real) : b_.CreateUIToFP(value, real);
  return from_f64(exact, cast.getType());
}

/// The product is exact in f64; the sum is rounded to odd with the help of its error.
Value *Expander::fma(Value *a, Value *b, Value *c) {
  Type *real = f64(a->getType());
  Type *type = a->getType();
  Value *product = b_.CreateFMul(to_wide(a, real), to_wide(b, real));
  Value *addend = to_wide(c, real);
  Value *sum = b_.CreateFAdd(product, addend);
  Value *part = b_.CreateFSub(sum, product);
  Value *error =
      b_.CreateFAdd(b_.CreateFSub(product, b_.CreateFSub(sum, part)), b_.CreateFSub(addend, part));
  Type *wide = i64(type);
  Value *zero = ConstantFP::get(real, 0.0);
  Value *bits = b_.CreateBitCast(sum, wide);
  Value *outward = b_.CreateICmpEQ(b_.CreateFCmpOGT(error, zero), b_.CreateFCmpOGT(sum, zero));
  Value *step =
      b_.CreateSelect(outward, ConstantInt::get(wide, 1), ConstantInt::getSigned(wide, -1));
  Value *even = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), ConstantInt::get(wide, 0));
  Value *moves = b_.CreateAnd(b_.CreateFCmpONE(error, zero), even);
  Value *odd = b_.CreateSelect(moves, b_.CreateAdd(bits, step), bits);
  return from_f64(b_.CreateBitCast(odd, real), type);
}

Value *Expander::intrinsic(IntrinsicInst &call) {
  Intrinsic::ID id = call.getIntrinsicID();
  if (id == Intrinsic::fma || id == Intrinsic::fmuladd)
    return fma(call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2));
  std::vector<Value *> operands;
  for (Value *operand : call.args())
    operands.push_back(is_16bit(operand->getType()) ? to_f32(operand) : operand);
  Type *type = call.getType();
  if (!is_16bit(type)) {
    Type *overloads[] = {type, operands[0]->getType()};
    bool of_result = id == Intrinsic::fptosi_sat || id == Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, ArrayRef<Type *>(overloads).drop_front(of_result ? 0 : 1),
                              operands);
  }
  std::vector<Type *> overloads{f32(type)};
  if (id == Intrinsic::ldexp) overloads.push_back(operands[1]->getType());
  return from_f32(b_.CreateIntrinsic(id, overloads, operands, &call), type);
}

Value *Expander::replacement(Instruction &instruction) {
  Type *type = instruction.getType();
  auto operand = [&](unsigned i) { return instruction.getOperand(i); };
  switch (instruction.getOpcode()) {
    case Instruction::FPExt: return to_wide(operand(0), type);
    case Instruction::FPTrunc: return from_wide(operand(0), type);
    case Instruction::SIToFP:
    case Instruction::UIToFP: return from_int(cast<CastInst>(instruction));
    case Instruction::FPToSI: return b_.CreateFPToSI(to_f32(operand(0)), type);
    case Instruction::FPToUI: return b_.CreateFPToUI(to_f32(operand(0)), type);
    case Instruction::FCmp:
      return b_.CreateFCmp(cast<FCmpInst>(instruction).getPredicate(), to_f32(operand(0)),
                           to_f32(operand(1)));
    case Instruction::FNeg: return from_f32(b_.CreateFNeg(to_f32(operand(0))), type);
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::FDiv:
    case Instruction::FRem:
      return from_f32(b_.CreateBinOp(static_cast<Instruction::BinaryOps>(instruction.getOpcode()),
                                     to_f32(operand(0)), to_f32(operand(1))),
                      type);
    case Instruction::Call:
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) return intrinsic(*call);
      return nullptr;
    default: return nullptr;  // a move
  }
}

bool touches_16bit(const Instruction &instruction) {
  if (is_16bit(instruction.getType())) return true;
  for (const Value *operand : instruction.operands())
    if (is_16bit(operand->getType())) return true;
  return false;
}

}  // namespace

void expand_16bit_floats(Function &function) {
  std::vector<Instruction *> work;
  for (Instruction &instruction : instructions(function))
    if (touches_16bit(instruction)) work.push_back(&instruction);
  for (Instruction *instruction : work) {
    Value *value = Expander(instruction).replacement(*instruction);
    if (!value) continue;
    instruction->replaceAllUsesWith(value);
    instruction->eraseFromParent();
  }
}

}  // namespace fuse
