// The time of each kernel of a launch.
#pragma once

#include "instance.h"
#include "runtime/gpu_timer.h"

#include <vector>

namespace fuse::bench {

/// What is in the L2 cache when a kernel begins: what the kernels before it left, or nothing of
/// use.
enum class L2 { AsLeft, Flushed };

/// Median microseconds by kernel of the program, between events around it. Extern operations do
/// nothing.
std::vector<double> kernel_times(const Instance &instance, std::size_t num_kernels,
                                 const GpuTimer &timer, L2 l2);

}  // namespace fuse::bench
