// What threads hold of a row: the planner's bound and the scheduler's.
#pragma once

#include <fuse/target.h>

#include <algorithm>
#include <cstdint>

namespace fuse {

/// Elements of its row that a thread holds, at most.
inline constexpr int kMaxElementsPerThread = 64;

/// Folded dims outside the innermost one that a thread passes over alone, at most: threads that
/// share them would have an element or none.
inline constexpr int kMaxThreadFold = 8;

/// A scanned axis of this length is cut where blocks that pass over it alone would leave all but
/// one in so many SMs without work: its elements are then read twice.
inline constexpr std::int64_t kSplitScan = 65536;
inline constexpr int kSplitShare = 2;

/// Threads of each block where several share a row; twice as many where fewer blocks shall meet.
inline constexpr std::int64_t kClusterThreads = 128;

/// Blocks that share a row, at most: larger clusters need an opt-in at launch.
inline std::int64_t max_row_cluster(const Target &target) {
  constexpr int kMaxRowCluster = 8;
  return std::min(target.max_cluster, kMaxRowCluster);
}

/// Threads that hold a row together, at most: of a block or of a cluster.
inline std::int64_t max_row_threads(const Target &target) {
  return std::max(std::int64_t{target.max_threads_per_block},
                  2 * max_row_cluster(target) * kClusterThreads);
}

/// Rows that batch_invariant splits over blocks, by their length alone, and elements of a part.
inline constexpr std::int64_t kInvariantSplitRow = 65537;
inline constexpr std::int64_t kInvariantPart = 16384;

/// Into how many parts. 8 blocks an SM are all that one row can use.
inline std::int64_t invariant_parts(std::int64_t row, const Target &target) {
  if (row < kInvariantSplitRow) return 1;
  return std::min<std::int64_t>((row + kInvariantPart - 1) / kInvariantPart,
                                std::int64_t{8} * target.num_sms);
}

}  // namespace fuse
