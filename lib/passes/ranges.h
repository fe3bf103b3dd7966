// Bounds of values, whatever the inputs are.
#pragma once

#include "ir/graph_data.h"

#include <limits>
#include <vector>

namespace fuse {

/// NaN aside, every element of the value lies within lo .. hi, its rounding included.
struct ValueRange {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();

  double least_magnitude() const { return lo > 0 ? lo : hi < 0 ? -hi : 0; }
  double greatest_magnitude() const { return lo < -hi ? -lo : hi; }
};

/// By node, one forward loop; of what is no float, no bounds but those of bool.
std::vector<ValueRange> value_ranges(const GraphData &graph);

}  // namespace fuse
