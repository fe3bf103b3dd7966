// Integer values that are computed from positions alone.
#pragma once

#include "ir/graph_data.h"
#include "ir/index.h"

#include <optional>

namespace fuse {

/// The value of an integer node as an index over its own axes: Index::dim(a) is the position along
/// axis a. Nothing where it depends on data, is not computed by a few operations, or may wrap on
/// the way; nor through values that the user keeps.
std::optional<Index> position_index(const GraphData &graph, NodeId id);

/// Bounds of an index over the axes of the shape, where they are numbers.
std::optional<Interval> interval_over(const Index &index, const Shape &shape);

}  // namespace fuse
