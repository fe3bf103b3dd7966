// Where a derivative does not exist, or several do: what docs/grad.md says.
#include "unit/derivative.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace fuse;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = INFINITY;

TEST(GradConventions, AtTiesALiteralTakesAllElseTheSecondOperand) {
  auto of = [](auto f) { return derivative({-1, 0, 1}, f); };
  EXPECT_THAT(of([](Value x) { return relu(x); }), ElementsAre(0, 0, 1));
  EXPECT_THAT(of([](Value x) { return max(0.0, x); }), ElementsAre(0, 0, 1));
  EXPECT_THAT(of([](Value x) { return min(x, 0.0); }), ElementsAre(1, 0, 0));
  EXPECT_THAT(of([](Value x) { return min(0.0, x); }), ElementsAre(1, 0, 0));
  EXPECT_THAT(of([](Value x) { return abs(x); }), ElementsAre(-1, 0, 1));
  auto [dx, dy] = derivatives({1, 2, 3}, {2, 2, 2}, [](Value x, Value y) { return max(x, y); });
  EXPECT_THAT(dx, ElementsAre(0, 0, 1));
  EXPECT_THAT(dy, ElementsAre(1, 1, 0));
}

TEST(GradConventions, ClampIsConstantAtItsBounds) {
  EXPECT_THAT(derivative({-2, -1, 0, 1, 2}, [](Value x) { return clamp(x, -1, 1); }),
              ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(
      derivative({-500, -448, 0, 448, 500}, [](Value x) { return cast(cast_sat(x, f8e4m3), f64); }),
      ElementsAre(0, 1, 1, 1, 0));
}

TEST(GradConventions, TheFirstOfEqualExtremesGetsAll) {
  auto largest = [](Value x) { return reduce_max(x, {0}); };
  EXPECT_THAT(derivative({3, 3, 1, 3}, largest), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(derivative({1, 3, 2, 3, 3, 0}, {3, 2}, [](Value x) { return reduce_max(x, {0, 1}); }),
              ElementsAre(0, 1, 0, 0, 0, 0));
  EXPECT_THAT(derivative({1, 3, 2, 3, 3, 0}, {3, 2}, [](Value x) { return reduce_min(x, {1}); }),
              ElementsAre(1, 0, 1, 0, 0, 1));
  // Of three axes the outer and the inner.
  EXPECT_THAT(derivative({1, 5, 2, 0, 5, 5, 3, 1}, {2, 2, 2},
                         [](Value x) { return reduce_max(x, {0, 2}); }),
              ElementsAre(0, 1, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(derivative({1, 3, 2, 3, 4}, [](Value x) { return cummax(x, 0); }),
              ElementsAre(1, 3, 0, 0, 1));
  EXPECT_THAT(derivative({1, 3, 2, 3, 4}, [](Value x) { return cummin(x, 0, {.reverse = true}); }),
              ElementsAre(1, 0, 2, 1, 1));
  EXPECT_THAT(
      derivative({1, 3, 2, 3, 4}, [](Value x) { return cummax(x, 0, {.exclusive = true}); }),
      ElementsAre(1, 3, 0, 0, 0));
}

TEST(GradConventions, ProductsWithZeros) {
  auto product = [](Value x) { return prod(x, {0}); };
  EXPECT_THAT(derivative({2, 0, 3, 4}, product), ElementsAre(0, 24, 0, 0));
  EXPECT_THAT(derivative({2, 0, 0, 4}, product), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(derivative({0}, product), ElementsAre(1));
  auto running = [](Value x) { return cumprod(x, 0); };
  EXPECT_THAT(derivative({2, 3, 4}, running), ElementsAre(16, 10, 6));
  EXPECT_THAT(derivative({2, 0, 3, 4}, running), ElementsAre(1, 2 + 6 + 24, 0, 0));
  EXPECT_THAT(derivative({2, 0, 3, 0}, running), ElementsAre(1, 2 + 6, 0, 0));
  EXPECT_THAT(
      derivative({2, 0, 3, 5},
                 [](Value x) { return cumprod(x, 0, {.exclusive = true, .reverse = true}); }),
      ElementsAre(0, 15, 5, 4));  // 0, 15, 5, 1
}

TEST(GradConventions, RunningProductsThatUnderflowOrAreInfinite) {
  auto running = [](Value x) { return cumprod(x, 0); };
  EXPECT_THAT(derivative({1e-200, 1e-200, 1e200}, running),
              ElementsAre(2, testing::DoubleEq(1), 0));
  EXPECT_THAT(derivative({2, kInf, 3}, running), ElementsAre(kInf, 8, kInf));
  EXPECT_THAT(derivative({2, NAN, 3}, running), ElementsAre(testing::IsNan(), 8, testing::IsNan()));
}

TEST(GradConventions, SecondDerivativesOfRunningProductsWithZeros) {
  Graph g("g");
  Value x = g.input("x", f64, {3});
  Value d = grad(cumprod(x, 0), {x})[0];  // 1 + b + bc, a + ac, ab
  g.output("dd", grad(slice(d, 0, 0, 1), {x})[0]);
  std::vector<Tensor> inputs = {Tensor(f64, {3}, Numbers{2, 0, 0})};
  EXPECT_THAT(numbers(evaluate(g.data(), inputs).outputs[0]), ElementsAre(0, 1, 0));
}

TEST(GradConventions, TheFirstNaNOfARunningExtremeGetsAllBehindIt) {
  auto of = [](ScanOptions o, bool is_max) {
    return derivative({1, NAN, 2, NAN},
                      [=](Value x) { return is_max ? cummax(x, 0, o) : cummin(x, 0, o); });
  };
  for (bool is_max : {true, false}) {
    EXPECT_THAT(of({}, is_max), ElementsAre(1, 3, 0, 0));
    EXPECT_THAT(of({.exclusive = true}, is_max), ElementsAre(1, 2, 0, 0));
    EXPECT_THAT(of({.reverse = true}, is_max), ElementsAre(0, 0, 0, 4));
    EXPECT_THAT(of({.exclusive = true, .reverse = true}, is_max), ElementsAre(0, 0, 0, 3));
  }
}

TEST(GradConventions, PolesAreInfiniteWhereNothingElseWasChosen) {
  EXPECT_THAT(derivative({0, 4}, [](Value x) { return sqrt(x); }), ElementsAre(kInf, 0.25));
  EXPECT_THAT(derivative({0, 2}, [](Value x) { return log(x); }), ElementsAre(kInf, 0.5));
  auto [da, db] = derivatives({1, 6}, {0, 2}, [](Value a, Value b) { return a / b; });
  EXPECT_THAT(da, ElementsAre(kInf, 0.5));
  EXPECT_THAT(db, ElementsAre(-kInf, -1.5));
}

TEST(GradConventions, PowersAtZero) {
  auto of = [](double c) { return derivative({0, 3}, [=](Value x) { return pow(x, c); }); };
  EXPECT_THAT(of(0), ElementsAre(0, 0));
  EXPECT_THAT(of(1), ElementsAre(1, 1));
  EXPECT_THAT(of(2), ElementsAre(0, 6));
  EXPECT_THAT(of(3), ElementsAre(0, 27));
  EXPECT_THAT(of(0.5)[0], kInf);
  auto [dx, db] =
      derivatives({0, 0, 0, 2}, {0, 1, 2, 3}, [](Value x, Value b) { return pow(x, b); });
  EXPECT_THAT(dx, ElementsAre(0, 1, 0, testing::DoubleEq(12)));
  EXPECT_THAT(db, ElementsAre(0, 0, 0, testing::DoubleEq(8 * std::log(2.0))));
}

TEST(GradConventions, WhatWasNotChosenGetsZero) {
  auto unless = [](double otherwise, auto f) {
    return [=](Value x) { return select(x > 0.0, f(x), otherwise); };
  };
  EXPECT_THAT(derivative({0, 4}, unless(0, [](Value x) { return sqrt(x); })), ElementsAre(0, 0.25));
  EXPECT_THAT(derivative({-1, 0, 2}, unless(0, [](Value x) { return log(x); })),
              ElementsAre(0, 0, 0.5));
  EXPECT_THAT(derivative({0, 2}, unless(0, [](Value x) { return 1.0 / x; })),
              ElementsAre(0, -0.25));
  EXPECT_THAT(derivative({0, 2}, unless(0, [](Value x) { return x / x; })), ElementsAre(0, 0));
  EXPECT_THAT(derivative({-1e4, 0.5}, unless(0, [](Value x) { return exp(-x); })),
              ElementsAre(0, testing::DoubleEq(-std::exp(-0.5))));
  // A product with an infinity, behind a sum over the row.
  EXPECT_THAT(derivative({0, -0.0}, unless(0, [](Value x) { return x * (1.0 / x); })),
              ElementsAre(0, 0));
  auto root = [](Value x) { return max(sqrt(sum(x * x, {1}, true)), 1e-3); };
  EXPECT_THAT(derivative({0, 0, 3, 4}, {2, 2}, root),
              ElementsAre(0, 0, testing::DoubleEq(0.6), testing::DoubleEq(0.8)));
}

// A cotangent of 0 is no reason to forget how the result depends on it.
TEST(GradConventions, GuardsLeaveSecondDerivatives) {
  Graph g("g");
  Value x = g.input("x", f64, {2});
  Value root = select(x > 0.0, sqrt(x), 0.0);
  Value d = grad(sum(square(root - 2.0), {0}), {x})[0];  // 0 at 4
  g.output("dd", grad(d, {x})[0]);
  std::vector<Tensor> inputs = {Tensor(f64, {2}, Numbers{4, 0})};
  EXPECT_THAT(numbers(evaluate(g.data(), inputs).outputs[0]), ElementsAre(0.125, 0));
}

TEST(GradConventions, BuildersHaveTheDerivativesOfTheirFunctions) {
  auto at_zero = [](auto f) { return derivative({0}, f)[0]; };
  EXPECT_EQ(at_zero([](Value x) { return softplus(x); }), 0.5);
  EXPECT_EQ(at_zero([](Value x) { return softplus(x, 5); }), 0.5);
  EXPECT_EQ(at_zero([](Value x) { return elu(x); }), 1);
  EXPECT_EQ(at_zero([](Value x) { return leaky_relu(x, 0.25); }), 0.25);
  EXPECT_THAT(derivative({0, 0}, {1, 2}, [](Value x) { return normalize(x); }),
              testing::Each(testing::DoubleEq(1e12)));
  // Rows of -inf alone have no derivative to give.
  Numbers d = derivative({-kInf, -kInf, 0, 0}, {2, 2}, [](Value x) { return logsumexp(x, {1}); });
  EXPECT_THAT(d, ElementsAre(0, 0, 0.5, 0.5));
}

TEST(GradConventions, TheMaximumOfASoftmaxIsNoPartOfItsGradient) {
  Graph softmax = parse("graph @s(%x: f32[4, 8]) { %y = softmax %x\n return %y as y }");
  EXPECT_THAT(to_string(vjp(softmax, {"x"}, {"y"})), testing::Not(HasSubstr("argmax")));
}

}  // namespace
