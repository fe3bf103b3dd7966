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

/// The sum over axis 1 of x where the position, of the dtype, is t[row], and 0 elsewhere.
std::string pick(DType index, std::int64_t columns, double otherwise = 0) {
  Graph g;
  Value x = g.input("x", f32, {3, columns}), t = g.input("t", index, {3, 1});
  Value at = eq(g.iota(index, {3, columns}, 1), broadcast(t, {3, columns}));
  g.output("y", sum(select(at, x, otherwise), {1}));
  return expression(simplify(g));
}

TEST(SimplifyReduce, SumsThatPickOneElementReadIt) {
  for (DType index : {i8, u8, i32, i64, u64})
    EXPECT_NE(pick(index, 100).find("gather"), std::string::npos) << to_string(index);
  EXPECT_NE(pick(i16, 32768).find("gather"), std::string::npos);
}

TEST(SimplifyReduce, SumsThatMayPickSeveralElementsStay) {
  EXPECT_EQ(pick(i8, 300).find("gather"), std::string::npos);  // positions repeat
  EXPECT_EQ(pick(i8, 200).find("gather"), std::string::npos);  // and are negative
  EXPECT_EQ(pick(i16, 32769).find("gather"), std::string::npos);
  EXPECT_EQ(pick(i32, 100, 1.0).find("gather"), std::string::npos);
  EXPECT_EQ(pick(i32, 100, -0.0).find("gather"), std::string::npos);
}

}  // namespace
}  // namespace fuse
