// The frequent f32 functions, in place, on the hardware's ex2, lg2, rcp and rsqrt.
//
// Bounds in the comments were measured against long double with the approximations taken as
// correctly rounded; ex2 and rsqrt add up to one unit in the last place on a GPU.
#include "codegen/math_functions.h"

#include "codegen/control.h"
#include "codegen/math.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <limits>

namespace fuse {

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLog2ELow = 1.925963033500115e-08;  // log2(e) - float(log2(e))

Num ex2(Num x) { return approximate(llvm::Intrinsic::nvvm_ex2_approx, x); }

Num reciprocal(Num x) { return approximate(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, x); }

/// a * b + c, kept in [0, 1]; 0 for NaN.
Num saturated_fma(Num a, double b, double c) {
  return a.with(a.builder().CreateIntrinsic(a.type(), llvm::Intrinsic::nvvm_fma_rn_sat_f,
                                            {a.value(), a.number(b).value(), a.number(c).value()}));
}

/// e^x = 2^k * 2^r with k = round(x * log2(e)), kept in [-126, 126] so that one multiplication
/// scales; beyond, r grows instead. The magic number leaves k + 127 in the low bits of the sum.
Num exp(Num x) {
  constexpr double kMost = 126, kMagic = 12582912 + 127;
  Num place = saturated_fma(x, kLog2E / (2 * kMost), 0.5);
  Num shifted = fma(place, 2 * kMost, kMagic - kMost);
  Num k = shifted - kMagic;
  Num r = fma(x, kLog2ELow, fma(x, kLog2E, -k));
  Builder &b = x.builder();
  llvm::Value *bits = b.CreateBitCast(shifted.value(), b.getInt32Ty());
  Num scale = x.with(b.CreateBitCast(b.CreateShl(bits, 23), b.getFloatTy()));
  return approximate(llvm::Intrinsic::nvvm_ex2_approx_ftz, r) * scale;
}

/// n / (1 + e^-|x|) with n = 1 or e^-|x|: both tails keep their digits.
Num sigmoid(Num x) {
  Num e = exp(-abs(x));
  return select(x < 0, e, 1) * reciprocal(1 + e);
}

constexpr double kLn2 = 0.6931471805599453;
constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cf79abcap-20;  // high * exponent: exact
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// e^x - 1 = 2^k (e^r - 1) + (2^k - 1), all halved so that k = 128 stays finite; x - k ln 2 is
/// exact but for the digits that ln 2 lacks, and so is the sum of the two large terms. Within 0.9.
Num expm1(Num x) {
  constexpr double kMagic = 12582912 + 126, kLn2Single = 0x1.62e43p-1;
  Num inside = min_number(max_number(x, -20), 89);
  Num shifted = fma(inside, kLog2E, kMagic), k = shifted - kMagic;
  Num r = fma(k, -kLn2Single, inside), r_low = k * (kLn2Single - kLn2);
  Num tail = polynomial(r, {0.00019891103147529066, 0.0013933751033619046, 0.00833331048488617,
                            0.041666463017463684, 0.1666666716337204, 0.5});
  Num small = fma(r * r, tail, fma(r, r_low, r_low));
  Builder &b = x.builder();
  llvm::Value *bits = b.CreateBitCast(shifted.value(), b.getInt32Ty());
  Num half = x.with(b.CreateBitCast(b.CreateShl(bits, 23), b.getFloatTy()));
  Num offset = half - 0.5, lost = (half - offset) - 0.5;
  Num sum = fma(half, r, offset), error = fma(half, r, offset - sum);
  Num y = 2 * (sum + fma(half, small, error + lost));
  return select(abs(x) > 0x1p-25, y, x);  // NaN too
}

/// (log(1 + f) - f) / f^2 for f in [-1/3, 1/3], times a constant.
Num log_tail(Num f, double factor) {
  return polynomial(
      f, {0.11330617385023778 * factor, -0.12422200575409693 * factor, 0.10915654793276691 * factor,
          -0.12288721609296725 * factor, 0.14291867181988005 * factor, -0.1667331625320225 * factor,
          0.19999948351310606 * factor, -0.24999944186243983 * factor, 0.3333333333333333 * factor,
          -0.5 * factor});
}

/// The same for f in [-1/4, 1/2].
Num log1p_tail(Num f) {
  return polynomial(f, {0.03944223001599312, -0.09291868656873703, 0.1171611100435257,
                        -0.1269930899143219, 0.14270462095737457, -0.1665666699409485,
                        0.19999925792217255, -0.2500015199184418, 0.3333333432674408, -0.5});
}

/// x = m * 2^k with m in [2/3, 4/3); x is positive and finite.
struct Decomposed {
  Num m, k;
};

Decomposed decompose(Num x) {
  Builder &b = x.builder();
  Cond is_tiny = x < 0x1p-126;
  Num scaled = select(is_tiny, x * 0x1p23, x);
  llvm::Value *bits = b.CreateBitCast(scaled.value(), b.getInt32Ty());
  llvm::Value *above = b.CreateSub(bits, b.getInt32(0x3f2aaaab));
  llvm::Value *exponent = b.CreateAnd(above, 0xff800000);
  Num m = x.with(b.CreateBitCast(b.CreateSub(bits, exponent), x.type()));
  Num k = x.with(b.CreateSIToFP(exponent, x.type())) * 0x1p-23;
  return {m, select(is_tiny, k - 23, k)};
}

Num with_log_domain(Num x, Num y) {
  y = select(x < kInfinity, y, x);  // inf and NaN
  y = select(x < 0, kNaN, y);
  return select(x == 0, -kInfinity, y);
}

Num log(Num x) {
  Decomposed d = decompose(x);
  Num f = d.m - 1;
  Num l = fma(f * f, log_tail(f, 1), f);
  return with_log_domain(x, fma(d.k, kLn2, l));
}

/// k + f log2(e), with what the sum loses, + f^2 tail.
Num log2(Num x) {
  Decomposed d = decompose(x);
  Num f = d.m - 1;
  Num sum = fma(f, kLog2E, d.k), lost = fma(f, kLog2E, d.k - sum);
  Num y = sum + fma(f * f, log_tail(f, kLog2E), fma(f, kLog2ELow, lost));
  return with_log_domain(x, y);
}

/// 1 + x = m * 2^k with m in [3/4, 3/2): then f = m - 1 = x * 2^-k + (2^-k - 1) is exact, but
/// beyond 2^24 the 1 no longer counts and 2^-k may be subnormal: there f comes from m. Within 0.93.
Num log1p(Num x) {
  Builder &b = x.builder();
  Num u = 1 + x;
  llvm::Value *bits = b.CreateBitCast(u.value(), b.getInt32Ty());
  llvm::Value *above = b.CreateSub(bits, b.getInt32(0x3f400000));
  llvm::Value *exponent = b.CreateAnd(above, 0xff800000);
  Num k = x.with(b.CreateSIToFP(exponent, x.type())) * 0x1p-23;
  Num scale = x.with(b.CreateBitCast(b.CreateSub(b.getInt32(0x3f800000), exponent), x.type()));
  Num m = x.with(b.CreateBitCast(b.CreateSub(bits, exponent), x.type()));
  Num f = select(x > 0x1p24, m - 1, fma(x, scale, scale - 1));
  Num sum = fma(k, kLn2High, f), lost = fma(k, kLn2High, -sum) + f;
  Num y = sum + fma(f * f, log1p_tail(f), fma(k, kLn2Low, lost));
  y = select(x < kInfinity, y, x);
  y = select(u < 0, kNaN, y);
  y = select(u == 0, -kInfinity, y);
  return select(x == 0, x, y);
}

/// Small: an odd polynomial. Else 1 - 2 / (1 + e^2|x|).
Num tanh(Num x) {
  Num a = abs(x), z = x * x;
  Num tail = polynomial(z, {-0.00656439545258285, 0.021284723215198885, -0.05390535934597743,
                            0.13333092791419499, -0.3333333184571151});
  Num small = fma(x * z, tail, x);
  Num large = fma(reciprocal(1 + ex2(a * (2 * kLog2E))), -2.0, 1.0);
  return select(a < 0.55, small, copysign(large, x));
}

/// Small: an odd polynomial. Else 1 - 2^p with p a fit of log2(erfc).
Num erf(Num x) {
  Num a = min_number(abs(x), 3.95), z = x * x;
  Num tail = polynomial(
      z, {7.872582762234845e-05, -0.0008015956189706265, 0.005188994224217016,
          -0.026854168335587104, 0.11283593800597223, -0.3761262659768305, 0.12837916584006187});
  Num small = fma(x, tail, x);
  Num p = polynomial(a, {2.3924507926679064e-06, -6.702750145593614e-05, 0.0008656970637612452,
                         -0.006887701720514505, 0.03817497912974649, -0.1589087895947502,
                         -0.911433485137695, -1.6306379169779486, 0.00047516183921528227});
  Num y = select(a < 1, small, copysign(1 - ex2(p), x));
  return select(x != x, x, y);
}

/// sin or cos (a quarter turn on) of |x| < 32768, from three parts of pi/2.
Num sin_near(Num x, bool is_cos) {
  Builder &b = x.builder();
  Num k = round_even(x * 0.6366197723675814);
  constexpr double kParts[] = {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50};
  Num r = fma(k, -kParts[2], fma(k, -kParts[1], fma(k, -kParts[0], x)));
  llvm::Value *quadrant = b.CreateFPToSI(k.value(), b.getInt32Ty());
  if (is_cos) quadrant = b.CreateAdd(quadrant, b.getInt32(1));
  Num z = r * r;
  Num sine = fma(r * z,
                 polynomial(z, {2.7248364773036666e-06, -0.00019840074665737465,
                                0.008333331852310973, -0.16666666663797544}),
                 r);
  Num cosine = fma(
      z,
      polynomial(z, {2.4546653768931683e-05, -0.0013888297058106123, 0.041666664628671246, -0.5}),
      1.0);
  Cond is_odd = {b.CreateIsNotNull(b.CreateAnd(quadrant, 1))};
  Cond is_negative = {b.CreateIsNotNull(b.CreateAnd(quadrant, 2))};
  Num y = select(is_odd, cosine, sine);
  return select(is_negative, -y, y);
}

/// Large arguments take the f64 function, in a branch of its own.
Num sin_or_cos(Num x, Op op) {
  Builder &b = x.builder();
  Num near = sin_near(x, op == Op::Cos);
  if (op == Op::Sin) near = select(x == 0, x, near);
  Values y = emit_branch(
      b, abs(x) < 32768, [&] { return Values{near.value()}; },
      [&] { return Values{emit_math_in_f64(b, op, {x.value()})}; });
  return x.with(y[0]);
}

}  // namespace

std::optional<Num> math_f32(Op op, const std::vector<Num> &x) {
  switch (op) {
    case Op::Exp: return exp(x[0]);
    case Op::Exp2: return ex2(x[0]);
    case Op::Expm1: return expm1(x[0]);
    case Op::Log: return log(x[0]);
    case Op::Log2: return log2(x[0]);
    case Op::Log1p: return log1p(x[0]);
    case Op::Sin:
    case Op::Cos: return sin_or_cos(x[0], op);
    case Op::Tanh: return tanh(x[0]);
    case Op::Erf: return erf(x[0]);
    case Op::Sigmoid: return sigmoid(x[0]);
    case Op::Rsqrt: return approximate(llvm::Intrinsic::nvvm_rsqrt_approx_f, x[0]);
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
    case Op::Cbrt:
    case Op::Tan:
    case Op::Asin:
    case Op::Acos:
    case Op::Atan:
    case Op::Sinh:
    case Op::Cosh:
    case Op::Asinh:
    case Op::Acosh:
    case Op::Atanh:
    case Op::Erfc:
    case Op::Erfinv:
    case Op::Lgamma:
    case Op::Digamma:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem:
    case Op::Pow:
    case Op::Min:
    case Op::Max:
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
  return std::nullopt;
}

}  // namespace fuse
