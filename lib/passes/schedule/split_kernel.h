// What the scheduler does with a planned kernel that has no common domain: smaller kernels.
#pragma once

#include "ir/plan.h"

#include <vector>

namespace fuse {

/// One kernel for each stored value, each computing its own operands; where the kernel stores only
/// one value, one for each operation, views included in their readers. Empty where the kernel is a
/// single operation already.
std::vector<PlannedKernel> split_kernel(const GraphData &graph, const PlannedKernel &kernel);

}  // namespace fuse
