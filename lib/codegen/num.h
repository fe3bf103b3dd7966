// Num: an LLVM float or integer value with arithmetic operators, so that numerical code reads as
// formulas. All operations round to nearest; nothing is contracted unless written as fma.
#pragma once

#include "codegen/ops.h"

#include <initializer_list>

namespace fuse {

class Num {
 public:
  Num(Builder &b, llvm::Value *value) : b_(&b), value_(value) {}

  llvm::Value *value() const { return value_; }
  Builder &builder() const { return *b_; }
  llvm::Type *type() const { return value_->getType(); }

  /// A constant of the same type.
  Num number(double x) const {
    if (type()->isFloatingPointTy()) return with(llvm::ConstantFP::get(type(), x));
    return with(llvm::ConstantInt::getSigned(type(), static_cast<std::int64_t>(x)));
  }
  Num with(llvm::Value *value) const { return Num(*b_, value); }

 private:
  Builder *b_;
  llvm::Value *value_;
};

/// A condition.
struct Cond {
  llvm::Value *value;
};

inline Num operator+(Num a, Num b) { return a.with(a.builder().CreateFAdd(a.value(), b.value())); }
inline Num operator-(Num a, Num b) { return a.with(a.builder().CreateFSub(a.value(), b.value())); }
inline Num operator*(Num a, Num b) { return a.with(a.builder().CreateFMul(a.value(), b.value())); }
inline Num operator/(Num a, Num b) { return a.with(a.builder().CreateFDiv(a.value(), b.value())); }
inline Num operator-(Num a) { return a.with(a.builder().CreateFNeg(a.value())); }
inline Num operator+(Num a, double b) { return a + a.number(b); }
inline Num operator-(Num a, double b) { return a - a.number(b); }
inline Num operator*(Num a, double b) { return a * a.number(b); }
inline Num operator/(Num a, double b) { return a / a.number(b); }
inline Num operator+(double a, Num b) { return b.number(a) + b; }
inline Num operator-(double a, Num b) { return b.number(a) - b; }
inline Num operator*(double a, Num b) { return b.number(a) * b; }
inline Num operator/(double a, Num b) { return b.number(a) / b; }

/// Comparisons are false for NaN, except !=.
inline Cond operator<(Num a, Num b) { return {a.builder().CreateFCmpOLT(a.value(), b.value())}; }
inline Cond operator<=(Num a, Num b) { return {a.builder().CreateFCmpOLE(a.value(), b.value())}; }
inline Cond operator==(Num a, Num b) { return {a.builder().CreateFCmpOEQ(a.value(), b.value())}; }
inline Cond operator!=(Num a, Num b) { return {a.builder().CreateFCmpUNE(a.value(), b.value())}; }
inline Cond operator>(Num a, Num b) { return b < a; }
inline Cond operator<(Num a, double b) { return a < a.number(b); }
inline Cond operator<=(Num a, double b) { return a <= a.number(b); }
inline Cond operator>(Num a, double b) { return a > a.number(b); }
inline Cond operator==(Num a, double b) { return a == a.number(b); }
inline Cond operator!=(Num a, double b) { return a != a.number(b); }

inline Num select(Cond c, Num a, Num b) {
  return a.with(a.builder().CreateSelect(c.value, a.value(), b.value()));
}
inline Num select(Cond c, double a, Num b) { return select(c, b.number(a), b); }
inline Num select(Cond c, Num a, double b) { return select(c, a, a.number(b)); }

inline Num unary(llvm::Intrinsic::ID id, Num x) {
  return x.with(x.builder().CreateUnaryIntrinsic(id, x.value()));
}
inline Num binary(llvm::Intrinsic::ID id, Num x, Num y) {
  return x.with(x.builder().CreateBinaryIntrinsic(id, x.value(), y.value()));
}
inline Num abs(Num x) { return unary(llvm::Intrinsic::fabs, x); }
inline Num sqrt(Num x) { return unary(llvm::Intrinsic::sqrt, x); }
inline Num floor(Num x) { return unary(llvm::Intrinsic::floor, x); }
inline Num round_even(Num x) { return unary(llvm::Intrinsic::roundeven, x); }
inline Num copysign(Num x, Num sign) { return binary(llvm::Intrinsic::copysign, x, sign); }
/// The other operand where one is NaN.
inline Num min_number(Num x, double y) { return binary(llvm::Intrinsic::minnum, x, x.number(y)); }
inline Num max_number(Num x, double y) { return binary(llvm::Intrinsic::maxnum, x, x.number(y)); }
inline Num fma(Num a, Num b, Num c) {
  return a.with(a.builder().CreateIntrinsic(a.type(), llvm::Intrinsic::fma,
                                            {a.value(), b.value(), c.value()}));
}
inline Num fma(Num a, double b, Num c) { return fma(a, a.number(b), c); }
inline Num fma(Num a, Num b, double c) { return fma(a, b, a.number(c)); }
inline Num fma(Num a, double b, double c) { return fma(a, a.number(b), a.number(c)); }

/// Horner's rule, the highest coefficient first.
inline Num polynomial(Num x, std::initializer_list<double> coefficients) {
  const double *c = coefficients.begin();
  Num sum = x.number(*c);
  while (++c != coefficients.end()) sum = fma(sum, x, *c);
  return sum;
}

/// An approximation of the hardware, f32.
inline Num approximate(llvm::Intrinsic::ID id, Num x) {
  return x.with(x.builder().CreateIntrinsic(x.type(), id, {x.value()}));
}

}  // namespace fuse
