// Greedy contraction of the value graph: pairs of groups that save most become one kernel first.
#pragma once

#include "passes/plan_group.h"
#include "passes/plan_order.h"

namespace fuse {

/// Contracts until no legal pair of neighbours saves time. Pairs are producer and consumer, and
/// readers of one value of at least 64 KiB.
void merge_groups(const PlanGraph &graph, GroupEvaluator &evaluator, GroupOrder &order);

/// The values of two groups, ascending.
std::vector<PlanId> merged_members(const GroupOrder &order, GroupId a, GroupId b);

}  // namespace fuse
