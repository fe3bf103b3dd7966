// Small kernels of one body become instances of one kernel: one launch for all of them.
#pragma once

#include "passes/passes.h"

#include <functional>

namespace fuse {

/// Builds a kernel of the program again, as one of several that shall differ in sizes alone.
using RebuildKernel = std::function<Kernel(std::size_t kernel, int common_threads)>;

/// Packs kernels of one body that do not wait for one another, where the launches that this saves
/// are worth more than what the table costs; as many in a launch as its parameters take. Every step
/// is another kernel. What was decided is in the plan, whose kernels are those that result.
void pack_instances(Program &program, const Target &target, const LowerOptions &options,
                    const RebuildKernel &rebuild);

}  // namespace fuse
