#include "expression.h"

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

}  // namespace
}  // namespace fuse
