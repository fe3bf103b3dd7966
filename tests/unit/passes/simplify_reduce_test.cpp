#include "expression.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

TEST(SimplifyReduce, AxesOfExtentOne) {
  Shape shape = {4, 1, 6};
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return sum(x, {1}); }, f32, shape),
            "reshape[4, 6](x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return sum(x, {1}, true); }, f32, shape), "x");
  EXPECT_EQ(
      simplified([](auto &, Value x, Value) { return reduce_max(x, {0, 1}, true); }, f32, shape),
      "max{0}(x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return reduce_max(x, {0, 1}); }, f32, shape),
            "max{0,1}(x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return argmax(x, 1); }, f32, shape), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return argmax(x, 0); }, f32, shape),
            "argmax{0}(x)");
}

TEST(SimplifyReduce, ReductionsOfReductions) {
  Shape shape = {4, 5, 6};
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return reduce_max(reduce_max(x, {1}), {1}); },
                       f32, shape),
            "max{1,2}(x)");
  EXPECT_EQ(simplified([](auto &, Value x,
                          Value) { return reduce_min(reduce_min(x, {2}, true), {0}, true); },
                       bf16, shape),
            "min{0,2}(x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return sum(sum(x, {0}), {0}); }, i32, shape),
            "sum{0,1}(x)");
  EXPECT_EQ(
      simplified([](auto &, Value x, Value) { return any(any(x, {0}), {1}); }, boolean, shape),
      "any{0,2}(x)");
}

TEST(SimplifyReduce, OtherReductionsOfReductionsStay) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return sum(sum(x, {1}), {0}); }),
            "sum{0}(sum{1}(x))");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return reduce_max(reduce_min(x, {1}), {0}); }),
            "max{0}(min{1}(x))");
}

TEST(SimplifyReduce, EqualElementsAreFoldedOnce) {
  auto rows = [](Value v) { return broadcast(v, {5, 4, 6}); };
  EXPECT_EQ(simplified([&](auto &, Value x, Value) { return sum(rows(x), {0}); }, i32),
            "mul(x, 5)");
  EXPECT_EQ(simplified([&](auto &, Value x, Value) { return sum(rows(x), {0, 1}, true); }, i8),
            "mul(sum{1}(reshape[1, 4, 6](x)), 5)");
  EXPECT_EQ(simplified([&](auto &, Value x, Value) { return reduce_max(rows(x), {0}); }), "x");
  EXPECT_EQ(simplified([&](auto &, Value x, Value) { return all(rows(x), {0}); }, boolean), "x");
  EXPECT_EQ(simplified([&](auto &, Value x, Value) { return sum(rows(x), {0}); }),
            "sum{0}(broadcast[5, 4, 6](x))");
  EXPECT_EQ(simplified([&](auto &, Value x, Value) { return sum(rows(x), {1}); }, i32),
            "sum{1}(broadcast[5, 4, 6](x))");
}

TEST(SimplifyReduce, SharedInnerResultsAreNotComputedTwice) {
  Graph g("test");
  Value x = g.input("x", f32, {4, 6});
  Value rows = reduce_max(x, {1});
  g.output("rows", rows);
  g.output("all", reduce_max(rows, {0}));
  EXPECT_EQ(expression(simplify(g)), "max{1}(x); max{0}(max{1}(x))");
}

}  // namespace
}  // namespace fuse
