// Recomputation: values that all their readers compute again instead of loading them.
#pragma once

#include "passes/plan_group.h"
#include "passes/plan_order.h"

#include <string>

namespace fuse {

/// Groups after contraction, in an order that runs. A value may be a member of several groups; its
/// owner is the one that stores it where it is stored at all.
struct PlanGroups {
  std::vector<std::vector<PlanId>> members;           // by group, ascending
  std::vector<std::vector<std::uint32_t>> groups_of;  // by value, ascending
  std::vector<std::uint32_t> owner;                   // by value
  std::vector<double> seconds;                        // by group; 0 for extern ops

  PlanGroups(const PlanGraph &graph, const GroupOrder &order);

  bool holds(std::uint32_t group, PlanId v) const;
  bool is_stored(const PlanGraph &graph, PlanId v) const;
  bool writes(const PlanGraph &graph, std::uint32_t group, PlanId v) const {
    return owner[v] == group && is_stored(graph, v);
  }
  /// Groups that use the value and do not compute it, ascending.
  std::vector<std::uint32_t> readers(const PlanGraph &graph, PlanId v) const;
};

/// What became of a value that could have been stored or recomputed.
struct RecomputeChoice {
  PlanId value;
  bool recomputed;
  double gain_seconds;  // of what was chosen over the other
  std::string why;      // where there was no choice
};

/// Switches the readers of stored values, largest first, to computing them where that saves time.
std::vector<RecomputeChoice> choose_recomputation(const PlanGraph &graph, GroupEvaluator &evaluator,
                                                  PlanGroups &groups);

}  // namespace fuse
