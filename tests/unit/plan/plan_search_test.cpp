// What the search over partitions stands on: the order of groups, prices and connectivity.
#include "passes/plan_merge.h"

#include <fuse/graph.h>

#include <gtest/gtest.h>

namespace {

using namespace fuse;

/// %0 an input, and three operations one after another.
PlanGraph chain() {
  Graph g("chain");
  Value x = g.input("x", DType::F32, {1 << 20});
  g.output("y", exp(sqrt(abs(x))));
  return build_plan_graph(g.data(), {});
}

TEST(GroupOrder, RefusedMovesLeaveVersions) {
  PlanGraph values = chain();
  GroupOrder order(values);
  std::uint64_t before = order.last_version();
  EXPECT_FALSE(order.try_moves({{{3}, 1}}));  // the operation between would need and feed it
  EXPECT_EQ(order.last_version(), before);
  EXPECT_EQ(order.group_of(3), 3u);
  EXPECT_EQ(order.members(1), std::vector<PlanId>{1});
}

TEST(GroupOrder, MovesThatTogetherCloseNoCycleAreMade) {
  PlanGraph values = chain();
  GroupOrder order(values);
  EXPECT_TRUE(order.try_moves({{{3}, 1}, {{2}, 1}}));
  EXPECT_EQ(order.members(1), (std::vector<PlanId>{1, 2, 3}));
  EXPECT_EQ(order.key(1), key_of(std::vector<PlanId>{1, 2, 3}));
  EXPECT_EQ(order.key(3), SetKey());
}

TEST(SetKey, KeysOfDisjointSetsAddUp) {
  SetKey sum = key_of(std::vector<PlanId>{7, 2});
  sum += key_of(std::vector<PlanId>{5});
  EXPECT_EQ(sum, key_of(std::vector<PlanId>{2, 5, 7}));
  EXPECT_NE(sum, key_of(std::vector<PlanId>{2, 5, 8}));
}

TEST(KernelPrices, ListsEachSetOnce) {
  PlanGraph values = chain();
  GroupEvaluator evaluator(values, Target::named("h200"));
  KernelPrices prices(values, evaluator);
  std::vector<PlanId> set = {1, 2};
  int listed = 0;
  auto list = [&] { return ++listed, set; };
  double first = prices.price(key_of(set), list).seconds;
  EXPECT_EQ(prices.price(key_of(set), list).seconds, first);
  EXPECT_TRUE(prices.are_connected(key_of(set), list));
  EXPECT_TRUE(prices.are_connected(key_of(set), list));
  EXPECT_EQ(listed, 2);
}

TEST(Connectivity, EdgesAndLargeOperandsConnect) {
  Graph g("two");
  Value large = g.input("large", DType::F32, {1 << 20}), small = g.input("small", DType::F32, {16});
  g.output("a", exp(large));
  g.output("b", sqrt(large));
  g.output("c", exp(small));
  g.output("d", sqrt(small));
  PlanGraph values = build_plan_graph(g.data(), {});
  std::vector<PlanId> computed;
  for (PlanId v = 0; v < values.values.size(); ++v)
    if (values.is_computed(v)) computed.push_back(v);
  ASSERT_EQ(computed.size(), 4u);
  EXPECT_EQ(Connectivity(values).parts(computed).size(), 3u);
  EXPECT_FALSE(Connectivity(values).is_connected(computed));
}

}  // namespace
