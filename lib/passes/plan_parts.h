// Sets of values that a search over partitions moves together.
#pragma once

#include "passes/plan_order.h"

#include <vector>

namespace fuse {

inline constexpr std::size_t kMaxValues = 128;  // of groups that meet: searches stay linear

/// What moves with a value: nothing; of its group what it feeds or needs; all of that.
enum class Reach { Alone, WithUsers, WithOperands, AllUsers, AllOperands };

/// Searches around values of groups. Results ascend.
class Vicinity {
 public:
  Vicinity(const PlanGraph &graph, const GroupOrder &order)
      : p_(graph), order_(order), stamp_(graph.values.size()), group_stamp_(graph.values.size()) {}

  /// Those that move with a value: all, or some where they are more than `most`.
  std::vector<PlanId> closure(PlanId v, Reach reach, std::size_t most);

  std::vector<GroupId> groups_of(std::span<const PlanId> values);

  /// Groups that use, feed or read beside one of the values, but for those given.
  std::vector<GroupId> neighbours(std::span<const PlanId> values, std::span<const GroupId> without);

 private:
  void add(GroupId g, std::vector<GroupId> &groups);

  const PlanGraph &p_;
  const GroupOrder &order_;
  std::vector<std::uint32_t> stamp_, group_stamp_;  // by value and by group: epoch in which it was
  std::uint32_t epoch_ = 0;                         // met
};

/// What runs over most of the space, with what stands between; what is needed first, and what
/// follows. Parts without values are left out.
std::vector<std::vector<PlanId>> core_and_ends(const PlanGraph &graph,
                                               const std::vector<PlanId> &values);

}  // namespace fuse
