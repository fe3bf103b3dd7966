// Room for error: which operations may be computed with cheaper forms.
#pragma once

#include "ir/graph_data.h"

#include <vector>

namespace fuse {

/// Relative error of a statement marked `approx`, at most: docs/kernel.md.
inline constexpr double kApproximateError = 0x1p-16;

/// By node: the operation is one of exp, exp2, sigmoid and div, and whatever reads it leaves room
/// for kApproximateError. Room begins where a 16-bit rounding allows one unit in the last place,
/// and flows backward through operations that keep relative errors small. A property of the graph
/// alone: results do not depend on what shares a kernel.
std::vector<bool> approximable(const GraphData &graph);

/// By node: the relative error that its readers leave to it; 0: none.
std::vector<double> room_for_error(const GraphData &graph);

}  // namespace fuse
