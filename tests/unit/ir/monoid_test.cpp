// Reductions by monoid, against values worked out by hand.
#include "ir/scalar.h"

#include "ir/float_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace fuse {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

MonoidState fold(Monoid monoid, DType type, const std::vector<double> &values) {
  MonoidState state = identity(monoid, type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t operands[] = {encode_float(type, values[i]), i};
    state = combine(monoid, type, state, lift(monoid, type, operands));
  }
  return state;
}

TEST(Monoids, ArgMaxTakesTheFirstAndNanWins) {
  const std::vector<std::vector<double>> rows = {{7, 7, 7},    {4, kNan, 2, 9},     {kNan, 1, kNan},
                                                 {1, 2, kNan}, {kInf, kNan, -kInf}, {-kInf, -kInf},
                                                 {kNan, kNan}, {-0.0, 0.0}};
  const std::uint64_t expected[] = {0, 1, 0, 2, 1, 0, 0, 0};
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(expected[i], fold(Monoid::ArgMax, DType::F32, rows[i])[1]) << i;
  EXPECT_EQ(1u, fold(Monoid::ArgMin, DType::F32, {4, kNan, 2, 9})[1]);
  EXPECT_EQ(2u, fold(Monoid::ArgMin, DType::F16, {4, 3, 2, 9})[1]);
}

TEST(Monoids, ArgMaxDoesNotDependOnTheGrouping) {
  std::vector<MonoidState> states;
  for (double value : {1.0, kNan, 3.0, 3.0, kNan}) {
    const std::uint64_t operands[] = {encode_float(DType::F32, value), states.size()};
    states.push_back(lift(Monoid::ArgMax, DType::F32, operands));
  }
  MonoidState later = combine(Monoid::ArgMax, DType::F32, states[3], states[4]);
  MonoidState swapped = combine(Monoid::ArgMax, DType::F32, later, states[1]);
  EXPECT_EQ(1u, swapped[1]);
}

TEST(Monoids, WelfordGivesMeanAndSquares) {
  MonoidState s = fold(Monoid::Welford, DType::F64, {1, 2, 4, 9});
  EXPECT_NEAR(4, decode_float(DType::F64, s[0]), 1e-15);
  EXPECT_NEAR(38, decode_float(DType::F64, s[1]), 1e-13);
  EXPECT_EQ(4, decode_float(DType::F64, s[2]));
  EXPECT_EQ(identity(Monoid::Welford, DType::F32),
            combine(Monoid::Welford, DType::F32, identity(Monoid::Welford, DType::F32),
                    identity(Monoid::Welford, DType::F32)));
}

MonoidState online(const std::vector<double> &values) {
  MonoidState state = identity(Monoid::Online, DType::F32);
  for (double value : values) {
    const std::uint64_t operands[] = {encode_float(DType::F32, value), encode_float(DType::F32, 1)};
    state = combine(Monoid::Online, DType::F32, state, lift(Monoid::Online, DType::F32, operands));
  }
  return state;
}

TEST(Monoids, OnlineRescalesSums) {
  MonoidState s = online({0, 1, 3, 2});
  EXPECT_EQ(3, decode_float(DType::F32, s[0]));
  EXPECT_NEAR(std::exp(-3) + std::exp(-2) + 1 + std::exp(-1), decode_float(DType::F32, s[1]), 2e-7);
  EXPECT_EQ(1, decode_float(DType::F32, online({-kInf, 1})[1]));
  EXPECT_EQ(2, decode_float(DType::F32, online({-kInf, -kInf})[1]));
  EXPECT_TRUE(std::isnan(decode_float(DType::F32, online({1, kNan})[1])));
  EXPECT_EQ(identity(Monoid::Online, DType::F32), online({}));
}

TEST(Monoids, MinAndMaxOfIntegers) {
  EXPECT_EQ(INT64_MIN, std::int64_t(identity(Monoid::Max, DType::I64)[0]));
  EXPECT_EQ(255u, identity(Monoid::Min, DType::U8)[0]);
  EXPECT_EQ(~std::uint64_t{0}, identity(Monoid::Min, DType::U64)[0]);
}

}  // namespace
}  // namespace fuse
