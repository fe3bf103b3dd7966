#include "codegen/float8.h"

#include "codegen/hooks.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace fuse {

using Builder = llvm::IRBuilder<>;
using Values = std::vector<llvm::Value *>;

namespace {

/// Magnitudes that round beyond the greatest finite value, from here on, or above.
bool overflows_at_bound(DType to) { return to == DType::F8E5M2; }
double overflow_bound(DType to) { return to == DType::F8E5M2 ? 61440 : 464; }
std::uint32_t overflow_bits(DType to) { return to == DType::F8E5M2 ? 0x7c : 0x7f; }

llvm::Value *sign_bit(Builder &b, llvm::Value *x) {
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  return b.CreateTrunc(b.CreateAnd(b.CreateLShr(bits, 24), 0x80), b.getInt8Ty());
}

/// The instruction saturates: what overflows is put right.
llvm::Value *with_overflow(Builder &b, llvm::Value *x, llvm::Value *byte, DType to) {
  llvm::Value *size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *bound = llvm::ConstantFP::get(x->getType(), overflow_bound(to));
  llvm::Value *overflows =
      overflows_at_bound(to) ? b.CreateFCmpOGE(size, bound) : b.CreateFCmpOGT(size, bound);
  auto bits = static_cast<std::uint8_t>(overflow_bits(to));
  return b.CreateSelect(overflows, b.CreateOr(sign_bit(b, x), b.getInt8(bits)), byte);
}

}  // namespace

/// Normal results round by adding half a unit to the bits; those below the least normal by adding
/// a float whose unit is theirs. Overflow is NaN in e4m3, which has no infinity.
llvm::Value *emit_f32_to_f8(Builder &b, llvm::Value *x, DType to) {
  bool is_e4m3 = to == DType::F8E4M3;
  unsigned drop = is_e4m3 ? 20 : 21;
  std::uint32_t rebias = is_e4m3 ? (127 - 7) << 3 : (127 - 15) << 2;
  float unit = is_e4m3 ? 0x1p14F : 0x1p7F, least_normal = is_e4m3 ? 0x1p-6F : 0x1p-14F;
  std::uint32_t overflow = is_e4m3 ? 0x7f : 0x7c;
  llvm::Type *f32 = b.getFloatTy(), *i32 = b.getInt32Ty();
  llvm::Value *size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value *bits = b.CreateBitCast(size, i32);
  llvm::Value *half =
      b.CreateAdd(b.CreateAnd(b.CreateLShr(bits, drop), 1), b.getInt32((1U << (drop - 1)) - 1));
  llvm::Value *normal = b.CreateLShr(b.CreateAdd(bits, half), drop);
  normal = b.CreateSub(normal, b.getInt32(rebias));
  llvm::Value *offset = llvm::ConstantFP::get(f32, unit);
  llvm::Value *small =
      b.CreateSub(b.CreateBitCast(b.CreateFAdd(size, offset), i32), b.CreateBitCast(offset, i32));
  llvm::Value *is_small = b.CreateFCmpOLT(size, llvm::ConstantFP::get(f32, least_normal));
  llvm::Value *result = b.CreateSelect(is_small, small, normal);
  result = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, result, b.getInt32(overflow));
  result = b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt32(0x7f), result);
  llvm::Value *sign = b.CreateAnd(b.CreateLShr(b.CreateBitCast(x, i32), 24), 0x80);
  return b.CreateTrunc(b.CreateOr(result, sign), b.getInt8Ty());
}

/// Both are an f16 with fewer digits: e5m2 in the upper byte, e4m3 up to the exponent's bias.
llvm::Value *emit_f8_to_f32(Builder &b, llvm::Value *x, DType from) {
  llvm::Type *f32 = b.getFloatTy();
  llvm::Value *bits = b.CreateShl(b.CreateZExt(x, b.getInt16Ty()), 8);
  if (from == DType::F8E5M2) return b.CreateFPExt(b.CreateBitCast(bits, b.getHalfTy()), f32);
  llvm::Value *sign = b.CreateAnd(bits, 0x8000);
  llvm::Value *digits = b.CreateAnd(b.CreateLShr(bits, 1), 0x3f80);
  llvm::Value *scaled =
      b.CreateFPExt(b.CreateBitCast(b.CreateOr(sign, digits), b.getHalfTy()), f32);
  llvm::Value *value = b.CreateFMul(scaled, llvm::ConstantFP::get(f32, 256));
  llvm::Value *is_nan = b.CreateICmpEQ(digits, b.getInt16(0x3f80));
  return b.CreateSelect(is_nan, llvm::ConstantFP::getNaN(f32), value);
}

llvm::Value *emit_f32_to_f8_saturating(Builder &b, llvm::Value *x, DType to) {
  double limit = to == DType::F8E5M2 ? 57344 : 448;
  llvm::Value *clamped = b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x,
                                                 llvm::ConstantFP::get(x->getType(), limit));
  clamped = b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, clamped,
                                    llvm::ConstantFP::get(x->getType(), -limit));
  llvm::Value *byte = emit_f32_to_f8(b, clamped, to);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), b.getInt8(0x7f), byte);
}

Values emit_f32_to_f8_pairs(Builder &b, const Values &x, DType to, bool saturate) {
  llvm::Intrinsic::ID id = to == DType::F8E4M3 ? llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn
                                               : llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn;
  llvm::Type *bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 2);
  Values results;
  for (std::size_t s = 0; s + 1 < x.size(); s += 2) {
    // The first operand goes to the upper byte.
    llvm::Value *pair = b.CreateIntrinsic(b.getInt16Ty(), id, {x[s + 1], x[s]});
    pair = b.CreateBitCast(pair, bytes);
    for (std::uint64_t i : {0, 1}) {
      llvm::Value *byte = b.CreateExtractElement(pair, i);
      results.push_back(saturate ? byte : with_overflow(b, x[s + i], byte, to));
    }
  }
  return results;
}

Values emit_e4m3_to_f32_pairs(Builder &b, const Values &x) {
  llvm::Function *unpack = hook_function(*b.GetInsertBlock()->getModule(), Hook::unpack_e4m3);
  llvm::Type *bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 2);
  Values results;
  for (std::size_t s = 0; s + 1 < x.size(); s += 2) {
    llvm::Value *pair =
        b.CreateInsertElement(llvm::PoisonValue::get(bytes), x[s], std::uint64_t{0});
    pair = b.CreateInsertElement(pair, x[s + 1], std::uint64_t{1});
    llvm::Value *halves = b.CreateCall(unpack, {b.CreateBitCast(pair, b.getInt16Ty())});
    for (unsigned shift : {0U, 16U}) {
      llvm::Value *half = b.CreateTrunc(b.CreateLShr(halves, shift), b.getInt16Ty());
      results.push_back(b.CreateFPExt(b.CreateBitCast(half, b.getHalfTy()), b.getFloatTy()));
    }
  }
  return results;
}

}  // namespace fuse
