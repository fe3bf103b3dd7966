// The meaning of elementwise operations, against values worked out by hand and against
// independent arithmetic.
#include "ir/scalar.h"
#include "ir/scalar_math.h"

#include "ir/float_bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fuse {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFloats[] = {DType::F16, DType::BF16, DType::F32, DType::F64};

Literal real(DType type, double value) { return float_literal(type, value); }
Literal integer(DType type, std::int64_t value) { return int_literal(type, value); }

double on_floats(Op op, DType type, std::vector<double> values) {
  std::vector<Literal> operands;
  for (double v : values) operands.push_back(real(type, v));
  return decode_float(type, apply(op, type, operands));
}

std::int64_t on_ints(Op op, DType type, std::vector<std::int64_t> values) {
  std::vector<Literal> operands;
  for (std::int64_t v : values) operands.push_back(integer(type, v));
  return std::int64_t(apply(op, type, operands));
}

double cast_float(Op op, DType from, double value, DType to) {
  return decode_float(to, convert(op, to, real(from, value)));
}

std::int64_t cast_to_int(DType from, double value, DType to) {
  return std::int64_t(convert(Op::Cast, to, real(from, value)));
}

/// Equal, NaNs alike, zeros by sign.
void expect_same(double expected, double actual, const std::string &what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << ": " << actual;
  } else {
    EXPECT_EQ(expected, actual) << what;
    EXPECT_EQ(std::signbit(expected), std::signbit(actual)) << what;
  }
}

void expect_floats(Op op, DType type, double a, double b, double expected) {
  expect_same(expected, on_floats(op, type, {a, b}),
              std::string(info(op).text) + " of " + std::to_string(a) + " and " +
                  std::to_string(b) + " in " + std::string(to_string(type)));
}

TEST(IntegerOps, WrapInTheirOwnWidth) {
  EXPECT_EQ(44, on_ints(Op::Add, DType::U8, {200, 100}));
  EXPECT_EQ(-56, on_ints(Op::Add, DType::I8, {100, 100}));
  EXPECT_EQ(0, on_ints(Op::Mul, DType::U8, {16, 16}));
  EXPECT_EQ(INT64_MIN, on_ints(Op::Add, DType::I64, {INT64_MAX, 1}));
  EXPECT_EQ(-128, on_ints(Op::Neg, DType::I8, {-128}));
  EXPECT_EQ(-128, on_ints(Op::Abs, DType::I8, {-128}));
  EXPECT_EQ(255, on_ints(Op::Neg, DType::U8, {1}));
  EXPECT_EQ(12000000000, on_ints(Op::Mul, DType::I64, {8, 1500000000}));
}

TEST(IntegerOps, DivideTowardsZeroOrDown) {
  const std::int64_t a[] = {7, -7, 7, -7, -6, 6, -1, 2401}, b[] = {2, 2, -2, -2, -3, -3, 2, 49};
  const std::int64_t floored[] = {3, -4, -4, 3, 2, -2, -1, 49}, mod[] = {1, 1, -1, -1, 0, 0, 1, 0};
  const std::int64_t truncated[] = {3, -3, -3, 3, 2, -2, 0, 49},
                     rem[] = {1, -1, 1, -1, 0, 0, -1, 0};
  for (DType type : {DType::I16, DType::I32, DType::I64}) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(floored[i], on_ints(Op::FloorDiv, type, {a[i], b[i]})) << i;
      EXPECT_EQ(mod[i], on_ints(Op::Mod, type, {a[i], b[i]})) << i;
      EXPECT_EQ(truncated[i], on_ints(Op::Div, type, {a[i], b[i]})) << i;
      EXPECT_EQ(rem[i], on_ints(Op::Rem, type, {a[i], b[i]})) << i;
    }
  }
  EXPECT_EQ(9007199254740993, on_ints(Op::Div, DType::I64, {9007199254740993, 1}));
  EXPECT_EQ(3002399751580331, on_ints(Op::FloorDiv, DType::I64, {9007199254740993, 3}));
}

TEST(IntegerOps, DivideByZeroAndOverflow) {
  for (Op op : {Op::Div, Op::FloorDiv, Op::Mod, Op::Rem})
    for (DType type : {DType::I8, DType::U32, DType::I64}) EXPECT_EQ(0, on_ints(op, type, {5, 0}));
  EXPECT_EQ(INT64_MIN, on_ints(Op::Div, DType::I64, {INT64_MIN, -1}));
  EXPECT_EQ(INT32_MIN, on_ints(Op::FloorDiv, DType::I32, {INT32_MIN, -1}));
  EXPECT_EQ(0, on_ints(Op::Mod, DType::I64, {INT64_MIN, -1}));
}

TEST(IntegerOps, AgreeWithPlainArithmeticOnAllBytes) {
  for (int a = -128; a < 128; ++a) {
    for (int b = -128; b < 128; ++b) {
      ASSERT_EQ(std::int8_t(a + b), on_ints(Op::Add, DType::I8, {a, b}));
      ASSERT_EQ(std::int8_t(a * b), on_ints(Op::Mul, DType::I8, {a, b}));
      ASSERT_EQ(std::max(a, b), on_ints(Op::Max, DType::I8, {a, b}));
      if (b == 0) continue;
      ASSERT_EQ(std::int8_t(a / b), on_ints(Op::Div, DType::I8, {a, b}));
      ASSERT_EQ(std::int8_t(int(std::floor(double(a) / b))),
                on_ints(Op::FloorDiv, DType::I8, {a, b}));
      ASSERT_EQ(std::int8_t(a % b), on_ints(Op::Rem, DType::I8, {a, b}));
    }
  }
}

TEST(IntegerOps, Shift) {
  EXPECT_EQ(0, on_ints(Op::Shl, DType::I32, {1, 32}));
  EXPECT_EQ(INT32_MIN, on_ints(Op::Shl, DType::I32, {1, 31}));
  EXPECT_EQ(-1, on_ints(Op::Shr, DType::I32, {-5, 40}));
  EXPECT_EQ(0, on_ints(Op::Shr, DType::U64, {-5, 64}));
  EXPECT_EQ(-3, on_ints(Op::Shr, DType::I8, {-5, 1}));
  EXPECT_EQ(0, on_ints(Op::Shl, DType::I8, {1, -1}));
}

TEST(IntegerOps, Power) {
  EXPECT_EQ(-243, on_ints(Op::Pow, DType::I32, {-3, 5}));
  EXPECT_EQ(0, on_ints(Op::Pow, DType::U8, {2, 8}));
  EXPECT_EQ(1, on_ints(Op::Pow, DType::I32, {0, 0}));
  EXPECT_EQ(0, on_ints(Op::Pow, DType::I32, {2, -1}));
  EXPECT_EQ(-1, on_ints(Op::Pow, DType::I32, {-1, -3}));
  EXPECT_EQ(1, on_ints(Op::Pow, DType::I32, {-1, -2}));
  EXPECT_EQ(0, on_ints(Op::Pow, DType::I32, {0, -1}));
  EXPECT_EQ(1, on_ints(Op::Pow, DType::U8, {255, 254}));
}

TEST(IntegerOps, OrderByTheirSignedness) {
  EXPECT_EQ(INT32_MIN, on_ints(Op::Min, DType::I32, {INT32_MIN, 5}));
  EXPECT_EQ(255, on_ints(Op::Max, DType::U8, {255, 3}));
  EXPECT_EQ(-1, on_ints(Op::Max, DType::U64, {-1, 3}));
  EXPECT_EQ(1, on_ints(Op::Sign, DType::U8, {200}));
  EXPECT_EQ(-1, on_ints(Op::Sign, DType::I8, {-100}));
  EXPECT_EQ(0, on_ints(Op::Not, DType::Bool, {1}));
  EXPECT_EQ(-2, on_ints(Op::Not, DType::I32, {1}));
}

TEST(FloatOps, MinAndMaxPropagateNanAndOrderZeros) {
  for (DType type : kFloats) {
    for (Op op : {Op::Max, Op::Min}) {
      expect_floats(op, type, kNan, 1, kNan);
      expect_floats(op, type, 1, kNan, kNan);
    }
    expect_floats(Op::Max, type, -2, 3, 3);
    expect_floats(Op::Min, type, -2, 3, -2);
    expect_floats(Op::Max, type, -0.0, 0.0, 0.0);
    expect_floats(Op::Max, type, 0.0, -0.0, 0.0);
    expect_floats(Op::Min, type, 0.0, -0.0, -0.0);
    expect_floats(Op::Min, type, -0.0, 0.0, -0.0);
  }
}

TEST(FloatOps, KeepIeeeRulesAtTheSpecialValues) {
  const double x[] = {kNan, kInf, -kInf, 0, -0.0, 3};
  const double times_zero[] = {kNan, kNan, kNan, 0, -0.0, 0};
  const double minus_itself[] = {kNan, kNan, kNan, 0, 0, 0};
  const double over_itself[] = {kNan, kNan, kNan, kNan, kNan, 1};
  const double under_zero[] = {kNan, 0, -0.0, kNan, kNan, 0};
  for (DType type : kFloats) {
    for (int i = 0; i < 6; ++i) {
      expect_floats(Op::Mul, type, x[i], 0, times_zero[i]);
      expect_floats(Op::Sub, type, x[i], x[i], minus_itself[i]);
      expect_floats(Op::Div, type, x[i], x[i], over_itself[i]);
      expect_floats(Op::Div, type, 0, x[i], under_zero[i]);
    }
    expect_floats(Op::Div, type, -1, 0, -kInf);
    expect_same(kNan, on_floats(Op::Sign, type, {kNan}), "sign");
    expect_same(-0.0, on_floats(Op::Sign, type, {-0.0}), "sign");
    expect_same(-1, on_floats(Op::Sign, type, {-kInf}), "sign");
  }
}

TEST(FloatOps, RoundTiesToEven) {
  const double x[] = {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.25, 8388609};
  const double expected[] = {0, 2, 2, -0.0, -2, -2, 0, -0.0, 8388609};
  for (int i = 0; i < 9; ++i)
    expect_same(expected[i], on_floats(Op::Round, DType::F32, {x[i]}), std::to_string(x[i]));
  expect_same(4503599627370497, on_floats(Op::Round, DType::F64, {4503599627370497}), "f64");
}

TEST(FloatOps, DivideCorrectlyRounded) {
  EXPECT_EQ(5, on_floats(Op::Div, DType::F32, {4.6875, 0.9375}));
  for (int k = 1; k <= 100000; k += 7)
    ASSERT_EQ(k, on_floats(Op::Div, DType::F32, {k * 0.9375, 0.9375}));
}

TEST(FloatOps, FloorDivisionFollowsPython) {
  expect_floats(Op::FloorDiv, DType::F64, 1, 0.1, 9);
  expect_floats(Op::Mod, DType::F64, -7, 2, 1);
  expect_floats(Op::Mod, DType::F64, 7, -2, -1);
  expect_floats(Op::Rem, DType::F64, -7, 2, -1);
  expect_floats(Op::Mod, DType::F32, 6, -3, -0.0);
  expect_floats(Op::Mod, DType::F32, -1, kInf, kInf);
  expect_floats(Op::FloorDiv, DType::F32, -1, kInf, -1);
  expect_floats(Op::FloorDiv, DType::F32, -7, 2, -4);
  expect_floats(Op::FloorDiv, DType::F32, 1, 0, kInf);
  expect_floats(Op::FloorDiv, DType::F16, -0.0, 3, -0.0);
  expect_floats(Op::Mod, DType::F32, 1, 0, kNan);
}

TEST(FloatOps, FmaOfSixteenBitsRoundsOnce) {
  // A tie of the product, broken by an addend below the last place of f32.
  double a = 1 + 1.0 / 128, b = 1.5, tiny = std::ldexp(1, -60);
  EXPECT_EQ(1.5078125, on_floats(Op::Fma, DType::BF16, {a, b, -tiny}));
  EXPECT_EQ(1.515625, on_floats(Op::Fma, DType::BF16, {a, b, tiny}));
  EXPECT_EQ(std::fma(1e10f, 1e-10f, -1.0f), on_floats(Op::Fma, DType::F32, {1e10f, 1e-10f, -1.0f}));
}

TEST(FloatOps, LiteralsOfSixteenBitOperationsAreNotRounded) {
  const Literal operands[] = {real(DType::BF16, 3), real(DType::F32, 0.1f)};
  EXPECT_EQ(encode_float(DType::BF16, 3 * 0.1f), apply(Op::Mul, DType::BF16, operands));
  const Literal fp8[] = {real(DType::F8E4M3, 0.5), real(DType::F32, 0.50001f)};
  EXPECT_EQ(1u, apply(Op::Lt, DType::Bool, fp8));
}

TEST(FloatOps, NameDocumentedValues) {
  const double x[] = {1e5, 1e6, 1e7, 1e9, 1e10, 1e15, 1e20, 1e30, 3.4e38};
  const double sine[] = {0.03574880, -0.34999350, 0.42054779,  0.54584345, -0.48750603,
                         0.99443431, 0.65657668,  -0.79116344, -0.24408487};
  for (int i = 0; i < 9; ++i)
    EXPECT_NEAR(sine[i], on_floats(Op::Sin, DType::F32, {x[i]}), 4e-8) << x[i];
  expect_same(kNan, on_floats(Op::Sin, DType::F32, {kInf}), "sin");
  EXPECT_NEAR(-0.5347584084320597, on_floats(Op::Log1p, DType::F64, {-0.4141892}), 1.2e-16);
  EXPECT_NEAR(-0.7550225842780328, on_floats(Op::Log1p, DType::F64, {-0.53}), 1.2e-16);
  EXPECT_EQ(float(9.9999999e-9), on_floats(Op::Expm1, DType::F32, {1e-8}));
}

TEST(SpecialFunctions, Digamma) {
  EXPECT_NEAR(-0.57721566490153286, on_floats(Op::Digamma, DType::F64, {1}), 1e-16);
  EXPECT_NEAR(0.42278433509846714, on_floats(Op::Digamma, DType::F64, {2}), 1e-16);
  EXPECT_NEAR(4.600161852738087400, on_floats(Op::Digamma, DType::F64, {100}), 9e-16);
  EXPECT_NEAR(0.03648997397857652, on_floats(Op::Digamma, DType::F64, {-0.5}), 1e-16);
  // Beside its zero, 1.46163214496836234126...
  EXPECT_NEAR(-9.2412655217294275e-17, on_floats(Op::Digamma, DType::F64, {1.4616321449683622}),
              1e-31);
  expect_same(-kInf, on_floats(Op::Digamma, DType::F64, {0.0}), "digamma");
  expect_same(kNan, on_floats(Op::Digamma, DType::F64, {-3}), "digamma");
}

TEST(SpecialFunctions, DigammaObeysItsRecurrence) {
  for (double x = 0.013; x < 40; x *= 1.07) {
    long double step =
        digamma(static_cast<long double>(x) + 1) - digamma(static_cast<long double>(x));
    EXPECT_NEAR(1, double(step * x), 1e-17L * (1 + std::fabs(x * double(digamma(x))))) << x;
  }
}

TEST(SpecialFunctions, ErfinvInvertsErf) {
  for (double x = 1e-30; x < 1; x = x < 0.5 ? x * 1.7 : 1 - (1 - x) * 0.6) {
    if (1 - x < 1e-15) break;
    long double y = erfinv(static_cast<long double>(x));
    long double back = x < 0.5 ? std::erf(y) / x : std::erfc(y) / (1 - static_cast<long double>(x));
    EXPECT_NEAR(1, double(back), 1e-16) << x;
    EXPECT_EQ(double(-y), double(erfinv(static_cast<long double>(-x))));
    EXPECT_NEAR(1, erfinv(x) / double(y), 1e-15);
  }
  expect_same(kInf, on_floats(Op::Erfinv, DType::F32, {1}), "erfinv");
  expect_same(kNan, on_floats(Op::Erfinv, DType::F32, {1.5}), "erfinv");
  expect_same(-0.0, on_floats(Op::Erfinv, DType::F32, {-0.0}), "erfinv");
}

TEST(Casts, Fp8AtTiesOverflowAndSubnormals) {
  const double x[] = {432,
                      448,
                      464,
                      465,
                      1000,
                      -1000,
                      kInf,
                      std::ldexp(1, -9),
                      std::ldexp(1, -10),
                      0.75 * std::ldexp(1, -9),
                      -0.0,
                      kNan};
  const double plain[] = {
      448, 448, 448, kNan, kNan, kNan, kNan, std::ldexp(1, -9), 0, std::ldexp(1, -9), -0.0, kNan};
  const double clamped[] = {
      448, 448, 448, 448, 448, -448, 448, std::ldexp(1, -9), 0, std::ldexp(1, -9), -0.0, kNan};
  for (int i = 0; i < 12; ++i) {
    expect_same(plain[i], cast_float(Op::Cast, DType::F32, x[i], DType::F8E4M3), "cast");
    expect_same(clamped[i], cast_float(Op::CastSat, DType::F32, x[i], DType::F8E4M3), "cast_sat");
  }
  expect_same(57344, cast_float(Op::Cast, DType::F32, 57344, DType::F8E5M2), "e5m2");
  expect_same(kInf, cast_float(Op::Cast, DType::F32, 61440, DType::F8E5M2), "e5m2");
  expect_same(57344, cast_float(Op::CastSat, DType::F32, kInf, DType::F8E5M2), "e5m2");
}

TEST(Casts, EveryNarrowFloatReadsBack) {
  for (DType type : {DType::F8E4M3, DType::F8E5M2, DType::F16, DType::BF16}) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 8 * size_of(type); ++bits) {
      double value = decode_float(type, bits);
      if (std::isnan(value)) continue;
      ASSERT_EQ(bits, encode_float(type, value)) << to_string(type) << " " << bits;
      ASSERT_EQ(bits, convert(Op::Cast, type, {DType::F64, std::bit_cast<std::uint64_t>(value)}));
    }
  }
}

/// The nearest float by comparing distances to both neighbours: slow and independent.
double nearest_by_search(DType type, long double value, std::uint64_t near_bits) {
  double best = decode_float(type, near_bits);
  std::uint64_t best_bits = near_bits;
  for (std::uint64_t bits = near_bits - 2; bits != near_bits + 3; ++bits) {
    double candidate = decode_float(type, bits);
    long double gain = std::fabs(best - value) - std::fabs(candidate - value);
    if (gain > 0 || (gain == 0 && bits % 2 == 0 && best_bits % 2 == 1)) {
      best = candidate;
      best_bits = bits;
    }
  }
  return best;
}

TEST(Casts, RoundIntegersAndDoublesOnce) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::int64_t x = std::int64_t(random() >> (1 + random() % 60));
    for (DType type : {DType::F16, DType::BF16, DType::F32}) {
      if (type == DType::F16 && x > 65000) continue;
      std::uint64_t bits = convert(Op::Cast, type, integer(DType::I64, x));
      ASSERT_EQ(nearest_by_search(type, x, bits), decode_float(type, bits)) << x;
    }
  }
  // Halfway in bf16 after rounding to f32, not before.
  EXPECT_EQ(1.0078125, cast_float(Op::Cast, DType::F64, 1.00390625 + 1e-12, DType::BF16));
  EXPECT_EQ(1, cast_float(Op::Cast, DType::F64, 1.00390625 - 1e-12, DType::BF16));
  std::int64_t above_tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  EXPECT_EQ(
      std::ldexp(1.0078125, 62),
      decode_float(DType::BF16, convert(Op::Cast, DType::BF16, integer(DType::I64, above_tie))));
}

TEST(Casts, FloatToIntegerSaturates) {
  EXPECT_EQ(0, cast_to_int(DType::F32, kNan, DType::I32));
  EXPECT_EQ(INT32_MAX, cast_to_int(DType::F32, 3e9, DType::I32));
  EXPECT_EQ(INT32_MIN, cast_to_int(DType::F32, -kInf, DType::I32));
  EXPECT_EQ(0, cast_to_int(DType::F32, -1, DType::U8));
  EXPECT_EQ(255, cast_to_int(DType::F32, 300.5, DType::U8));
  EXPECT_EQ(-2, cast_to_int(DType::F32, -2.9, DType::I64));
  EXPECT_EQ(INT64_MAX, cast_to_int(DType::F64, 9.3e18, DType::I64));
  EXPECT_EQ(-1, cast_to_int(DType::F64, 2e19, DType::U64));
  EXPECT_EQ(INT64_MIN, cast_to_int(DType::F64, -9223372036854775808.0, DType::I64));
  EXPECT_EQ(1, cast_to_int(DType::F32, kNan, DType::Bool));
  EXPECT_EQ(1, cast_to_int(DType::F32, 1e-45, DType::Bool));
  EXPECT_EQ(0, cast_to_int(DType::F32, -0.0, DType::Bool));
}

TEST(Casts, IntegersWrapOrClamp) {
  EXPECT_EQ(44u, convert(Op::Cast, DType::I8, integer(DType::I32, 300)));
  EXPECT_EQ(127u, convert(Op::CastSat, DType::I8, integer(DType::I32, 300)));
  EXPECT_EQ(0u, convert(Op::CastSat, DType::U16, integer(DType::I32, -300)));
  EXPECT_EQ(std::uint64_t(INT64_MAX), convert(Op::CastSat, DType::I64, integer(DType::U64, -1)));
  EXPECT_EQ(65504, decode_float(DType::F16,
                                convert(Op::CastSat, DType::F16, integer(DType::I32, 1 << 20))));
  EXPECT_EQ(~std::uint64_t{0}, convert(Op::Bitcast, DType::I8, integer(DType::U8, 255)));
  EXPECT_EQ(0x3f800000u, convert(Op::Bitcast, DType::I32, real(DType::F32, 1)));
}

TEST(Casts, NarrowingPairsKeepTheirRounding) {
  const double expected[] = {
      0, 0.142822265625, 0.28564453125, 0.428466796875, 0.5712890625, 0.71435546875, 0.85693359375,
      1};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(expected[i], cast_float(Op::Cast, DType::F32, float(i) / 7, DType::F16));
}

}  // namespace
}  // namespace fuse
