// Kernels whose tensors are contiguous along two dims: a transpose in the middle. What they fold,
// if anything, a thread folds alone.
//
// Blocks hold square tiles. Accesses along the second dim stand in a layout of their own, in which
// neighbouring threads are neighbours along it; their elements go through shared memory.
#pragma once

#include "passes/schedule/mapping.h"

#include <optional>

namespace fuse {

/// Whether no reduction needs several threads.
bool may_have_tiles(const MappingProblem &problem);

/// The mapping of such a kernel; nullopt where one layout serves all accesses.
std::optional<Mapping> map_tiles(const MappingProblem &problem);

/// The flat body, laid out: loads, then moves between the layouts, then all else.
/// Guards of what moves to the other layout are computed there, with the same conditions.
std::vector<Stmt> stage_tiles(Kernel &kernel, const Mapping &mapping, GuardConditions &guards,
                              std::vector<Stmt> body);

}  // namespace fuse
