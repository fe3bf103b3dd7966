// Which loops have the rows of later iterations under way.
#pragma once

#include "ir/kernel.h"

#include <fuse/target.h>

namespace fuse {

/// The least sm that has bulk copies.
inline constexpr int kBulkCopies = 90;

/// A block that passes over rows and meets for each waits for memory in every iteration: its rows
/// come through a pipe, where the target has bulk copies.
/// `stages`: that many instead of what the rules say, where there is room; 1: none, 0: by rule.
void choose_pipes(Kernel &kernel, const Target &target, int stages = 0);

}  // namespace fuse
