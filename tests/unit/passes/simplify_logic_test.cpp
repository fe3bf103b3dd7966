#include "expression.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fuse {
namespace {

TEST(SimplifyLogic, Bits) {
  for (DType t : {i8, i64, u16, boolean}) {
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return ~~x; }, t), "x");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x & x; }, t), "x");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x | x; }, t), "x");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x ^ x; }, t), "0");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x & 0; }, t), "0");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x | 0; }, t), "x");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x ^ 0; }, t), "x");
  }
  for (DType t : {i8, i64}) {
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x & -1; }, t), "x");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x | -1; }, t), "-1");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x ^ -1; }, t), "not(x)");
    EXPECT_EQ(simplified([](auto &, Value x, Value) { return x & 1; }, t), "and(x, 1)");
  }
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return x & true; }, boolean), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return x | true; }, boolean), "1");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return x ^ true; }, boolean), "not(x)");
}

TEST(SimplifyLogic, MinAndMax) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return max(x, x); }), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return min(x, x); }, i32), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return max(x, -INFINITY); }, bf16), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return min(x, INFINITY); }), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return min(x, -INFINITY); }), "min(x, -inf)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return max(x, -128); }, i8), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return max(x, -127); }, i8), "max(x, -127)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return min(x, 255); }, u8), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return max(x, 0); }, u8), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return max(x, 0); }, i8), "max(x, 0)");
}

TEST(SimplifyLogic, ComparisonsWithItself) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return eq(x, x); }, i32), "1");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return x <= x; }, u8), "1");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return x < x; }, i32), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return ne(x, x); }, boolean), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return ne(x, x); }, f32), "ne(x, x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return x >= x; }, bf16), "ge(x, x)");
}

TEST(SimplifyLogic, NotOfAComparison) {
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return ~eq(x, y); }), "ne(x, y)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return ~(x < y); }, i32), "ge(x, y)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return ~(x < y); }), "not(lt(x, y))");
}

TEST(SimplifyLogic, ClassesOfIntegers) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return isnan(x); }, i32), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return isfinite(x); }, u8), "1");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return isinf(x); }), "isinf(x)");
}

TEST(SimplifyLogic, Select) {
  auto always = [](Graph &g) { return g.constant(std::int64_t{1}, boolean, {4, 6}); };
  EXPECT_EQ(simplified([&](Graph &g, Value x, Value y) { return select(always(g), x, y); }), "x");
  EXPECT_EQ(simplified([&](Graph &g, Value x, Value y) { return select(~always(g), x, y); }), "y");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return select(x < y, x, x); }), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return select(x < y, x, y); }),
            "select(lt(x, y), x, y)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return select(~(x < y), x, y); }),
            "select(lt(x, y), y, x)");
}

TEST(SimplifyLogic, SelectRoundsALiteral) {
  // 0.1 is an f32 inside a bf16 operation; as its result it is a bf16.
  auto build = [](Graph &g, Value x, Value) {
    return select(g.constant(std::int64_t{0}, boolean, {4, 6}), x, 0.1);
  };
  EXPECT_EQ(simplified(build, bf16), "0.10009765625");
}

TEST(SimplifyLogic, SelectOfBools) {
  auto pick = [](bool a, bool b) {
    return [=](Graph &g, Value x, Value) {
      return select(x, g.constant(std::int64_t{a}, boolean, {4, 6}),
                    g.constant(std::int64_t{b}, boolean, {4, 6}));
    };
  };
  EXPECT_EQ(simplified(pick(true, false), boolean), "x");
  EXPECT_EQ(simplified(pick(false, true), boolean), "not(x)");
  EXPECT_EQ(simplified(pick(true, true), boolean), "1");
}

}  // namespace
}  // namespace fuse
