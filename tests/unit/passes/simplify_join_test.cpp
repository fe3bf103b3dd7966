#include "expression.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

TEST(SimplifyJoin, Concat) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return concat({x, slice(x, 1, 2, 2)}, 1); }),
            "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) {
              return concat({slice(x, 1, 0, 2), slice(x, 1, 2, 5)}, 1);
            }),
            "slice@0:1,0:1[4, 5](x)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) {
              return concat({slice(x, 1, 0, 2), slice(x, 1, 2, 6), y}, 1);
            }),
            "concat{1}(x, y)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) {
              return concat({slice(x, 1, 0, 2), slice(x, 1, 3, 6)}, 1);
            }),
            "concat{1}(slice@0:1,0:1[4, 2](x), slice@0:1,3:1[4, 3](x))");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return concat({x, y}, 0); }),
            "concat{0}(x, y)");
}

TEST(SimplifyJoin, ConcatOfConcatsIsOne) {
  EXPECT_EQ(simplified([](auto &, Value x, Value y) {
              return concat({x, concat({concat({y, x}, 1), y}, 1)}, 1);
            }),
            "concat{1}(x, y, x, y)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) {
              return concat({x, reshape(concat({y, y}, 0), {4, 12})}, 1);
            }),
            "concat{1}(x, reshape[4, 12](concat{0}(y, y)))");
  EXPECT_EQ(simplified([](auto &g, Value x, Value y) {
              Value inner = concat({x, y}, 1);
              g.output("inner", inner);
              return concat({inner, x}, 1);
            }),
            "concat{1}(x, y); concat{1}(concat{1}(x, y), x)");
}

TEST(SimplifyJoin, ConcatWithConstantsIsAPad) {
  auto fill = [](Graph &g, double value, Dim n) { return g.constant(value, f32, {4, n}); };
  EXPECT_EQ(simplified([&](Graph &g, Value x, Value) {
              return concat({fill(g, 0.0, 2), x, fill(g, 0.0, 3)}, 1);
            }),
            "pad{0,2|0,3}(x, 0)");
  EXPECT_EQ(simplified([&](Graph &g, Value x, Value) {
              return concat({fill(g, 0.0, 2), x, fill(g, -0.0, 3)}, 1);
            }),
            "concat{1}(0, x, -0)");
  EXPECT_EQ(
      simplified([&](Graph &g, Value x, Value y) { return concat({x, fill(g, 0.0, 3), y}, 1); }),
      "concat{1}(x, 0, y)");
  EXPECT_EQ(simplified([&](Graph &g, Value, Value) {
              return concat({fill(g, 2.0, 2), fill(g, 2.0, 3)}, 1);
            }),
            "2");
}

TEST(SimplifyJoin, SliceOfConcatIsAPart) {
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return slice(concat({x, y}, 1), 1, 6, 12); }),
            "y");
  EXPECT_EQ(
      simplified([](auto &, Value x, Value y) { return slice(concat({x, y}, 1), 1, 7, 12, 4); }),
      "slice@0:1,1:4[4, 2](y)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) { return slice(concat({x, y}, 1), 1, 5, 7); }),
            "slice@0:1,5:1[4, 2](concat{1}(x, y))");
}

TEST(SimplifyJoin, Pads) {
  EXPECT_EQ(simplified([](auto &, Value x, Value) {
              return pad(pad(x, {1, 0}, {0, 2}, 3), {0, 1}, {0, 1}, 3);
            }),
            "pad{1,1|0,3}(x, 3)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) {
              return pad(pad(x, {1, 0}, {0, 2}, 3), {0, 1}, {0, 1}, 4);
            }),
            "pad{0,1|0,1}(pad{1,0|0,2}(x, 3), 4)");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return pad(x - x, {1, 0}, {0, 2}, 0); }, i32),
            "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return pad(x - x, {1, 0}, {0, 2}, 1); }, i32),
            "pad{1,0|0,2}(0, 1)");
}

TEST(SimplifyJoin, PadOfNoElementsIsAConstant) {
  auto padded = [](auto &, Value x, Value) { return pad(x, {1, 1}, {0, 1}, 2.5); };
  EXPECT_EQ(simplified(padded, f32, {2, 0}), "2.5");
  EXPECT_EQ(simplified(padded, f32, {2, 1}), "pad{1,1|0,1}(x, 2.5)");
}

TEST(SimplifyJoin, SumOfPadsSideBySideIsAConcat) {
  // Adding 0 turns -0 into 0, as the pads' zeros did.
  EXPECT_EQ(simplified([](auto &, Value x, Value y) {
              return pad(x, {0, 0}, {0, 6}) + pad(y, {0, 6}, {0, 0});
            }),
            "add(concat{1}(x, y), 0)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) {
              return pad(x, {4, 1}, {0, 1}) + pad(y, {0, 1}, {4, 1});
            }),
            "add(pad{0,1|0,1}(concat{0}(y, x), 0), 0)");
  EXPECT_EQ(simplified([](auto &, Value x, Value y) {
              return pad(x, {0, 0}, {0, 6}, -0.0) + pad(y, {0, 6}, {0, 0}, -0.0);
            }),
            "concat{1}(x, y)");
  EXPECT_EQ(
      simplified([](auto &, Value x,
                    Value y) { return pad(x, {0, 0}, {0, 6}, 0) + pad(y, {0, 6}, {0, 0}, 0); },
                 i32),
      "concat{1}(x, y)");
}

TEST(SimplifyJoin, SumOfManyPads) {
  auto part = [](Value x, int at) { return pad(x, {at, 0}, {8 - at, 0}); };
  EXPECT_EQ(simplified([&](auto &, Value x, Value y) {
              return part(x, 0) + part(y, 4) + part(exp(x), 8);
            }),
            "add(concat{0}(x, y, exp(x)), 0)");
}

TEST(SimplifyJoin, OtherSumsOfPadsStay) {
  auto sum_of = [](std::vector<std::int64_t> hi, std::vector<std::int64_t> lo, double fill) {
    return simplified([&](auto &, Value x, Value y) {
      Value a = pad(x, {0, 0}, hi, fill), b = pad(y, lo, {0, 0}, fill);
      return a + b;
    });
  };
  EXPECT_EQ(sum_of({0, 5}, {0, 5}, 0), "add(pad{0,0|0,5}(x, 0), pad{0,5|0,0}(y, 0))");  // overlap
  EXPECT_EQ(sum_of({0, 6}, {0, 6}, 1), "add(pad{0,0|0,6}(x, 1), pad{0,6|0,0}(y, 1))");
  EXPECT_EQ(sum_of({4, 6}, {4, 6}, 0), "add(pad{0,0|4,6}(x, 0), pad{4,6|0,0}(y, 0))");  // corners
}

TEST(SimplifyJoin, GatherOfTheFirstPositions) {
  auto first = [](std::int64_t n, DType t) {
    return [=](Graph &g, Value x, Value) { return gather(x, g.iota(t, {n}), 1); };
  };
  EXPECT_EQ(simplified(first(6, i64)), "x");
  EXPECT_EQ(simplified(first(4, i32)), "slice@0:1,0:1[4, 4](x)");
  EXPECT_EQ(simplified(first(7, i32)), "gather{1}(x, iota{0}[7])");
  EXPECT_EQ(simplified(first(128, i8), f32, {1, 200}), "slice@0:1,0:1[1, 128](x)");
  EXPECT_EQ(simplified(first(129, i8), f32, {1, 200}), "gather{1}(x, iota{0}[129])");
}

}  // namespace
}  // namespace fuse
