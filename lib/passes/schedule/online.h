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
  NodeId exponential = kNoNode;  // exp(u - max(u))
};
std::optional<OnlineSum> match_online_sum(const GraphData &graph, NodeId sum);

/// Whether the sum divides its own terms and nothing else reads them: softmax. Then the terms may
/// be made relative to any maximum and scaled once the sum is known; where all of u is -inf, 0 / 0
/// gives the NaN that -inf - -inf would have given. `members` are the
/// nodes that may read them.
bool divides_its_terms(const GraphData &graph, NodeId sum, const OnlineSum &online,
                       const std::vector<NodeId> &members);

}  // namespace fuse
