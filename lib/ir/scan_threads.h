// The threads that a scan runs along.
#pragma once

#include "ir/kernel.h"

#include <optional>

namespace fuse {

/// Thread / stride % extent is the place of a thread; `lanes` of them are in one warp.
struct ScanThreads {
  std::int64_t extent = 1, stride = 1;
  std::int64_t lanes = 1;

  std::int64_t warps() const { return extent / lanes; }
  /// Totals that are scanned at once behind the exchange between warps.
  std::int64_t group() const { return warps() > 1 ? lanes : 1; }
};

/// The thread digits of an axis as one; nullopt where a scan cannot run along the axis: its digits
/// are not grid . loop . reg . thread . reg . vec, or thread digits do not adjoin.
std::optional<ScanThreads> scan_threads_of(const Axis &axis);

/// Slots of the axis that lie outside its thread digits: a thread has a chunk of neighbours for
/// each. 1 where it has no threads.
std::int64_t scan_chunks_of(const Axis &axis);

}  // namespace fuse
