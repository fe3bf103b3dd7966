// What loads give where nothing is read.
#pragma once

#include "ir/kernel.h"

namespace fuse {

/// Gives each load the fill with which the most reductions need no tests. Before and after: the
/// kernel verifies, and stores the same.
void choose_fills(Kernel &kernel);

}  // namespace fuse
