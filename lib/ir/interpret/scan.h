// Scans over threads in the order that every way of running a kernel keeps.
#pragma once

#include "ir/interpret/fold.h"
#include "ir/scan_threads.h"

#include <span>
#include <vector>

namespace fuse {

/// From the totals of the threads of a block, by chunk as the scan runs and by thread: totals[c][t]
/// becomes what precedes thread t's chunk c in its group, starting with the group's carry, which
/// moves on past all of them.
void scan_totals(const MonoidFold &fold, const ScanThreads &along, bool reverse,
                 std::vector<std::vector<MonoidState>> &totals, std::span<MonoidState> carries);

}  // namespace fuse
