// Values of a graph by their names.
#pragma once

#include "ir/graph_data.h"

#include <string>

namespace fuse {

/// "x" of an input, an output or a value with a name, else "%12".
std::string name_of(const GraphData &graph, NodeId id);

}  // namespace fuse
