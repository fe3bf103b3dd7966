// Checks a graph from outside the builders: passes, parsers and hand-made data.
#pragma once

#include <fuse/graph.h>

namespace fuse {

/// Throws Error{Internal} naming the node and the first broken invariant; they are listed in
/// graph_verify.cpp.
void verify(const Graph &graph);

}  // namespace fuse
