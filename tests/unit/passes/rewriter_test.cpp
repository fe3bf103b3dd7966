#include "passes/rewriter.h"

#include "expression.h"
#include "ir/graph_verify.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

TEST(EliminateDead, KeepsWhatOutputsAndExternOpsReach) {
  Graph g("test");
  Value x = g.input("x", f32, {4}), unused = g.input("unused", f32, {2});
  Value dead = exp(unused), read_by_extern = exp(x);
  g.extern_op("side_effect", {read_by_extern}, {{f32, {4}}, {f32, {2}}});
  tanh(dead);
  g.output("y", neg(x));
  Graph live = eliminate_dead(g);
  verify(live);
  EXPECT_EQ(live.data().size(), 6u);  // two inputs, exp, two results, neg
  EXPECT_EQ(live.inputs().size(), 2u);
  EXPECT_EQ(expression(live), "neg(x)");
}

TEST(Rewriter, CarriesSideTablesOver) {
  Graph g("test");
  Dim b = g.dim("B", {1, 64, 8});
  Value x = g.input("x", f32, {b});
  Value y = exp(x).named("y").keep();
  g.output("out", tanh(y));
  Graph copy = eliminate_dead(g);
  const GraphData &data = copy.data();
  ASSERT_EQ(data.symbols.size(), 1u);
  EXPECT_EQ(data.symbols[0].bounds.divisor, 8);
  NodeId id = data.operand(data.outputs[0].node, 0);
  EXPECT_EQ(data.names.at(id), "y");
  EXPECT_TRUE(data.keep_marks.at(id));
  EXPECT_EQ(data.locations.at(id).line, g.data().locations.at(y.index()).line);
}

TEST(Rewriter, LongChains) {
  Graph g("test");
  Value x = g.input("x", bf16, {4});
  for (int i = 0; i < 10000; ++i) x = -exp(x * 1) + 0.5;
  g.output("y", x);
  Graph wide = simplify(widen(simplify(g)));
  verify(wide);
  EXPECT_EQ(wide.outputs()[0].dtype(), bf16);
}

}  // namespace
}  // namespace fuse
