// Sums that can be folded together with the maximum they are scaled by, in one pass.
#pragma once

#include "ir/graph_data.h"

#include <optional>
#include <vector>

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

/// Readers of a sum and of its terms exp(u - max(u)).
///
/// Where only quotients of a term and the sum read terms (softmax), these may be made relative to
/// any maximum and scaled once the sum is known; where all of u is -inf, 0 / 0 gives the NaN that
/// -inf - -inf would have given.
struct TermReaders {
  std::vector<NodeId> quotients;  // of a term and the sum
  bool others = false;            // something else reads terms
  bool read_sum = false;          // something else reads the sum
};

/// Those among `members`.
TermReaders readers_of_terms(const GraphData &graph, NodeId sum, const OnlineSum &online,
                             const std::vector<NodeId> &members);

/// How a kernel folds such a sum.
struct OnlineFold {
  OnlineSum sum;
  bool terms = false;    // its readers want the terms, too
  bool read_sum = true;  // something else than quotients reads the sum
};

}  // namespace fuse
