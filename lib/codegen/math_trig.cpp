// Trigonometric functions in f64, for arguments of any size.
#include "codegen/control.h"
#include "codegen/math_f64.h"
#include "codegen/num_pair.h"

#include <limits>

namespace fuse::math64 {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 0x1.921fb54442d18p1, kPiLow = 0x1.1a62633145c07p-53;
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
  NumPair r;
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

/// Signed fixed point of 128 bits, high * 2^-64 + low * 2^-128, times pi/2.
NumPair fraction_of_half_pi(Num x, llvm::Value *high, llvm::Value *low) {
  Builder &b = x.builder();
  llvm::Value *inexact = b.CreateAnd(high, 0x7ff);
  llvm::Value *below =
      b.CreateIntrinsic(b.getInt64Ty(), llvm::Intrinsic::fshl, {inexact, low, b.getInt64(53)});
  Num first = x.with(b.CreateSIToFP(b.CreateSub(high, inexact), x.type())) * 0x1p-64;
  Num second = x.with(b.CreateUIToFP(below, x.type())) * 0x1p-117;
  return times(fast_two_sum(first, second), kHalfPi, kHalfPiLow);
}

/// For |x| >= 2^20, infinities included: x = m * 2^e with m of 53 bits. Bits of 2 / pi that give
/// multiples of 4 are skipped; m times the next 192, modulo 2^192, is x * 2 / pi modulo 4 in units
/// of 2^-190.
Reduced reduce_large(Num x) {
  Builder &b = x.builder();
  llvm::Type *i64 = b.getInt64Ty(), *i128 = b.getInt128Ty();
  llvm::Value *bits = b.CreateBitCast(abs(x).value(), i64);
  llvm::Value *exponent = b.CreateLShr(bits, 52);
  llvm::Value *m = b.CreateOr(b.CreateAnd(bits, (std::uint64_t{1} << 52) - 1),
                              b.getInt64(std::uint64_t{1} << 52));
  llvm::Value *start = b.CreateSub(exponent, b.getInt64(1075 - 62));
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
  NumPair r = fraction_of_half_pi(x, fraction, rest);
  Cond negative = x < 0;
  return {select(negative, NumPair{-r.high, -r.low}, r),
          b.CreateSelect(negative.value, b.CreateNeg(quadrant), quadrant)};
}

/// For |x| < 2^20: the first difference is exact.
Reduced reduce_small(Num x) {
  Builder &b = x.builder();
  Num k = round_even(x * 0.6366197723675814);
  NumPair middle = two_product(k, k.number(-kHalfPiLow));
  NumPair r = two_sum(fma(k, -kHalfPi, x), middle.high);
  Num low = r.low + fma(k, -kHalfPiRest, middle.low);
  return {fast_two_sum(r.high, low), b.CreateFPToSI(k.value(), b.getInt64Ty())};
}

Reduced reduce(Num x) {
  auto values = [](const Reduced &r) {
    return Values{r.r.high.value(), r.r.low.value(), r.quadrant};
  };
  Values v = emit_branch(
      x.builder(), abs(x) < 0x1p20, [&] { return values(reduce_small(x)); },
      [&] { return values(reduce_large(x)); });
  return {{select(abs(x) < kInfinity, x.with(v[0]), kNaN), x.with(v[1])}, v[2]};
}

/// The sine and cosine of r as a large term and the rest.
NumPair sin_small(NumPair r) {
  Num z = r.high * r.high;
  Num tail = polynomial(
      z, {-1 / 121645100408832000.0, 1 / 355687428096000.0, -1 / 1307674368000.0, 1 / 6227020800.0,
          -1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0, -1 / 6.0});
  return {r.high, fma(r.high * z, tail, fma(-0.5 * z, r.low, r.low))};
}

NumPair cos_small(NumPair r) {
  Num z = r.high * r.high;
  Num tail = polynomial(z, {-1 / 6402373705728000.0, 1 / 20922789888000.0, -1 / 87178291200.0,
                            1 / 479001600.0, -1 / 3628800.0, 1 / 40320.0, -1 / 720.0, 1 / 24.0});
  NumPair main = fast_two_sum(z.number(1), -0.5 * z);
  Num square_low = fma(r.high, r.high, -z);
  Num rest = main.low - fma(r.high, r.low, 0.5 * square_low);
  return {main.high, fma(z * z, tail, rest)};
}

/// sin of r + quadrant * pi/2.
NumPair sin_of(Reduced x) {
  Builder &b = x.r.high.builder();
  Cond is_odd = {b.CreateIsNotNull(b.CreateAnd(x.quadrant, 1))};
  Cond is_negative = {b.CreateIsNotNull(b.CreateAnd(x.quadrant, 2))};
  NumPair y = select(is_odd, cos_small(x.r), sin_small(x.r));
  return select(is_negative, NumPair{-y.high, -y.low}, y);
}

Reduced next_quadrant(Reduced x) {
  Builder &b = x.r.high.builder();
  return {x.r, b.CreateAdd(x.quadrant, b.getInt64(1))};
}

Num sum(NumPair x) { return x.high + x.low; }

/// x = quadrant / 2 + r / pi.
Reduced reduce_pi(Num x) {
  Builder &b = x.builder();
  Num turn = x - 2 * round_even(x * 0.5);
  Num k = round_even(turn * 2);
  NumPair fraction = {turn - 0.5 * k, x.number(0)};
  return {times(fraction, kPi, kPiLow), b.CreateFPToSI(k.value(), b.getInt64Ty())};
}

}  // namespace

Num sin(Num x) { return select(x == 0, x, sum(sin_of(reduce(x)))); }

Num cos(Num x) { return sum(sin_of(next_quadrant(reduce(x)))); }

Num tan(Num x) {
  Reduced r = reduce(x);
  return select(x == 0, x, sum(sin_of(r)) / sum(sin_of(next_quadrant(r))));
}

Num sin_pi(Num x) { return sum(sin_of(reduce_pi(x))); }

NumPair cot_pi(Num x) {
  Reduced r = reduce_pi(x);
  NumPair sine = sin_of(r), cosine = sin_of(next_quadrant(r));
  return divide(fast_two_sum(cosine.high, cosine.low), fast_two_sum(sine.high, sine.low));
}

}  // namespace fuse::math64
