// Algorithms that loop: the remainder of floats and the power of integers.
#include "codegen/control.h"
#include "codegen/math.h"

namespace fuse {

namespace {

struct FloatFormat {
  unsigned bits, digits;  // digits stored
};

/// Significand with its leading one, and exponent (1 for subnormals), of a positive number's bits.
struct Split {
  llvm::Value *significand, *exponent;
};

Split split(Builder &b, llvm::Value *size, FloatFormat format) {
  llvm::Type *type = size->getType();
  llvm::Value *exponent = b.CreateLShr(size, format.digits);
  llvm::Value *fraction = b.CreateAnd(size, (std::uint64_t{1} << format.digits) - 1);
  llvm::Value *is_normal = b.CreateIsNotNull(exponent);
  llvm::Value *one = llvm::ConstantInt::get(type, 1);
  llvm::Value *leading = b.CreateShl(b.CreateZExt(is_normal, type), format.digits);
  return {b.CreateOr(fraction, leading), b.CreateSelect(is_normal, exponent, one)};
}

/// Long division on the significands, then the remainder scaled to the divisor's exponent.
llvm::Value *emit_fmod_body(Builder &b, llvm::Value *x, llvm::Value *y) {
  llvm::Type *type = x->getType();
  FloatFormat format = type->isDoubleTy() ? FloatFormat{64, 52} : FloatFormat{32, 23};
  llvm::Type *word = b.getIntNTy(format.bits);
  auto number = [&](std::uint64_t v) { return llvm::ConstantInt::get(word, v); };
  auto size_of_bits = [&](llvm::Value *v) {
    return b.CreateAnd(b.CreateBitCast(v, word), llvm::APInt::getSignedMaxValue(format.bits));
  };
  llvm::Value *a = size_of_bits(x), *d = size_of_bits(y);
  Split sa = split(b, a, format), sd = split(b, d, format);
  // Zero divisors do not reach the result, but the loop must end.
  llvm::Value *divisor = b.CreateSelect(b.CreateIsNull(sd.significand), number(1), sd.significand);
  llvm::Value *first = b.CreateURem(sa.significand, divisor);
  Values end = emit_while(
      b, {first, sa.exponent},
      [&](const Values &v) {
        return b.CreateAnd(b.CreateICmpSGT(v[1], sd.exponent), b.CreateIsNotNull(v[0]));
      },
      [&](const Values &v) -> Values {
        llvm::Value *doubled = b.CreateShl(v[0], 1);
        llvm::Value *reduced = b.CreateSub(doubled, divisor);
        llvm::Value *fits = b.CreateICmpUGE(doubled, divisor);
        return {b.CreateSelect(fits, reduced, doubled), b.CreateSub(v[1], number(1))};
      });
  // remainder * 2^(exponent - bias - digits): exact, in two steps as either may be subnormal.
  llvm::Value *unit = b.CreateSelect(b.CreateICmpUGT(sd.exponent, number(format.digits)),
                                     b.CreateSub(sd.exponent, number(format.digits)), number(0));
  llvm::Value *is_tiny = b.CreateIsNull(unit);
  llvm::Value *scale = b.CreateBitCast(b.CreateShl(unit, format.digits), type);
  llvm::Value *normal = b.CreateFMul(b.CreateUIToFP(end[0], type), scale);
  llvm::Value *below_unit = b.CreateSelect(is_tiny, sd.exponent, number(1));
  std::uint64_t bias = (std::uint64_t{1} << (format.bits - format.digits - 2)) - 1;
  llvm::Value *up =
      b.CreateBitCast(b.CreateShl(b.CreateAdd(below_unit, number(bias - 1)), format.digits), type);
  llvm::Value *least = b.CreateBitCast(number(1), type);
  llvm::Value *tiny = b.CreateFMul(b.CreateFMul(b.CreateUIToFP(end[0], type), up), least);
  llvm::Value *r = b.CreateSelect(is_tiny, tiny, normal);
  llvm::Value *below = b.CreateICmpULT(a, d);
  r = b.CreateSelect(below, b.CreateBitCast(a, type), r);
  llvm::Value *limit = b.CreateBitCast(llvm::ConstantFP::getInfinity(type), word);
  llvm::Value *invalid = b.CreateOr(b.CreateICmpUGE(a, limit), b.CreateICmpUGT(d, limit));
  invalid = b.CreateOr(invalid, b.CreateIsNull(d));
  r = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, r, x);
  return b.CreateSelect(invalid, llvm::ConstantFP::getNaN(type), r);
}

}  // namespace

llvm::Value *emit_fmod(Builder &b, llvm::Value *x, llvm::Value *y) {
  return call_outlined(
      b, x->getType()->isDoubleTy() ? "fuse.rem.f64" : "fuse.rem.f32", {x, y},
      [](Builder &inner, const Values &v) { return emit_fmod_body(inner, v[0], v[1]); });
}

llvm::Value *emit_int_power(Builder &b, llvm::Value *x, llvm::Value *n) {
  std::string name = "fuse.pow.i" + std::to_string(x->getType()->getIntegerBitWidth());
  return call_outlined(b, name, {x, n}, [](Builder &inner, const Values &v) {
    llvm::Value *one = llvm::ConstantInt::get(v[0]->getType(), 1);
    Values end = emit_while(
        inner, {one, v[0], v[1]}, [&](const Values &s) { return inner.CreateIsNotNull(s[2]); },
        [&](const Values &s) -> Values {
          llvm::Value *is_odd = inner.CreateTrunc(s[2], inner.getInt1Ty());
          llvm::Value *product = inner.CreateMul(s[0], s[1]);
          return {inner.CreateSelect(is_odd, product, s[0]), inner.CreateMul(s[1], s[1]),
                  inner.CreateLShr(s[2], 1)};
        });
    return end[0];
  });
}

}  // namespace fuse
