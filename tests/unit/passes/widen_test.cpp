#include "expression.h"
#include "ir/graph_data.h"
#include "ir/graph_verify.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

std::string widened(const Build &build, DType type = bf16) {
  Graph before = graph_of(build, type);
  Graph once = widen(before);
  verify(once);
  EXPECT_EQ(expression(once), expression(widen(once))) << "widen is not idempotent";
  EXPECT_EQ(once.outputs()[0].dtype(), before.outputs()[0].dtype());
  return expression(once);
}

TEST(Widen, ChainsComputeInF32AndRoundOnce) {
  EXPECT_EQ(widened([](auto &, Value x, Value) { return tanh(exp(x)); }),
            "cast:bf16(tanh(exp(cast:f32(x))))");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return exp(x * y) * y; }, f16),
            "cast:f16(mul(exp(mul(cast:f32(x), cast:f32(y))), cast:f32(y)))");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return sum(x * y, {1}); }),
            "cast:bf16(sum{1}(mul(cast:f32(x), cast:f32(y))))");
}

TEST(Widen, LiteralsAreF32Already) {
  EXPECT_EQ(widened([](auto &, Value x, Value) { return exp(x * 0.5); }),
            "cast:bf16(exp(mul(cast:f32(x), 0.5)))");
}

TEST(Widen, SingleOperationsStay) {
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return x * y; }), "mul(x, y)");
  EXPECT_EQ(widened([](auto &, Value x, Value) { return transpose(x, {1, 0}); }),
            "transpose{1,0}(x)");
  EXPECT_EQ(widened([](auto &, Value x, Value) { return exp(transpose(x, {1, 0})); }),
            "exp(transpose{1,0}(x))");
  EXPECT_EQ(widened([](auto &, Value x, Value) { return tanh(exp(x)); }, f32), "tanh(exp(x))");
}

TEST(Widen, RoundingPoints) {
  auto unchanged = [](const Build &build) {
    EXPECT_EQ(widened(build), expression(graph_of(build, bf16)));
  };
  unchanged([](auto &, Value x, Value) { return cast(exp(x), f32); });
  unchanged([](auto &, Value x, Value y) { return exp(x) < exp(y); });
  unchanged([](auto &, Value x, Value) { return floor(exp(x)); });
  unchanged([](auto &, Value x, Value) { return sign(exp(x)); });
  unchanged([](auto &, Value x, Value) { return round(exp(x)); });
  unchanged([](auto &, Value x, Value y) { return mod(exp(x), y); });
  unchanged([](auto &, Value x, Value y) { return floordiv(exp(x), y); });
  unchanged([](auto &, Value x, Value) { return bitcast(exp(x), i16); });
  unchanged([](auto &, Value x, Value) { return reduce_max(exp(x), {1}); });
  unchanged([](auto &, Value x, Value) { return argmin(exp(x), 1); });
  unchanged([](auto &, Value x, Value) { return exp(exp(x).keep()); });
  unchanged([](Graph &g, Value x, Value) { return g.extern_op("f", {exp(x)}, {{f32, {4}}})[0]; });
}

TEST(Widen, ValuesWithSeveralReadersAreRounded) {
  auto build = [](auto &, Value x, Value y) {
    Value e = exp(x);
    return e * (e + y);
  };
  EXPECT_EQ(widened(build), "cast:bf16(mul(cast:f32(exp(x)), add(cast:f32(exp(x)), cast:f32(y))))");
  EXPECT_EQ(widened([](auto &, Value x, Value) {
              Value e = exp(x);
              return e * e;
            }),
            "mul(exp(x), exp(x))");
}

TEST(Widen, OutputsAreRounded) {
  Graph g("test");
  Value x = g.input("x", bf16, {4});
  Value e = exp(x);
  g.output("e", e);
  g.output("t", tanh(e));
  EXPECT_EQ(expression(widen(g)), "exp(x); tanh(exp(x))");
}

TEST(Widen, ViewsPassTheChainOn) {
  EXPECT_EQ(widened([](auto &, Value x, Value) { return tanh(transpose(exp(x), {1, 0})); }),
            "cast:bf16(tanh(transpose{1,0}(exp(cast:f32(x)))))");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return tanh(concat({exp(x), y}, 0)); }),
            "cast:bf16(tanh(concat{0}(exp(cast:f32(x)), cast:f32(y))))");
  EXPECT_EQ(widened([](auto &, Value x, Value) { return transpose(exp(x), {1, 0}); }),
            "transpose{1,0}(exp(x))");
  EXPECT_EQ(widened([](auto &, Value x, Value) { return exp(pad(exp(x), {0, 0}, {0, 1}, 2)); }),
            "cast:bf16(exp(pad{0,0|0,1}(exp(cast:f32(x)), 2)))");
}

TEST(Widen, SelectPassesValuesAndKeepsItsCondition) {
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return exp(select(x < y, -x, y)); }),
            "cast:bf16(exp(select(lt(x, y), neg(cast:f32(x)), cast:f32(y))))");
}

TEST(Widen, ProductsInChainsAreContracted) {
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return x * y + y; }),
            "cast:bf16(fma(cast:f32(x), cast:f32(y), cast:f32(y)))");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return y + x * 2; }),
            "cast:bf16(fma(cast:f32(x), 2, cast:f32(y)))");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return x * y - y; }),
            "cast:bf16(fma(cast:f32(x), cast:f32(y), neg(cast:f32(y))))");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return y - x * y; }),
            "cast:bf16(fma(neg(cast:f32(x)), cast:f32(y), cast:f32(y)))");
}

TEST(Widen, ProductsElsewhereAreNot) {
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return x * y + y; }, f32), "add(mul(x, y), y)");
  EXPECT_EQ(widened([](auto &, Value x, Value y) { return (x * y).keep() + y; }),
            "add(mul(x, y), y)");
}

}  // namespace
}  // namespace fuse
