// Where forward is narrow: the places at which deep graphs are checkpointed.
#pragma once

#include "partition/joint.h"

#include <vector>

namespace fuse {

/// Between operations in the order of the graph, the values that forward computed before and reads
/// behind, at places where these are fewest bytes. Empty for graphs of one block.
std::vector<std::vector<NodeId>> bottlenecks(const Joint &joint);

}  // namespace fuse
