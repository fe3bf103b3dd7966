// Folding: what becomes a constant, and what must not.
#include "ir/float_bits.h"
#include "ir/graph_data.h"
#include "passes/passes.h"

#include <fuse/scans.h>

#include <gtest/gtest.h>

namespace fuse {
namespace {

/// The first output after folding: its node, and its literal where it is a constant.
struct Folded {
  explicit Folded(Graph &g, Value y) {
    g.output("y", y);
    graph = fold_constants(g);
    id = graph.data().outputs[0].node;
  }
  bool constant() const { return graph.data().node(id).op == Op::Constant; }
  Literal literal() const { return graph.data().attr<Literal>(id); }
  Graph graph;
  NodeId id;
};

TEST(FoldConstants, Elementwise) {
  Graph g;
  Folded f(g, g.constant(0.5, f32, {4}) * 3.0 + 1.0);
  ASSERT_TRUE(f.constant());
  EXPECT_EQ(2.5, as_double(f.literal()));
  EXPECT_EQ(Shape{4}, f.graph.data().shape(f.id));
}

TEST(FoldConstants, KeepsTheDtypeAndItsRounding) {
  Graph g;
  Folded f(g, cast(cast(g.constant(0.1, f32), bf16), f32));
  ASSERT_TRUE(f.constant());
  EXPECT_EQ(decode_float(bf16, encode_float(bf16, 0.1)), as_double(f.literal()));
}

TEST(FoldConstants, IntegersWrap) {
  Graph g;
  Folded f(g, cast(g.constant(std::int64_t{200}, u8) + 100, i16));
  ASSERT_TRUE(f.constant());
  EXPECT_EQ(44, as_int(f.literal()));
}

TEST(FoldConstants, SumsCountElementsBeyond32Bits) {
  Graph g;
  Folded f(g, sum(g.constant(std::int64_t{1}, i64, {201996, 201996}), {0, 1}));
  ASSERT_TRUE(f.constant());
  EXPECT_EQ(40802384016, as_int(f.literal()));
}

TEST(FoldConstants, PadsOfTheSameElement) {
  Graph g;
  EXPECT_TRUE(Folded(g, pad(g.constant(2.0, bf16, {3}), {1}, {0}, 2.0)).constant());
  Graph h;
  EXPECT_FALSE(Folded(h, pad(h.constant(2.0, bf16, {3}), {1}, {0}, 1.0)).constant());
}

TEST(FoldConstants, RunningExtremesOfOneElement) {
  Graph g;
  Folded f(g, cummax(g.constant(3.0, f32, {4, 6}), 1));
  ASSERT_TRUE(f.constant());
  EXPECT_EQ(3, as_double(f.literal()));
  Graph h;
  EXPECT_FALSE(Folded(h, cummin(h.constant(3.0, f32, {4}), 0, {true, false})).constant());
  Graph k;
  EXPECT_FALSE(Folded(k, cumsum(k.constant(3.0, f32, {4}), 0)).constant());
}

TEST(FoldConstants, LeavesWhatDependsOnInputsSymbolsAndEmptyAxes) {
  Graph g;
  EXPECT_FALSE(Folded(g, g.input("x", f32, {3}) * 0.0).constant());
  Graph h;
  EXPECT_FALSE(Folded(h, sum(h.constant(1.0, f32, {h.dim("N")}), {0})).constant());
  Graph k;
  EXPECT_FALSE(Folded(k, any(k.constant(std::int64_t{1}, boolean, {0, 2}), {0})).constant());
}

}  // namespace
}  // namespace fuse
