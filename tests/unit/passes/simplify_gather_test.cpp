#include "expression.h"

#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "ir/graph_data.h"
#include "ir/tensor.h"

#include <fuse/builders.h>

#include <gtest/gtest.h>

#include <cmath>

namespace fuse {
namespace {

Value numbers(Graph &g, const Shape &shape, int axis) { return g.iota(i64, shape, axis); }

TEST(SimplifyPosition, ComparisonsThatPositionsDecide) {
  auto at = [](auto compare) {
    return simplified([=](Graph &g, Value, Value) { return compare(numbers(g, {4, 6}, 1)); });
  };
  EXPECT_EQ(at([](Value p) { return p < 0; }), "0");
  EXPECT_EQ(at([](Value p) { return p >= 0; }), "1");
  EXPECT_EQ(at([](Value p) { return p <= 5; }), "1");
  EXPECT_EQ(at([](Value p) { return p > 5; }), "0");
  EXPECT_EQ(at([](Value p) { return ne(p + 2, 1); }), "1");
  EXPECT_EQ(at([](Value p) { return p * 2 - 20 < 0; }), "1");
  EXPECT_EQ(at([](Value p) { return p < 5; }), "lt(iota{1}[4, 6], 5)");
}

TEST(SimplifyPosition, WhatMayWrapStays) {
  EXPECT_EQ(simplified([](Graph &g, Value, Value) {
              Value p = g.iota(i8, {200}, 0);
              return p < 0;
            }),
            "lt(iota{0}[200], 0)")
      << "positions beyond 127 are negative";
  EXPECT_EQ(simplified([](Graph &g, Value, Value) {
              Value p = g.iota(i8, {100}, 0);
              return p * 2 < 0;
            }),
            "lt(mul(iota{0}[100], 2), 0)");
}

/// Both graphs on the same inputs, element by element; returns the simplified one.
std::string same_values(const char *text) {
  Graph graph = parse(text), simple = simplify(graph);
  std::vector<Tensor> inputs;
  for (NodeId id : graph.data().inputs) {
    Tensor t(graph.data().dtype(id), evaluate(graph.data().shape(id), {}));
    for (std::int64_t i = 0; i < t.size(); ++i)
      t.set_bits(i, is_float(t.dtype) ? float_literal(t.dtype, 0.25 * double(i % 37) - 3).bits
                                      : int_literal(t.dtype, i * 7 % 40 - 4).bits);
    inputs.push_back(std::move(t));
  }
  std::vector<Expected> before = evaluate(graph.data(), inputs, {}).outputs;
  std::vector<Expected> after = evaluate(simple.data(), inputs, {}).outputs;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].shape, after[i].shape);
    EXPECT_EQ(before[i].value, after[i].value) << expression(simple);
    EXPECT_EQ(before[i].bits, after[i].bits) << expression(simple);
  }
  return expression(simple);
}

TEST(SimplifyGather, KnownPositionsAreViews) {
  EXPECT_EQ(same_values(R"(graph @flat(%x: f32[24]) {
  %row = iota axis=0 : i64[4, 6]
  %column = iota axis=1 : i64[4, 6]
  %r = mul %row, 6 : i64[4, 6]
  %i = add %r, %column
  %y = gather %x, %i axis=0
  return %y as y
  })"),
            "reshape[4, 6](x)");
  std::string turned = same_values(R"(graph @turned(%x: f32[3, 40]) {
  %row = iota axis=0 : i64[4, 2, 6]
  %column = iota axis=2 : i64[4, 2, 6]
  %c = mul %column, 4 : i64[4, 2, 6]
  %i = add %row, %c
  %j = add %i, 9 : i64[4, 2, 6]
  %y = gather %x, %j axis=1
  return %y as y
  })");
  EXPECT_EQ(turned.find("gather"), std::string::npos) << turned;
  EXPECT_NE(turned.find("transpose"), std::string::npos) << turned;
  std::string strided = same_values(R"(graph @strided(%x: f32[40, 3]) {
  %p = iota axis=0 : i32[5]
  %q = mul %p, 8 : i32[5]
  %r = add %q, 7 : i32[5]
  %y = gather %x, %r axis=0
  return %y as y
  })");
  EXPECT_EQ(strided.find("gather"), std::string::npos) << strided;
}

TEST(SimplifyGather, PositionsOutsideOrNotAffineStay) {
  EXPECT_NE(same_values(R"(graph @outside(%x: f32[24]) {
  %p = iota axis=0 : i64[25]
  %y = gather %x, %p axis=0
  return %y as y
  })")
                .find("gather"),
            std::string::npos);
  EXPECT_NE(same_values(R"(graph @overlapping(%x: f32[24]) {
  %p = iota axis=0 : i64[4, 6]
  %q = iota axis=1 : i64[4, 6]
  %i = add %p, %q
  %y = gather %x, %i axis=0
  return %y as y
  })")
                .find("gather"),
            std::string::npos);
}

/// A mask as frameworks write it: positions below 0 count from the end.
TEST(SimplifyGather, PositionsFromTheEnd) {
  std::string simple = same_values(R"(graph @mask(%x: i64[2, 8]) {
  %b = iota axis=0 : i64[2, 1, 1, 8]
  %n = add %b, 2 : i64[2, 1, 1, 8]
  %z = lt %b, 0 : bool[2, 1, 1, 8]
  %r = select %z, %n, %b
  %p = iota axis=3 : i64[2, 1, 1, 8]
  %s = mul %r, 8 : i64[2, 1, 1, 8]
  %i = add %s, %p
  %f = reshape %x : i64[16]
  %y = gather %f, %i axis=0
  return %y as y
  })");
  EXPECT_EQ(simple, "reshape[2, 1, 1, 8](x)");
}

/// The loss of a row is one element of its log-softmax, which need not be stored for it.
TEST(SimplifyGather, FewElementsAreComputedWhereTheyAreTaken) {
  std::string simple = same_values(R"(graph @loss(%x: bf16[5, 30], %t: i64[5, 1]) {
  %w = cast %x : f32
  %m = max %w axes=[1] keep
  %b = broadcast %m : f32[5, 30]
  %d = sub %w, %b
  %e = exp %d
  %s = sum %e axes=[1] keep
  %l = log %s
  %c = broadcast %l : f32[5, 30]
  %p = sub %d, %c
  %row = iota axis=0 : i64[5, 1]
  %start = mul %row, 30 : i64[5, 1]
  %i = add %start, %t
  %f = reshape %p : f32[150]
  %y = gather %f, %i axis=0
  return %y as y
  })");
  EXPECT_NE(simple.find("gather{0}(reshape[150](x)"), std::string::npos) << simple;
}

TEST(SimplifyGather, RepeatedOperandsAndPositionsOutside) {
  std::string simple = same_values(R"(graph @repeated(%x: f32[4, 1], %y: f32[6], %t: i32[9]) {
  %a = broadcast %x : f32[4, 6]
  %b = broadcast %y : f32[4, 6]
  %c = exp %a
  %d = add %c, %b
  %e = add %d, 1.0 : f32[4, 6]
  %f = reshape %e : f32[24]
  %z = gather %f, %t axis=0
  return %z as z
  })");
  EXPECT_NE(simple.find("gather{0}(reshape[24](add"), std::string::npos)
      << simple << ": 9 of 24 are not few";
  simple = same_values(R"(graph @repeated(%x: f32[4, 1], %y: f32[16], %t: i32[9]) {
  %a = broadcast %x : f32[4, 16]
  %b = broadcast %y : f32[4, 16]
  %c = exp %a
  %d = add %c, %b
  %e = add %d, 1.0 : f32[4, 16]
  %f = reshape %e : f32[64]
  %z = gather %f, %t axis=0
  return %z as z
  })");
  EXPECT_EQ(simple.find("gather{0}(reshape[64](add"), std::string::npos) << simple;
  EXPECT_NE(simple.find("select"), std::string::npos) << simple << ": 0 outside, not 1";
}

/// The sum of a one-hot row times a number of the row, of as many positions of the dtype.
std::string sum_of_one_hot(const std::string &dtype, const std::string &positions) {
  const std::string row = "[40, " + positions + "]";
  return same_values(
      ("graph @hot(%t: " + dtype + "[40, 1], %w: f32[40, 1]) {" + "  %c = iota axis=1 : " + dtype +
       row + "  %b = broadcast %t : " + dtype + row + "  %e = eq %c, %b  %z = const 0.0 : f32" +
       row + "  %o = const -1.0 : f32" + row + "  %h = select %e, %o, %z  %v = broadcast %w : f32" +
       row + "  %p = mul %h, %v  %y = sum %p axes=[1] keep  return %y as y }")
          .c_str());
}

/// At every position and outside; the numbers are 0 and not, infinite ones in the test behind.
TEST(SimplifyPick, OneHotRowsTimesANumber) {
  std::string simple = sum_of_one_hot("i64", "24");
  EXPECT_EQ(simple.find("sum"), std::string::npos) << simple;
}

/// The extent is no number of the positions' dtype.
TEST(SimplifyPick, OneHotRowsOfAllPositionsOfADType) {
  std::string simple = sum_of_one_hot("i8", "128");
  EXPECT_EQ(simple.find("sum"), std::string::npos) << simple;
}

TEST(SimplifyPick, InfiniteNumbersTimesZeros) {
  Graph graph = parse(R"(graph @hot(%w: f32[2, 1]) {
  %c = iota axis=1 : i64[2, 3]
  %t = const 1 : i64[2, 3]
  %e = eq %c, %t
  %z = const 0.0 : f32[2, 3]
  %o = const -1.0 : f32[2, 3]
  %h = select %e, %o, %z
  %v = broadcast %w : f32[2, 3]
  %p = mul %h, %v
  %y = sum %p axes=[1] keep
  return %y as y
  })");
  std::vector<Tensor> inputs = {Tensor(f32, {2, 1}, std::vector<double>{HUGE_VAL, -2.5})};
  std::vector<Expected> wanted = evaluate(graph.data(), inputs, {}).outputs;
  std::vector<Expected> simple = evaluate(simplify(graph).data(), inputs, {}).outputs;
  EXPECT_TRUE(std::isnan(wanted[0].value[0]) && std::isnan(simple[0].value[0]));
  EXPECT_EQ(simple[0].value[1], 2.5);
}

TEST(SimplifyGather, RandomWordsAndKeptValuesStay) {
  EXPECT_EQ(simplified([](Graph &g, Value, Value) {
              Value seed = g.input("seed", u64, {});
              Value noise = random_bits(seed, {64}, 1);
              return gather(noise ^ noise, g.iota(i64, {2}, 0), 0);
            }).find("gather"),
            std::string::npos)
      << "a slice";
}

}  // namespace
}  // namespace fuse
