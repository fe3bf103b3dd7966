// Collectives of one warp.
#pragma once

#include "codegen/host_abi.h"

#include <string_view>

namespace fuse {

/// Where a collective stands, for errors.
struct WarpPlace {
  std::string_view kernel;
  std::uint32_t block = 0;
  std::uint32_t warp = 0;
};

/// Every live lane of the warp is suspended. Carries out the collectives of the warp that lanes
/// wait for, and returns the lanes to resume: none if all wait for more than the warp, or are done.
/// Throws Error{Internal} where lanes of one mask are at different places.
std::uint32_t serve_warp(WarpRequests &warp, unsigned lanes, const WarpPlace &place);

/// The collective of a call word, for people.
std::string_view name_of(std::uint32_t call);

/// Throws: two threads of the block, the first in that warp, should be at one place and are not.
[[noreturn]] void fail_divergent(const WarpPlace &place, std::uint32_t thread, std::uint32_t call,
                                 std::uint32_t other, std::uint32_t other_call);

}  // namespace fuse
