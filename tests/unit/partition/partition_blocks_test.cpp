// What blocks of networks save for their derivatives.
#include "unit/partition/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace fuse;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kRows = 16384, kColumns = 4096;

Value rows(Graph &g, const char *name, DType type = bf16) {
  return g.input(name, type, {kRows, kColumns});
}

TEST(PartitionBlocks, NormsSaveStatisticsAtMost) {
  Graph layer = joint_of(
      [](Graph &g) {
        Value w = g.input("w", bf16, {kColumns});
        return layer_norm(rows(g, "x"), {1}, w, g.input("b", bf16, {kColumns}));
      },
      {"x", "w", "b"});
  Graph rms =
      joint_of([](Graph &g) { return rms_norm(rows(g, "x"), {1}, g.input("w", bf16, {kColumns})); },
               {"x", "w"});
  for (const Graph *joint : {&layer, &rms}) {
    Partition p = partition_for(*joint, "h200");
    EXPECT_LE(largest_saved(p), kRows) << explain(p);
    EXPECT_LE(p.saved.size(), 2u) << explain(p);
    EXPECT_EQ(p.chosen.forward.passes, 2) << explain(p);
    EXPECT_EQ(p.chosen.backward.passes, 3) << explain(p);  // x, d_y, d_x
  }
}

TEST(PartitionBlocks, ResidualAndNorm) {
  Graph joint = joint_of(
      [](Graph &g) {
        Value h = rows(g, "x") + rows(g, "r");
        g.output("h", h);
        return rms_norm(h, {1}, g.input("w", bf16, {kColumns}));
      },
      {"x", "w"});
  Partition p = partition_for(joint, "h200");
  EXPECT_EQ(p.chosen.forward.passes, 4) << explain(p);   // x, r, h, y
  EXPECT_EQ(p.chosen.backward.passes, 3) << explain(p);  // h, d_y, d_x
}

TEST(PartitionBlocks, SoftmaxSavesOneTensorAtMost) {
  Graph joint = joint_of([](Graph &g) { return softmax(rows(g, "x")); }, {"x"});
  Partition p = partition_for(joint, "h200");
  EXPECT_EQ(p.chosen.forward.passes, 2) << explain(p);
  EXPECT_EQ(p.chosen.backward.passes, 3) << explain(p);
  ASSERT_FALSE(p.values.empty());
  for (const SavedChoice &choice : p.values)
    EXPECT_GE(choice.gain_us, -1.01e-3 * p.chosen.predicted_us) << explain(p);
}

TEST(PartitionBlocks, CrossEntropyReadsLogitsOnceAndWritesTheirCotangentOnce) {
  Graph g("g");
  Value loss = cross_entropy(g.input("x", bf16, {8192, 50257}), g.input("t", i64, {8192}));
  g.output("loss", loss);
  Partition p = partition_for(vjp(g, {"x"}, {"loss"}), "h200");
  EXPECT_EQ(p.chosen.forward.passes, 1) << explain(p);
  EXPECT_EQ(p.chosen.backward.passes, 2) << explain(p);
  EXPECT_LE(largest_saved(p), 8192) << explain(p);
}

TEST(PartitionBlocks, DropoutMakesItsMaskFromTheSeed) {
  Graph joint =
      joint_of([](Graph &g) { return dropout(rows(g, "x"), 0.1, g.scalar("seed", u64)); }, {"x"});
  Partition p = partition_for(joint, "h200");
  EXPECT_THAT(p.saved, IsEmpty()) << explain(p);
  EXPECT_EQ(p.chosen.backward.passes, 2) << explain(p);
  EXPECT_THAT(to_string(p.backward), HasSubstr("random_bits"));
}

TEST(PartitionBlocks, ActivationsSaveNothing) {
  Graph gated = joint_of([](Graph &g) { return swiglu(rows(g, "a"), rows(g, "b")); }, {"a", "b"});
  Partition p = partition_for(gated, "h200");
  EXPECT_THAT(p.saved, IsEmpty()) << explain(p);
  EXPECT_EQ(p.chosen.backward.passes, 5) << explain(p);  // a, b, d_y, d_a, d_b
  Partition q = partition_for(joint_of([](Graph &g) { return gelu(rows(g, "x")); }, {"x"}), "h200");
  EXPECT_THAT(q.saved, IsEmpty()) << explain(q);
  EXPECT_EQ(q.chosen.backward.passes, 3) << explain(q);
}

TEST(PartitionBlocks, AnMlpSavesOperandsOfItsProductsAndStatistics) {
  Graph joint = joint_of(
      [](Graph &g) {
        Value x = rows(g, "x"), w1 = g.input("w1", bf16, {kColumns, 4 * kColumns});
        Value n = rms_norm(x, {1}, g.input("w", bf16, {kColumns})).named("n");
        Value h = product(n, w1, g).named("h"), u = gelu(h).named("u");
        return x + product(u, g.input("w2", bf16, {4 * kColumns, kColumns}), g);
      },
      {"x", "w", "w1", "w2"});
  Partition p = partition_for(joint, "h200");
  EXPECT_TRUE(saves(p, "h")) << explain(p);  // or it would be called again
  EXPECT_EQ(choice_of(p, "h")->why, "an extern operation gives it") << explain(p);
  // n and u lie in memory for the products: read again, they are not computed again for those.
  std::string backward = to_string(p.backward);
  EXPECT_THAT(backward, testing::Not(HasSubstr("extern \"mm\"(")));
  EXPECT_THAT(backward, HasSubstr("extern \"mm_backward\""));
}

}  // namespace
