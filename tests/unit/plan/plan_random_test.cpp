// Where random numbers are made, and what the planner takes them to cost.
#include "ir/graph_data.h"
#include "ir/plan.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fuse {
namespace {

Plan make_plan(const Graph &g) {
  Plan p = plan(g, Target::named("h200"), {});
  verify(p, g);
  return p;
}

bool stores_words(const Plan &p, const Graph &g) {
  auto is_random = [&](NodeId id) { return g.data().node(id).op == Op::RandomBits; };
  return std::any_of(p.kernels.begin(), p.kernels.end(), [&](const PlannedKernel &k) {
    return std::any_of(k.stores.begin(), k.stores.end(), is_random);
  });
}

std::size_t kernels_with_words(const Plan &p, const Graph &g) {
  auto is_random = [&](NodeId id) { return g.data().node(id).op == Op::RandomBits; };
  return static_cast<std::size_t>(
      std::count_if(p.kernels.begin(), p.kernels.end(), [&](const PlannedKernel &k) {
        return std::any_of(k.nodes.begin(), k.nodes.end(), is_random);
      }));
}

/// Forward and backward around a product, with a seed that is computed.
TEST(Plan, RandomBitsAreMadeAgainByEachReader) {
  Graph g = parse(R"(graph @g(%x: bf16[4096, 4096], %seed: u64, %step: u64 scalar) {
      %s = add %seed, %step
      %a = dropout %x, 0.1, %s stream=3
      %b, %c = extern "mm"(%a) : bf16[4096, 4096], bf16[4096, 4096]
      %w = random_bits %s stream=3 : u32[4096, 4096]
      %t = transpose %w perm=[1, 0]
      %m = lt %t, 429496730
      %d = select %m, 0.0, %b
      %e = sum %c axes=[1]
      return %d, %e })");
  Plan p = make_plan(g);
  EXPECT_FALSE(stores_words(p, g)) << to_string(p, g);
  EXPECT_EQ(kernels_with_words(p, g), 2u) << to_string(p, g);
}

TEST(Plan, AKernelMakesNothingButRandomNumbers) {
  Graph g = parse(R"(graph @g(%seed: u64 scalar) {
      %n = normal %seed stream=3 : f32[4096, 4096]
      %s = sum %n axes=[1]
      %w = random_bits %seed stream=3 : u32[4096, 4096]
      %m = max %w axes=[0]
      return %n, %s, %w, %m })");
  Plan p = make_plan(g);
  EXPECT_TRUE(stores_words(p, g)) << to_string(p, g);  // an output
}

/// The integer pipe is what a kernel waits for that makes many numbers for few bytes.
TEST(Plan, RandomBitsTakeTheIntegerPipe) {
  Graph g = parse(R"(graph @g(%seed: u64 scalar) {
      %a = bernoulli %seed, 0.5 stream=0 : bool[8192, 8192]
      %b = bernoulli %seed, 0.5 stream=1 : bool[8192, 8192]
      %c = bernoulli %seed, 0.5 stream=2 : bool[8192, 8192]
      %d = and %a, %b
      %e = and %d, %c
      return %e })");
  Plan p = make_plan(g);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(p.kernels[0].bound, "int");
}

}  // namespace
}  // namespace fuse
