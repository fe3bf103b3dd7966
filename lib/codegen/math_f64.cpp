// Which f64 function is which, and the cube root.
//
// Polynomials are Taylor series where the reduced range is short, else fits of
// tools/fit_polynomials.py. Errors stay within a few units in the last place of f64, so results
// rounded to f32 are nearly always exact.
#include "codegen/math_f64.h"

#include "codegen/math_functions.h"
#include "ir/format.h"
#include "ir/op.h"

#include <limits>

namespace fuse {

namespace math64 {

/// Two steps of Halley's iteration from the exponent divided by 3, and one of Newton's with the
/// exact residual.
Num cbrt(Num x) {
  Builder &b = x.builder();
  Num a = abs(x);
  Cond is_tiny = a < 0x1p-1022;
  Cond is_huge = a > 0x1p1000;
  a = select(is_tiny, a * 0x1p54, select(is_huge, a * 0x1p-54, a));
  llvm::Value *bits = b.CreateBitCast(a.value(), b.getInt64Ty());
  llvm::Value *third =
      b.CreateAdd(b.CreateUDiv(bits, b.getInt64(3)), b.getInt64(0x2a9f7893782da1ce));
  Num y = x.with(b.CreateBitCast(third, x.type()));
  for (int i = 0; i < 2; ++i) {
    Num cube = y * y * y;
    y = y - y * ((cube - a) / (cube + cube + a));
  }
  NumPair square = two_product(y, y);
  y = y - fma(square.low, y, fma(square.high, y, -a)) / (3 * square.high);
  y = copysign(select(is_tiny, y * 0x1p-18, select(is_huge, y * 0x1p18, y)), x);
  Cond plain = abs(x) < std::numeric_limits<double>::infinity();
  return select(x == 0, x, select(plain, y, x));
}

}  // namespace math64

Num math_f64(Op op, const std::vector<Num> &x) {
  switch (op) {
    case Op::Rsqrt: return 1 / sqrt(x[0]);
    case Op::Cbrt: return math64::cbrt(x[0]);
    case Op::Exp: return math64::exp(x[0]);
    case Op::Exp2: return math64::exp2(x[0]);
    case Op::Expm1: return math64::expm1(x[0]);
    case Op::Log: return math64::log(x[0]);
    case Op::Log2: return math64::log2(x[0]);
    case Op::Log1p: return math64::log1p(x[0]);
    case Op::Sin: return math64::sin(x[0]);
    case Op::Cos: return math64::cos(x[0]);
    case Op::Tan: return math64::tan(x[0]);
    case Op::Asin: return math64::asin(x[0]);
    case Op::Acos: return math64::acos(x[0]);
    case Op::Atan: return math64::atan(x[0]);
    case Op::Sinh: return math64::sinh(x[0]);
    case Op::Cosh: return math64::cosh(x[0]);
    case Op::Tanh: return math64::tanh(x[0]);
    case Op::Asinh: return math64::asinh(x[0]);
    case Op::Acosh: return math64::acosh(x[0]);
    case Op::Atanh: return math64::atanh(x[0]);
    case Op::Erf: return math64::erf(x[0]);
    case Op::Erfc: return math64::erfc(x[0]);
    case Op::Erfinv: return math64::erfinv(x[0]);
    case Op::Lgamma: return math64::lgamma(x[0]);
    case Op::Digamma: return math64::digamma(x[0]);
    case Op::Sigmoid: return math64::sigmoid(x[0]);
    case Op::Pow: return math64::pow(x[0], x[1]);
    case Op::Atan2: return math64::atan2(x[0], x[1]);
    case Op::Input:
    case Op::Constant:
    case Op::Iota:
    case Op::RandomBits:
    case Op::Neg:
    case Op::Abs:
    case Op::Sign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
    case Op::Sqrt:
    case Op::Not:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem:
    case Op::Min:
    case Op::Max:
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
  fail(ErrorCode::Internal, "{} is not an inexact function", info(op).text);
}

}  // namespace fuse
