// Shared memory that a kernel takes beside the stages of pipes (ir/bulk.h): where threads of
// several warps, blocks of a cluster and layouts tell one another values.
//
// Each reduction and scan has regions of its own. Behind the barrier that a last_block begins with
// they are free again, and what it contains takes them first.
#pragma once

#include "ir/machine_map.h"

#include <cstdint>
#include <vector>

namespace fuse {

inline constexpr std::int64_t kStaticShared = 48 << 10;  // of a block, without opting in for more

/// Components of states on 16-byte boundaries: the first byte of each, and the bytes of all.
/// `states` are those of one entry, one behind the other in each component.
std::vector<std::int64_t> state_starts(const std::vector<DType> &dtypes, std::size_t states,
                                       std::int64_t entries);

/// States that a reduction or scan leaves in shared memory for each slot of its results: one of a
/// warp, or of each lane. 0: none.
std::int64_t warp_entries(const Kernel &kernel, LayoutId layout, const Stmt &reduce);
std::int64_t cluster_entries(const Kernel &kernel, LayoutId layout, const Stmt &reduce);
std::int64_t scan_total_entries(const Kernel &kernel, LayoutId layout, const Stmt &scan);

/// Of the region that all moves share: of the largest.
std::int64_t move_bytes(const Kernel &kernel, const MachineMap &map);

/// Regions for states, by number.
class StateRegions {
 public:
  /// The smallest free one that has so many bytes, or a new one.
  std::size_t take(std::int64_t bytes);
  /// Those taken so far are free.
  void release();
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::int64_t> bytes_;
  std::vector<bool> taken_;
};

/// Bytes of all, at most: a loop that is written down twice may need one copy only.
std::int64_t static_shared_bytes(const Kernel &kernel);

}  // namespace fuse
