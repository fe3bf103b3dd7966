// Sets of values that a search over partitions moves together.
#pragma once

#include "passes/plan_order.h"

#include <set>
#include <vector>

namespace fuse {

inline constexpr std::size_t kMaxValues = 128;  // of groups that meet: searches stay linear

/// What moves with a value: nothing; of its group what it feeds or needs; all of that.
enum class Reach { Alone, WithUsers, WithOperands, AllUsers, AllOperands };
std::vector<PlanId> closure(const PlanGraph &graph, const GroupOrder &order, PlanId v, Reach reach);

/// Groups that use, feed or read beside one of the values, but for those given.
std::set<GroupId> neighbours(const PlanGraph &graph, const GroupOrder &order,
                             const std::vector<PlanId> &values, const std::set<GroupId> &without);

/// What runs over most of the space, with what stands between; what is needed first, and what
/// follows. Parts without values are left out.
std::vector<std::vector<PlanId>> core_and_ends(const PlanGraph &graph,
                                               const std::vector<PlanId> &values);

}  // namespace fuse
