// The few f32 functions whose cheap forms pay, for results that a 16-bit rounding follows.
//
// An exponent x * log2(e) of up to 128 carries an error of 2^-17 into ex2; nothing else here comes
// near that. Results below the smallest normal number keep their place: no form flushes them.
#include "codegen/math.h"
#include "codegen/math_functions.h"

#include "ir/format.h"
#include "ir/op.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace fuse {

namespace {

constexpr double kLog2E = 1.4426950408889634;

Num ex2(Num x) { return approximate(llvm::Intrinsic::nvvm_ex2_approx, x); }

/// e / (1 + e) with e = 2^(x log2 e), both scaled by 2^24 so that ex2 flushes nothing that counts;
/// the bound keeps e finite where the quotient is 1.
Num sigmoid(Num x) {
  Builder &b = x.builder();
  Num exponent = fma(x, kLog2E, 24);
  exponent = x.with(b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, exponent.value(),
                                            llvm::ConstantFP::get(b.getFloatTy(), 126)));
  Num e = approximate(llvm::Intrinsic::nvvm_ex2_approx_ftz, exponent);
  return e * approximate(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, e + 16777216);
}

/// The hardware's, within 2^-10.98 of the result.
Num tanh(Num x) {
  llvm::CallInst *call = x.builder().CreateIntrinsic(x.type(), llvm::Intrinsic::tanh, {x.value()});
  call->setHasApproxFunc(true);
  return x.with(call);
}

/// 1 - 2^p with p a fit of log2(erfc) from 0 to where the result is 1; NaN stays. Near 0 it keeps
/// no relative accuracy.
Num erf(Num x) {
  Num a = binary(llvm::Intrinsic::minimum, abs(x), x.number(3.93));
  Num p = a * polynomial(a, {-3.741410546354018e-05, 0.0003823693550657481, -0.0012940781889483333,
                             -0.0010745539329946041, 0.028494950383901596, -0.14858023822307587,
                             -0.9183983206748962, -1.6279096603393555});
  return copysign(1 - approximate(llvm::Intrinsic::nvvm_ex2_approx_ftz, p), x);
}

llvm::Value *divide(Builder &b, const Values &x) {
  return b.CreateIntrinsic(b.getFloatTy(), llvm::Intrinsic::nvvm_div_full, {x[0], x[1]});
}

}  // namespace

llvm::Value *emit_approximate(Builder &b, Op op, const Values &x) {
  Num first(b, x[0]);
  if (op == Op::Exp) return ex2(first * kLog2E).value();
  if (op == Op::Exp2) return ex2(first).value();
  if (op == Op::Sigmoid) return sigmoid(first).value();
  if (op == Op::Tanh) return tanh(first).value();
  if (op == Op::Erf) return erf(first).value();
  FUSE_CHECK(op == Op::Div, "{} has no approximate form", info(op).text);
  return divide(b, x);
}

}  // namespace fuse
