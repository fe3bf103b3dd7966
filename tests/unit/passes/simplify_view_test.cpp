#include "expression.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

std::string views(const std::function<Value(Value)> &build, const Shape &shape = {4, 6}) {
  return simplified([&](Graph &, Value x, Value) { return build(x); }, f32, shape);
}

TEST(SimplifyView, ViewsOfViews) {
  EXPECT_EQ(views([](Value x) { return transpose(transpose(x, {1, 0}), {1, 0}); }), "x");
  EXPECT_EQ(views([](Value x) { return transpose(transpose(x, {1, 2, 0}), {1, 2, 0}); }, {2, 3, 4}),
            "transpose{2,0,1}(x)");
  EXPECT_EQ(views([](Value x) { return reshape(reshape(x, {24}), {8, 3}); }), "reshape[8, 3](x)");
  EXPECT_EQ(views([](Value x) { return reshape(reshape(x, {24}), {4, 6}); }), "x");
  EXPECT_EQ(views([](Value x) { return broadcast(broadcast(x, {2, 4, 6}), {5, 2, 4, 6}); }),
            "broadcast[5, 2, 4, 6](x)");
  EXPECT_EQ(views([](Value x) { return flip(flip(x, {0, 1}), {1}); }), "flip{0}(x)");
  EXPECT_EQ(views([](Value x) { return flip(flip(x, {1}), {1}); }), "x");
  EXPECT_EQ(views([](Value x) { return slice(slice(x, 1, 1, 6, 2), 1, 1, 3); }),
            "slice@0:1,3:2[4, 2](x)");
  EXPECT_EQ(views([](Value x) { return slice(slice(x, 0, 1, 4), 1, 0, 6, 5); }),
            "slice@1:1,0:5[3, 2](x)");
}

TEST(SimplifyView, DifferentViewsStay) {
  EXPECT_EQ(views([](Value x) { return reshape(transpose(x, {1, 0}), {24}); }),
            "reshape[24](transpose{1,0}(x))");
  EXPECT_EQ(views([](Value x) { return flip(transpose(x, {1, 0}), {0}); }),
            "flip{0}(transpose{1,0}(x))");
  EXPECT_EQ(views([](Value x) { return reshape(reshape(x, {24}).keep(), {8, 3}); }),
            "reshape[8, 3](reshape[24](x))");
}

TEST(SimplifyView, FlipOfUnitAxes) {
  EXPECT_EQ(views([](Value x) { return flip(x, {0}); }, {1, 5}), "x");
  EXPECT_EQ(views([](Value x) { return flip(x, {0, 1}); }, {1, 5}), "flip{1}(x)");
}

TEST(SimplifyView, TransposeOfUnitAxes) {
  EXPECT_EQ(views([](Value x) { return transpose(x, {1, 2, 0}); }, {1, 4, 6}),
            "reshape[4, 6, 1](x)");
  EXPECT_EQ(views([](Value x) { return transpose(x, {2, 1, 0}); }, {4, 1, 6}),
            "transpose{2,1,0}(x)");
}

TEST(SimplifyView, SlicesPassWhatTheyDoNotCut) {
  EXPECT_EQ(views([](Value x) { return slice(broadcast(x, {9, 4, 6}), 0, 2, 5); }),
            "broadcast[3, 4, 6](x)");
  EXPECT_EQ(views([](Value x) { return slice(broadcast(x, {9, 4, 6}), 1, 2, 4); }),
            "slice@0:1,2:1,0:1[9, 2, 6](broadcast[9, 4, 6](x))");
  EXPECT_EQ(views([](Value x) { return slice(pad(x, {0, 2}, {0, 3}), 1, 2, 8); }), "x");
  EXPECT_EQ(views([](Value x) { return slice(pad(x, {0, 2}, {0, 3}), 1, 3, 7, 3); }),
            "slice@0:1,1:3[4, 2](x)");
  EXPECT_EQ(views([](Value x) { return slice(pad(x, {0, 2}, {0, 3}), 1, 1, 8); }),
            "slice@0:1,1:1[4, 7](pad{0,2|0,3}(x, 0))");
}

std::string iotas(const std::function<Value(Value)> &build, const Shape &shape, int axis) {
  return simplified([&](Graph &g, Value, Value) { return build(g.iota(i32, shape, axis)); });
}

TEST(SimplifyView, ViewsOfIota) {
  EXPECT_EQ(iotas([](Value i) { return broadcast(i, {3, 5}); }, {5}, 0), "iota{1}[3, 5]");
  EXPECT_EQ(iotas([](Value i) { return transpose(i, {1, 0}); }, {3, 5}, 0), "iota{1}[5, 3]");
  EXPECT_EQ(iotas([](Value i) { return reshape(i, {1, 5, 1}); }, {5}, 0), "iota{1}[1, 5, 1]");
  EXPECT_EQ(iotas([](Value i) { return slice(i, 0, 0, 4); }, {5}, 0), "iota{0}[4]");
  EXPECT_EQ(iotas([](Value i) { return flip(i, {0}); }, {3, 5}, 1), "iota{1}[3, 5]");
  EXPECT_EQ(iotas([](Value i) { return i; }, {1, 5}, 0), "0");
}

TEST(SimplifyView, ViewsThatChangeAnIotaStay) {
  EXPECT_EQ(iotas([](Value i) { return slice(i, 0, 1, 4); }, {5}, 0), "slice@1:1[3](iota{0}[5])");
  EXPECT_EQ(iotas([](Value i) { return slice(i, 0, 0, 5, 2); }, {5}, 0),
            "slice@0:2[3](iota{0}[5])");
  EXPECT_EQ(iotas([](Value i) { return flip(i, {0}); }, {5}, 0), "flip{0}(iota{0}[5])");
  EXPECT_EQ(iotas([](Value i) { return reshape(i, {2, 3}); }, {6}, 0), "reshape[2, 3](iota{0}[6])");
}

TEST(SimplifyView, ViewsOfConstants) {
  // The constant appears behind a rule: the builders would not make these nodes.
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return transpose(x - x, {1, 0}); }, i32), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return flip(x - x, {1}); }, i32), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return slice(x - x, 1, 2, 3); }, i32), "0");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return reshape(x - x, {24}); }, i32), "0");
}

TEST(SimplifyView, SymbolicExtents) {
  Graph g("test");
  Dim b = g.dim("B");
  Value x = g.input("x", f32, {b, 6});
  g.output("a", reshape(reshape(x, {b * 6}), {b, 2, 3}));
  g.output("b", transpose(transpose(x, {1, 0}), {1, 0}));
  g.output("c", slice(slice(x, 0, 1, b), 0, 1, b - 1));
  EXPECT_EQ(expression(simplify(g)), "reshape[B, 2, 3](x); x; slice@2:1,0:1[B - 2, 6](x)");
}

}  // namespace
}  // namespace fuse
