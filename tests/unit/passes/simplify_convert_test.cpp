#include "expression.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fuse {
namespace {

std::string casts(DType from, std::initializer_list<DType> types) {
  return simplified(
      [&](Graph &, Value x, Value) {
        for (DType t : types) x = cast(x, t);
        return x;
      },
      from);
}

TEST(SimplifyConvert, CastsThatLoseNothing) {
  EXPECT_EQ(casts(f16, {f32, f16}), "x");
  EXPECT_EQ(casts(bf16, {f32, bf16}), "x");
  EXPECT_EQ(casts(bf16, {f32, f64, f16}), "cast:f16(x)");
  EXPECT_EQ(casts(f8e5m2, {f16, f32}), "cast:f32(x)");
  EXPECT_EQ(casts(f8e4m3, {bf16, f8e4m3}), "x");
  EXPECT_EQ(casts(i8, {bf16, f32}), "cast:f32(x)");
  EXPECT_EQ(casts(i32, {f64, i32}), "x");
  EXPECT_EQ(casts(u8, {i16, u8}), "x");
  EXPECT_EQ(casts(i16, {i64, i8}), "cast:i8(x)");
  EXPECT_EQ(casts(boolean, {f32, boolean}), "x");
  EXPECT_EQ(casts(boolean, {i32, f32}), "cast:f32(x)");
}

TEST(SimplifyConvert, CastsThatLoseBitsStay) {
  EXPECT_EQ(casts(f32, {f16, f32}), "cast:f32(cast:f16(x))");
  EXPECT_EQ(casts(f32, {bf16, f32}), "cast:f32(cast:bf16(x))");
  EXPECT_EQ(casts(f16, {bf16, f32}), "cast:f32(cast:bf16(x))");
  EXPECT_EQ(casts(bf16, {f16, f32}), "cast:f32(cast:f16(x))");
  EXPECT_EQ(casts(f8e4m3, {f8e5m2, f32}), "cast:f32(cast:f8e5m2(x))");
  EXPECT_EQ(casts(f8e5m2, {f8e4m3, f32}), "cast:f32(cast:f8e4m3(x))");
  EXPECT_EQ(casts(i32, {f32, i32}), "cast:i32(cast:f32(x))");
  EXPECT_EQ(casts(i16, {bf16, f32}), "cast:f32(cast:bf16(x))");
  EXPECT_EQ(casts(i8, {u16, i32}), "cast:i32(cast:u16(x))");
  EXPECT_EQ(casts(i32, {boolean, i32}), "cast:i32(cast:bool(x))");
}

TEST(SimplifyConvert, FloatsSaturateWhereIntegersWrap) {
  EXPECT_EQ(casts(i8, {f32, u8}), "cast:u8(cast:f32(x))");
  EXPECT_EQ(casts(i8, {f32, i16}), "cast:i16(x)");
}

TEST(SimplifyConvert, CastSat) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cast_sat(cast(x, f32), f8e4m3); }, bf16),
            "cast_sat:f8e4m3(x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cast_sat(cast(x, f32), bf16); }, bf16),
            "cast_sat:bf16(cast:f32(x))");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cast(cast_sat(x, f32), f64); }, bf16),
            "cast:f64(cast_sat:f32(x))");
}

TEST(SimplifyConvert, Bitcasts) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return bitcast(bitcast(x, i32), f32); }), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return bitcast(bitcast(x, i32), u32); }),
            "bitcast:u32(x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return bitcast(cast(x, i32), f32); }),
            "bitcast:f32(cast:i32(x))");
}

/// A comparison of what a uniform random number is made of.
std::string compared(const std::function<Value(Value)> &compare, DType type = bf16) {
  int bits = type == f32 ? 24 : type == f16 ? 11 : 8;
  auto build = [&](Graph &, Value x, Value) {
    return compare(cast(shr(x, 32 - bits), type) * std::ldexp(1.0, -bits));
  };
  return simplified(build, u32);
}

TEST(SimplifyConvert, NumbersMadeOfWordsCompareAsWords) {
  EXPECT_EQ(compared([](Value u) { return u > 0.10009765625; }), "ge(x, 436207616)");  // 26 << 24
  EXPECT_EQ(compared([](Value u) { return u <= 0.10009765625; }), "lt(x, 436207616)");
  EXPECT_EQ(compared([](Value u) { return u > 0.5; }), "ge(x, 2164260864)");  // 129 << 24
  EXPECT_EQ(compared([](Value u) { return u >= 0.5; }), "ge(x, 2147483648)");
  EXPECT_EQ(compared([](Value u) { return u < 0.5; }), "lt(x, 2147483648)");
  EXPECT_EQ(compared([](Value u) { return u < 0.5; }, f16), "lt(x, 2147483648)");
  EXPECT_EQ(compared([](Value u) { return u <= 0.5; }, f32), "lt(x, 2147483904)");
  EXPECT_EQ(compared([](Value u) { return u < 0.0; }), "0");
  EXPECT_EQ(compared([](Value u) { return u >= -INFINITY; }), "1");
  EXPECT_EQ(compared([](Value u) { return u < 1.0; }), "1");
  EXPECT_EQ(compared([](Value u) { return u > 0.99609375; }), "0");  // the greatest
}

TEST(SimplifyConvert, RoundedNumbersCompareAsTheyAre) {
  auto compare = [](int shift, double scale) {
    auto build = [=](Graph &, Value x, Value) { return cast(shr(x, shift), bf16) * scale < 0.5; };
    return simplified(build, u32).substr(0, 6);
  };
  EXPECT_EQ(compare(24, 0x1p-8), "lt(x, ");
  EXPECT_EQ(compare(23, 0x1p-8), "lt(mul");  // more bits than bf16 has
  EXPECT_EQ(compare(24, 0x3p-8), "lt(mul");
  EXPECT_EQ(compare(24, 0x1p-130), "lt(mul");  // below the normal numbers
}

}  // namespace
}  // namespace fuse
