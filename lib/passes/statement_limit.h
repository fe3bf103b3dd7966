// What one kernel may be: the planner merges, and the scheduler unrolls, up to it.
#pragma once

#include "ir/kernel.h"  // kMaxStatements

namespace fuse {

/// Elements of its row that a thread holds, at most.
inline constexpr int kMaxElementsPerThread = 64;

/// Threads of the blocks that hold a row together, at most, where one block does not.
inline constexpr int kMaxRowThreads = 2048;

}  // namespace fuse
