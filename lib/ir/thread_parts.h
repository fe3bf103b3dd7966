// The threads and blocks that a reduction folds: parts of their numbers.
#pragma once

#include "ir/kernel.h"

#include <cstdint>
#include <vector>

namespace fuse {

inline constexpr std::int64_t kWarpThreads = 32;

/// extent units at stride, of threads or of blocks in the cluster.
struct Part {
  std::int64_t extent, stride;
};

/// What the digits of a kind of these axes span.
std::vector<Part> parts_of(const Layout &layout, const std::vector<std::uint32_t> &axes,
                           DigitKind kind);

/// Bits of the lane that the thread digits span.
std::int64_t lane_bits(const std::vector<Part> &threads);

/// Their parts in units of warps.
std::vector<Part> warp_parts(const std::vector<Part> &threads);

/// Whether the lanes of a warp hold several results of what these threads fold.
bool is_per_lane(const std::vector<Part> &threads);

/// Numbers that the parts span, ascending.
std::vector<std::int64_t> numbers(const std::vector<Part> &parts);

}  // namespace fuse
