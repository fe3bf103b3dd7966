// How views move positions: from an element of a result to the element of its operand.
#pragma once

#include "ir/graph_data.h"
#include "ir/index.h"

#include <span>
#include <vector>

namespace fuse {

/// A position in a tensor: one index per axis.
using Position = std::vector<Index>;

/// Row-major offset of a position.
Index linearize(std::span<const Index> position, std::span<const Index> extents);

/// Writes (n / d)*d + n % d as n, wherever both parts occur.
Index recombine(const Index &index);

/// Position of a row-major offset.
Position delinearize(const Index &offset, std::span<const Index> extents, const Ranges &ranges);

/// Extents of a shape as indices.
std::vector<Index> extents_of(const Shape &shape);

/// Where operand `i` of the node is read for element `at` of its result. Elementwise ops, views and
/// ExternResult; for Pad and Concat the position may lie outside the operand, where
/// `part_bounds` is false. Not for Gather and reductions.
Position operand_position(const GraphData &graph, NodeId node, std::size_t i,
                          std::span<const Index> at, const Ranges &ranges);

/// The axis range of operand `i` within the result of a Pad or Concat: lo <= at[axis] < hi, one
/// entry for each axis that is cut.
struct AxisBound {
  std::size_t axis;
  Index lo, hi;
};
std::vector<AxisBound> part_bounds(const GraphData &graph, NodeId node, std::size_t i);

}  // namespace fuse
