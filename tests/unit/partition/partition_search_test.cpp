// The search against all sets of values, on graphs of few candidates.
#include "partition/bottlenecks.h"
#include "partition/search.h"
#include "unit/partition/parts.h"

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

/// A few operations on large values, rows of them, and a sum now and then.
Graph random_joint(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](std::size_t n) { return random() % n; };
  auto build = [&](Graph &g) {
    std::vector<Value> values = {g.input("x", f32, {8192, 4096}), g.input("w", f32, {8192, 4096})};
    for (int i = 0; i < 5; ++i) {
      Value a = values[below(values.size())], b = values[below(values.size())];
      switch (below(6)) {
        case 0: values.push_back(a * b); break;
        case 1: values.push_back(sigmoid(a)); break;
        case 2: values.push_back(lgamma(atan(a))); break;
        case 3: values.push_back(a - sum(b, {1}, true)); break;
        case 4: values.push_back(sin(a) + b); break;
        default: values.push_back(tan(lgamma(a))); break;
      }
    }
    return values.back() * values[2];
  };
  return joint_of(build, {"x", "w"});
}

class AllSets : public testing::TestWithParam<unsigned> {};

TEST_P(AllSets, NoneIsFaster) {
  Graph canonical = canonicalize(random_joint(GetParam()));
  for (const char *target : {"h200", "b200"}) {
    PartitionOptions options;
    options.target = Target::named(target);
    Joint joint = read_joint(canonical, options);
    Pricer found_by(joint, options), all_by(joint, options);
    Search search(joint, found_by, {}), all(joint, all_by, {});
    if (search.candidates().size() > 14) return;  // too many sets
    double found = search.find().seconds, best = all.exhaustive().seconds;
    EXPECT_LE(found, best * (1 + 1.01 * kEqualTime)) << target << "\n" << to_string(canonical);
  }
}

#ifdef FUSE_SANITIZED
constexpr unsigned kSeeds = 4;
#else
constexpr unsigned kSeeds = 16;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, AllSets, testing::Range(0u, kSeeds));

// --- Deep graphs ---------------------------------------------------------------------------------

/// Blocks r + gelu(rms_norm(r)) of large values.
Graph residual_blocks(int count) {
  auto build = [&](Graph &g) {
    Value r = g.input("x", bf16, {16384, 4096});
    for (int i = 0; i < count; ++i) {
      Value w = g.input("w" + std::to_string(i), bf16, {4096});
      r = (r + gelu(rms_norm(r, {1}, w))).named("r" + std::to_string(i));
    }
    return r;
  };
  return joint_of(build, {"x"});
}

TEST(Bottlenecks, AreTheResiduals) {
  Graph canonical = canonicalize(residual_blocks(4));
  Joint joint = read_joint(canonical, {});
  std::vector<std::string> names;
  for (const std::vector<NodeId> &values : bottlenecks(joint)) {
    ASSERT_EQ(values.size(), 1u);
    auto name = canonical.data().names.find(values[0]);
    // The first block has a place besides, where its input is read for the last time.
    if (name != canonical.data().names.end()) names.push_back(name->second);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"r0", "r1", "r2"}));
}

#ifndef FUSE_SANITIZED  // two searches of a hundred plans each
TEST(DeepGraphs, AreCheckpointed) {
  Partition p = partition_for(residual_blocks(10), "h200");
  const PartitionPlan *all = plan_named(p, "store all"), *none = plan_named(p, "recompute");
  ASSERT_TRUE(all && none) << explain(p);
  EXPECT_LT(p.chosen.predicted_us, 0.4 * all->predicted_us) << explain(p);
  EXPECT_LT(p.chosen.predicted_us, 0.85 * none->predicted_us) << explain(p);
  // A quarter of the memory costs little.
  PartitionOptions options;
  options.budget_bytes = 5 * 16384LL * 4096 * 2;
  Partition tight = partition(residual_blocks(10), options);
  EXPECT_LE(tight.chosen.kept_bytes, *options.budget_bytes);
  EXPECT_LT(tight.chosen.predicted_us, 1.25 * p.chosen.predicted_us) << explain(tight);
}
#endif

}  // namespace
}  // namespace fuse
