// Room for error: which operations may be computed with cheaper forms.
#pragma once

#include "ir/graph_data.h"
#include "passes/ranges.h"

#include <algorithm>
#include <vector>

namespace fuse {

/// Relative errors of a statement marked `approx`, at most: docs/kernel.md.
inline constexpr double kApproximateError = 0x1p-16;
inline constexpr double kApproximateTanhError = 0x1.04p-11;

/// By node: the operation is one of exp, exp2, sigmoid, div and tanh, and whatever reads it leaves
/// room for its approximate form. Room begins where a 16-bit rounding allows one unit in the last
/// place, and flows backward through operations that keep relative errors small. A property of the
/// graph alone: results do not depend on what shares a kernel.
std::vector<bool> approximable(const GraphData &graph);

/// The larger of two errors that the readers of a value leave to it.
struct Room {
  double relative = 0;  // to each element
  double absolute = 0;

  /// Of elements in the range.
  double in(const ValueRange &range) const {
    return std::max(absolute, relative * range.least_magnitude());
  }
};

/// By node.
std::vector<Room> room_for_error(const GraphData &graph);

/// Whether the room, of a tanh in this range or of what is linear in one with that slope, has place
/// for the approximate form, which takes half of it.
bool allows_approximate_tanh(double room, double slope, const ValueRange &tanh);

}  // namespace fuse
