#include "expression.h"

#include "ir/graph_data.h"

#include <fuse/builders.h>

#include <gtest/gtest.h>

namespace fuse {
namespace {

Value row(Value x, const Shape &shape) { return broadcast(sum(x, {1}, true), shape); }

TEST(SimplifySelect, OperationsOnWhatRowsShareAreDoneOnRows) {
  EXPECT_EQ(simplified([](Graph &g, Value x, Value y) {
              Value w = row(y, {4, 6});
              return select(x < y, g.constant(-1.0, f32, {4, 6}), g.constant(2.0, f32, {4, 6})) * w;
            }),
            "select(lt(x, y), broadcast[4, 6](neg(sum{1}(y))), "
            "broadcast[4, 6](mul(sum{1}(y), 2)))");
  EXPECT_EQ(simplified([](Graph &g, Value x, Value y) {
              return cast(select(x < y, row(y, {4, 6}), g.constant(0.0, f32, {4, 6})), bf16);
            }),
            "select(lt(x, y), broadcast[4, 6](cast:bf16(sum{1}(y))), "
            "broadcast[4, 6](cast:bf16(0)))");
}

TEST(SimplifySelect, WhatElementsDifferInStays) {
  EXPECT_EQ(simplified([](Graph &g, Value x, Value y) {
              return select(x < y, g.constant(1.0, f32, {4, 6}), g.constant(2.0, f32, {4, 6})) * x;
            }),
            "mul(x, select(lt(x, y), 1, 2))");
  EXPECT_EQ(simplified([](Graph &g, Value x, Value y) {
              return cast(select(x < y, x, g.constant(0.0, f32, {4, 6})), bf16);
            }),
            "cast:bf16(select(lt(x, y), x, 0))");
  EXPECT_EQ(simplified([](Graph &g, Value x, Value y) {
              Value w = row(y, {4, 6});
              Value kept = select(x < y, w, g.constant(2.0, f32, {4, 6})).keep();
              return kept * w;
            }),
            "mul(broadcast[4, 6](sum{1}(y)), select(lt(x, y), broadcast[4, 6](sum{1}(y)), 2))");
}

TEST(SimplifySelect, LiteralsOfNarrowSelectsAreRounded) {
  auto build = [](Graph &, Value x, Value y) {
    Value row = broadcast(reduce_max(y, {1}, true), {4, 6});
    return cast(select(x < y, Operand(0.1), row), f32);
  };
  Graph simple = simplify(graph_of(build, f16));
  for (NodeId id = 0; id < simple.data().size(); ++id) {
    if (simple.data().node(id).op != Op::Constant) continue;
    EXPECT_EQ(simple.data().dtype(id), f16);
  }
}

TEST(SimplifySelect, SumsThatPickALiteralKeepTheirType) {
  for (DType type : {f16, bf16, f32}) {
    for (double rest : {0.0, -0.0}) {
      auto build = [&](Graph &g, Value x, Value) {
        Value t = broadcast(cast(sum(x, {1}, true), i64), {4, 6});
        Value hit = eq(g.iota(i64, {4, 6}, 1), t);
        return sum(select(hit, Operand(1.0), g.constant(rest, type, {4, 6})), {1});
      };
      Graph simple = simplify(graph_of(build, type));
      EXPECT_EQ(simple.outputs()[0].dtype(), type);
    }
  }
}

}  // namespace
}  // namespace fuse
