#include "expression.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fuse
