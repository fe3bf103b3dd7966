// Several random graphs side by side in one.
#pragma once

#include "property/random_graph.h"

#include <span>

namespace fuse {

/// One graph that computes what all of them do, apart: names of inputs and outputs end in the
/// number of the graph. Symbols are those of the first, which all have.
RandomGraph joined(std::span<const RandomGraph> graphs);

}  // namespace fuse
