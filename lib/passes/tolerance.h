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

/// By node: the operation is one of exp, exp2, sigmoid, div, tanh and erf, and whatever reads it
/// leaves room for its approximate form. Room begins where a 16-bit rounding allows one unit in the
/// last place, and flows backward through operations that keep relative errors small. A property of
/// the graph alone: results do not depend on what shares a kernel.
std::vector<bool> approximable(const GraphData &graph);

/// By node: whatever comes of it is rounded to 16 bits, behind sums, products and views alone. A
/// few more units in the last place of f32 are lost there. Where operands cancel, they weigh as
/// much as those that f32 itself has rounded away.
std::vector<bool> rounded_to_16_bits(const GraphData &graph);

/// What the readers of a value let pass, by node.
struct Leeway {
  std::vector<bool> approximable, rounded;

  explicit Leeway(const GraphData &graph)
      : approximable(fuse::approximable(graph)), rounded(rounded_to_16_bits(graph)) {}
};

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

/// The relative error that a rounding to the 16-bit float dtype leaves to what it rounds; 0 for
/// other dtypes.
double rounding_room(DType type);

/// Whether the room, of a tanh in this range or of what is linear in one with that slope, has place
/// for the approximate form, which takes half of it.
bool allows_approximate_tanh(double room, double slope, const ValueRange &tanh);

}  // namespace fuse
