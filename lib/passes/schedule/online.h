// Sums that can be folded together with the maximum they are scaled by, in one pass.
#pragma once

#include "ir/graph_data.h"

#include <optional>

namespace fuse {

/// sum(w * exp(u - max(u))) over the axes of the maximum: with the maximum rising as elements
/// arrive, the sum is rescaled by exp(old - new). `weight` is kNoNode for w = 1.
struct OnlineSum {
  NodeId maximum = kNoNode;
  NodeId exponent = kNoNode;  // u
  NodeId weight = kNoNode;
};
std::optional<OnlineSum> match_online_sum(const GraphData &graph, NodeId sum);

}  // namespace fuse
