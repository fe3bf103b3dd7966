// Greedy contraction of the value graph: pairs of groups that save most become one kernel first.
#pragma once

#include "passes/plan_group.h"
#include "passes/plan_order.h"
#include "passes/plan_prices.h"

namespace fuse {

/// Contracts until no legal pair of neighbours saves time. Pairs are producer and consumer, and
/// readers of one value of at least 64 KiB.
void merge_groups(const PlanGraph &graph, KernelPrices &prices, GroupOrder &order);

/// Parts values, alone or with what they need or feed, from their groups where that saves time with
/// the best neighbours for both; true if any moved. Greedy contraction cannot take back an early
/// choice; this does. `tried`, by value and 0 at first, spares what did not help before.
bool refine_groups(const PlanGraph &graph, KernelPrices &prices, GroupOrder &order,
                   std::vector<std::uint64_t> &tried);

/// Contracts and refines until neither finds anything.
void partition(const PlanGraph &graph, GroupEvaluator &evaluator, GroupOrder &order);

/// The values of two groups, ascending.
std::vector<PlanId> merged_members(const GroupOrder &order, GroupId a, GroupId b);

}  // namespace fuse
