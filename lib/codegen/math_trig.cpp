// Trigonometric functions in f64, for arguments of any size.
#include "codegen/math_f64.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLow = 0x1.1a62633145c07p-54;
constexpr double kHalfPiRest = -0x1.f1976b7ed8fbcp-110;

/// 64 zero bits, then the bits of 2 / pi behind the point.
constexpr std::uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d, 0xa9e391615ee61b08};

/// x = quadrant * pi/2 + r with |r| <= pi/4; the quadrant is an i64 of which two bits count.
struct Reduced {
  Num r;
  llvm::Value *quadrant;
};

llvm::Value *load_word(Builder &b, llvm::Value *index) {
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  constexpr const char *kName = "fuse.two_over_pi";
  llvm::GlobalVariable *table = module.getNamedGlobal(kName);
  if (!table) {
    auto *data = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef(kTwoOverPi));
    table =
        new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::InternalLinkage,
                                 data, kName, nullptr, llvm::GlobalValue::NotThreadLocal, 1);
    table->setAlignment(llvm::Align(8));
  }
  return b.CreateAlignedLoad(b.getInt64Ty(), b.CreateGEP(b.getInt64Ty(), table, index),
                             llvm::Align(8));
}

/// For |x| >= 2^20: x = m * 2^e with m of 53 bits. Bits of 2 / pi that give multiples of 4 are
/// skipped; m times the next 192, modulo 2^192, is x * 2 / pi modulo 4 in units of 2^-190.
Reduced reduce_large(Num x) {
  Builder &b = x.builder();
  llvm::Type *i64 = b.getInt64Ty(), *i128 = b.getInt128Ty();
  llvm::Value *bits = b.CreateBitCast(abs(x).value(), i64);
  llvm::Value *exponent = b.CreateLShr(bits, 52);
  llvm::Value *m = b.CreateOr(b.CreateAnd(bits, (std::uint64_t{1} << 52) - 1),
                              b.getInt64(std::uint64_t{1} << 52));
  llvm::Value *start = b.CreateSub(exponent, b.getInt64(1075 - 62));
  // Arguments that take the other way must not read outside the table.
  start = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, b.getInt64(0));
  start = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, start, b.getInt64(1040));
  llvm::Value *word = b.CreateLShr(start, 6), *shift = b.CreateAnd(start, 63);
  llvm::Value *w[4], *p[3];
  for (std::uint64_t i = 0; i < 4; ++i) w[i] = load_word(b, b.CreateAdd(word, b.getInt64(i)));
  for (int i = 0; i < 3; ++i)
    p[i] = b.CreateIntrinsic(i64, llvm::Intrinsic::fshl, {w[i], w[i + 1], shift});
  auto wide = [&](llvm::Value *v) { return b.CreateZExt(v, i128); };
  auto product = [&](llvm::Value *v) { return b.CreateMul(wide(v), wide(m)); };
  auto high = [&](llvm::Value *v) { return b.CreateLShr(v, 64); };
  llvm::Value *low = product(p[2]);
  llvm::Value *middle = b.CreateAdd(product(p[1]), high(low));
  llvm::Value *top = b.CreateTrunc(b.CreateAdd(product(p[0]), high(middle)), i64);
  llvm::Value *next = b.CreateTrunc(middle, i64), *last = b.CreateTrunc(low, i64);
  llvm::Value *two = b.getInt64(2);
  llvm::Value *fraction = b.CreateIntrinsic(i64, llvm::Intrinsic::fshl, {top, next, two});
  llvm::Value *rest = b.CreateIntrinsic(i64, llvm::Intrinsic::fshl, {next, last, two});
  llvm::Value *quadrant = b.CreateAdd(b.CreateLShr(top, 62), b.CreateLShr(fraction, 63));
  Num r = x.with(b.CreateSIToFP(fraction, x.type())) * 0x1p-64 +
          x.with(b.CreateUIToFP(rest, x.type())) * 0x1p-128;
  r = r * kHalfPi;
  llvm::Value *negative = (x < 0).value;
  return {select(x < 0, -r, r), b.CreateSelect(negative, b.CreateNeg(quadrant), quadrant)};
}

Reduced reduce(Num x) {
  Builder &b = x.builder();
  Cond is_small = abs(x) < 0x1p20;
  Num inside = select(is_small, x, 0);
  Num k = round_even(inside * 0.6366197723675814);
  Num r = fma(k, -kHalfPiRest, fma(k, -kHalfPiLow, fma(k, -kHalfPi, inside)));
  llvm::Value *quadrant = b.CreateFPToSI(k.value(), b.getInt64Ty());
  Reduced large = reduce_large(x);
  r = select(is_small, r, large.r);
  r = select(abs(x) < kInfinity, r, kNaN);
  return {r, b.CreateSelect(is_small.value, quadrant, large.quadrant)};
}

Num sin_small(Num r) {
  Num z = r * r;
  Num tail = polynomial(
      z, {-1 / 121645100408832000.0, 1 / 355687428096000.0, -1 / 1307674368000.0, 1 / 6227020800.0,
          -1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0, -1 / 6.0});
  return fma(r * z, tail, r);
}

Num cos_small(Num r) {
  Num z = r * r;
  Num tail = polynomial(z, {-1 / 6402373705728000.0, 1 / 20922789888000.0, -1 / 87178291200.0,
                            1 / 479001600.0, -1 / 3628800.0, 1 / 40320.0, -1 / 720.0, 1 / 24.0});
  Num half = 0.5 * z, main = 1 - half;
  return main + (((1 - main) - half) + z * z * tail);
}

/// sin of r + quadrant * pi/2.
Num sin_of(Reduced x) {
  Builder &b = x.r.builder();
  Cond is_odd = {b.CreateIsNotNull(b.CreateAnd(x.quadrant, 1))};
  Cond is_negative = {b.CreateIsNotNull(b.CreateAnd(x.quadrant, 2))};
  Num y = select(is_odd, cos_small(x.r), sin_small(x.r));
  return select(is_negative, -y, y);
}

Reduced next_quadrant(Reduced x) {
  Builder &b = x.r.builder();
  return {x.r, b.CreateAdd(x.quadrant, b.getInt64(1))};
}

/// x = quadrant / 2 + r / pi.
Reduced reduce_pi(Num x) {
  Builder &b = x.builder();
  Num turn = x - 2 * round_even(x * 0.5);
  Num k = round_even(turn * 2);
  Num r = (turn - 0.5 * k) * 0x1.921fb54442d18p1;
  return {r, b.CreateFPToSI(k.value(), b.getInt64Ty())};
}

/// (atan(t) - t) / t over t^2 <= 0.1915.
Num atan_tail(Num z) {
  return z * polynomial(z, {0.01476642155379467, -0.033121323310643644, 0.044919637149159995,
                            -0.05216607416783708, 0.0587693549653035, -0.06666240859375808,
                            0.0769228548876496, -0.09090908353049669, 0.11111111096587765,
                            -0.1428571428556615, 0.19999999999999407, -0.3333333333333333});
}

/// atan of t in [0, 1].
Num atan_unit(Num t) {
  Cond is_upper = t > 0.41421356237309503;
  Num u = select(is_upper, (t - 1) / (t + 1), t);
  Num y = fma(u, atan_tail(u * u), u);
  return select(is_upper, 0.5 * kHalfPi + (y + 0.5 * kHalfPiLow), y);
}

/// asin of s for s^2 = z <= 0.25.
Num asin_small(Num s, Num z) {
  Num tail = polynomial(
      z, {0.02877844261259304, -0.014881409392818066, 0.017419357964884856, 0.00545087818772055,
          0.010324318288744113, 0.011478952690257387, 0.013971235301124539, 0.017352391265909227,
          0.022372173002005596, 0.030381944137085216, 0.04464285714637338, 0.07499999999998425,
          0.16666666666666669});
  return fma(s * z, tail, s);
}

}  // namespace

Num sin(Num x) { return select(x == 0, x, sin_of(reduce(x))); }

Num cos(Num x) { return sin_of(next_quadrant(reduce(x))); }

Num tan(Num x) {
  Reduced r = reduce(x);
  return select(x == 0, x, sin_of(r) / sin_of(next_quadrant(r)));
}

Num sin_pi(Num x) { return sin_of(reduce_pi(x)); }

Num cos_pi(Num x) { return sin_of(next_quadrant(reduce_pi(x))); }

Num asin(Num x) {
  Num a = abs(x);
  Cond is_large = a > 0.5;
  Num z = select(is_large, (1 - a) * 0.5, a * a);
  Num y = asin_small(select(is_large, sqrt(z), a), z);
  return copysign(select(is_large, kHalfPi - (2 * y - kHalfPiLow), y), x);
}

Num acos(Num x) {
  Num a = abs(x), z = (1 - a) * 0.5;
  Num upper = 2 * asin_small(sqrt(z), z);
  Num lower = 2 * kHalfPi - (upper - 2 * kHalfPiLow);
  Num middle = kHalfPi - (asin_small(x, x * x) - kHalfPiLow);
  return select(a <= 0.5, middle, select(x < 0, lower, upper));
}

Num atan(Num x) {
  Num a = abs(x);
  Cond is_large = a > 1;
  Num y = atan_unit(select(is_large, 1 / a, a));
  y = select(is_large, kHalfPi - (y - kHalfPiLow), y);
  return copysign(select(x != x, x, y), x);
}

Num atan2(Num y, Num x) {
  Num a = abs(y), c = abs(x);
  Cond is_steep = a > c;
  Num smaller = select(is_steep, c, a), larger = select(is_steep, a, c);
  Num ratio = select(larger == 0, 0, smaller / larger);
  ratio = select(smaller == kInfinity, 1, ratio);
  Num r = atan_unit(ratio);
  r = select(is_steep, kHalfPi - (r - kHalfPiLow), r);
  r = select(copysign(x.number(1), x) < 0, 2 * kHalfPi - (r - 2 * kHalfPiLow), r);
  r = copysign(r, y);
  return select(x != x, x, select(y != y, y, r));
}

}  // namespace fuse::math64
