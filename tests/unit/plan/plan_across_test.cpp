// Accesses across the lanes: where they part kernels, and what is copied in another order.
#include "ir/plan.h"
#include "passes/passes.h"

#include "graphs.h"

#include <gtest/gtest.h>

namespace {

using namespace fuse_test;

Plan make_plan(const Graph &g) {
  Plan p = plan(g, Target::named("h200"), {});
  verify(p, g);
  return p;
}

/// Sums of columns of what is stored transposed too.
Graph transposed_sum(std::int64_t rows) {
  Graph g;
  auto x = g.input("x", bf16, {rows, 196, 1024});
  g.output("t", transpose(x * 2.0, {0, 2, 1}));
  g.output("s", sum(cast(x * 2.0, f32), {0, 1}));
  return g;
}

TEST(Plan, StoresAcrossTheLanesOfAReductionPartIt) {
  Plan parted = make_plan(transposed_sum(64));
  ASSERT_EQ(parted.kernels.size(), 2u);
  EXPECT_LT(parted.kernels[0].seconds + parted.kernels[1].seconds, 30e-6);
  // Of a tensor that small, another launch takes longer.
  EXPECT_EQ(make_plan(transposed_sum(1)).kernels.size(), 1u);
}

/// Sums over all but the channels, of what is stored channels first and read channels last.
TEST(Plan, LoadsThatBlocksShareWithOthersPartThem) {
  Graph g;
  auto x = g.input("x", bf16, {16, 56, 56, 96});
  auto y = g.input("y", bf16, {16, 96, 56, 56});
  Value total = transpose(x, {0, 3, 1, 2}) + y;
  g.output("total", total);
  g.output("sums", sum(cast(total, f32), {0, 2, 3}));
  Plan p = make_plan(g);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_LT(p.kernels[0].seconds + p.kernels[1].seconds, 25e-6);
}

/// A copy in another order takes the dtype that its source has, not that of its reader.
TEST(Plan, CopiesInAnotherOrderAreNarrow) {
  Graph g;
  auto x = cast(transpose(g.input("x", bf16, {16, 96, 56, 56}), {0, 2, 3, 1}), f32);
  auto d = x - like(mean(x, {3}, true), x);
  g.output("y", cast(d * like(rsqrt(mean(d * d, {3}, true) + 1e-6), d), bf16));
  Plan p = make_plan(g);
  ASSERT_EQ(p.kernels.size(), 2u);
  ASSERT_EQ(p.kernels[0].stores.size(), 1u);
  EXPECT_EQ(g.data().dtype(p.kernels[0].stores[0]), bf16);
}

TEST(Plan, LoadsAcrossTheLanesOfRowsPartThem) {
  Graph g;
  auto x = transpose(g.input("x", bf16, {64, 1024, 196}), {0, 2, 1});
  auto f = cast(x * 2.0, f32);
  g.output("y", cast(f * like(rsqrt(mean(f * f, {2}, 1024) + 1e-5), f), bf16));
  EXPECT_EQ(make_plan(g).kernels.size(), 2u);
}

TEST(Plan, WhatAThreadFoldsGoesThroughTiles) {
  Graph g;
  auto x = g.input("x", bf16, {16, 4, 1024, 1024});
  g.output("t", transpose(cast(sum(cast(x, f32), {1}), bf16), {0, 2, 1}));
  Plan p = make_plan(g);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_LT(p.kernels[0].seconds, 1.25 * 5 * 16 * 1024 * 1024 * 2 / 4.27e12);
}

}  // namespace
