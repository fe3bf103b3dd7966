#include "expression.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

std::string simple(const Build &build, const Shape &shape = {2, 3, 4}) {
  return simplified(build, f32, shape);
}

const std::vector<int> kLast = {0, 2, 1};

TEST(SimplifyTranspose, RisesThroughElementwiseOperations) {
  EXPECT_EQ(simple([](auto &, Value x, Value) { return exp(transpose(x, kLast)); }),
            "transpose{0,2,1}(exp(x))");
  EXPECT_EQ(
      simple([](auto &, Value x, Value y) { return transpose(x, kLast) * transpose(y, kLast); }),
      "transpose{0,2,1}(mul(x, y))");
  EXPECT_EQ(simple([](auto &, Value x, Value) { return cast(transpose(x, kLast) + 2, bf16); }),
            "transpose{0,2,1}(cast:bf16(add(x, 2)))");
  EXPECT_EQ(simple([](auto &, Value x, Value) {
              return transpose(exp(transpose(x, {1, 2, 0})), {2, 0, 1});
            }),
            "exp(x)");
}

TEST(SimplifyTranspose, TakesWhatABroadcastRepeatsAlong) {
  EXPECT_EQ(simple([](Graph &g, Value x, Value) {
              Value scale = g.input("s", f32, {3});
              return transpose(x, {0, 2, 1}) * scale;
            }),
            "transpose{0,2,1}(mul(x, broadcast[2, 3, 4](reshape[1, 3, 1](s))))");
}

TEST(SimplifyTranspose, StaysBesideWhatLiesInAnotherOrder) {
  EXPECT_EQ(simple([](Graph &g, Value x, Value) {
              Value z = g.input("z", f32, {2, 4, 3});
              return transpose(x, kLast) + z;
            }),
            "add(z, transpose{0,2,1}(x))");
  EXPECT_EQ(simple([](auto &, Value x, Value) { return sum(transpose(x, kLast), {1}); }),
            "sum{1}(transpose{0,2,1}(x))");
  auto in_two_orders = [](Graph &, Value x, Value y) {
    Value first = transpose(x, {1, 0, 2}), second = transpose(y, {2, 1, 0});
    return first + second;
  };
  EXPECT_EQ(simple(in_two_orders, {3, 3, 3}), "add(transpose{1,0,2}(x), transpose{2,1,0}(y))");
}

}  // namespace
}  // namespace fuse
