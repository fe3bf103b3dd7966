// The frequent f32 functions, in place, on the hardware's ex2, lg2, rcp and rsqrt.
//
// Bounds in the comments were measured against long double with the approximations taken as
// correctly rounded; ex2 and rsqrt add up to one unit in the last place on a GPU.
#include "codegen/math_functions.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace fuse {

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLog2ELow = 1.925963033500115e-08;  // log2(e) - float(log2(e))

Num ex2(Num x) {
  return approximate(llvm::Intrinsic::nvvm_ex2_approx, x);
}

Num reciprocal(Num x) {
  return approximate(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, x);
}

/// e^x = 2^k * 2^r with k = round(x * log2(e)), kept in [-126, 127] so that one multiplication
/// scales; beyond, r grows instead. The magic number leaves k + 127 in the low bits of the sum.
Num exp(Num x) {
  constexpr double kMagic = 12582912 + 127;
  Num inside = min_number(max_number(x, -87.33654), 88.02969);
  Num shifted = fma(inside, kLog2E, kMagic);
  Num k = shifted - kMagic;
  Num r = fma(x, kLog2ELow, fma(x, kLog2E, -k));
  Builder &b = x.builder();
  llvm::Value *bits = b.CreateBitCast(shifted.value(), b.getInt32Ty());
  Num scale = x.with(b.CreateBitCast(b.CreateShl(bits, 23), b.getFloatTy()));
  return ex2(r) * scale;
}

/// n / (1 + e^-|x|) with n = 1 or e^-|x|: both tails keep their digits.
Num sigmoid(Num x) {
  Num e = exp(-abs(x));
  return select(x < 0, e, 1) * reciprocal(1 + e);
}

}  // namespace

std::optional<Num> math_f32(Op op, const std::vector<Num> &x) {
  switch (op) {
    case Op::Exp:
      return exp(x[0]);
    case Op::Exp2:
      return ex2(x[0]);
    case Op::Sigmoid:
      return sigmoid(x[0]);
    case Op::Rsqrt:
      return approximate(llvm::Intrinsic::nvvm_rsqrt_approx_f, x[0]);
    default:
      return std::nullopt;
  }
}

}  // namespace fuse
