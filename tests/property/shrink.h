// The smallest graph that still shows a fault.
#pragma once

#include "property/random_graph.h"

#include <functional>
#include <string>

namespace fuse {

/// Why something does not hold of a graph; empty where it does.
using Property = std::function<std::string(const RandomGraph &)>;

/// Greedy: drops outputs, bypasses nodes and makes inputs of them while the property still fails.
/// Every change keeps the graph valid and its inputs those of the original run.
RandomGraph shrink(RandomGraph random, const Property &property);

/// The graph as text, with the sizes of its symbols.
std::string reproducer(const RandomGraph &random);

/// "" if the property holds, else why not and the shrunk graph.
std::string check(const RandomGraph &random, const Property &property);

}  // namespace fuse
