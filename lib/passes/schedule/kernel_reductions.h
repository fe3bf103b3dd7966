// The reductions of a kernel: in which pass over the looped dims each is folded, and what for.
#pragma once

#include "ir/plan.h"
#include "passes/online.h"
#include "passes/schedule/mapping.h"

#include <map>
#include <set>

namespace fuse {

struct KernelReductions {
  std::map<NodeId, int> level;         // the reductions that it depends on, itself included
  std::map<NodeId, int> pass;          // 1 for the first loop; those of rows beside columns, too
  std::set<NodeId> finished;           // stored values that depend on reductions over looped dims
  std::map<NodeId, OnlineSum> online;  // sums folded with their maximum in one pass
  ReductionUse use;

  /// Whether an online sum folds this maximum along the way.
  bool is_folded_online(NodeId maximum) const;
};

KernelReductions analyze_reductions(const GraphData &graph, const PlannedKernel &planned);

/// Whether the reduction folds looped dims: it is complete after the loop.
bool is_looped(const Domain &domain, NodeId reduction);

}  // namespace fuse
