// Which loops have the rows of later iterations under way.
#pragma once

#include "ir/kernel.h"

#include <fuse/target.h>

namespace fuse {

/// The least sm that has bulk copies.
inline constexpr int kBulkCopies = 90;

/// A block that passes over rows and meets for each waits for memory in every iteration: its rows
/// come through a pipe, where the target has bulk copies.
void choose_pipes(Kernel &kernel, const Target &target);

}  // namespace fuse
