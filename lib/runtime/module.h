// Machine code: PTX -> cubin -> module -> functions.
//
// Modules are shared by content and stay loaded as long as their context: kernels in flight and
// captured graphs may use their code after the Executable that loaded it is gone.
#pragma once

#include "runtime/device.h"

#include <map>
#include <string>
#include <vector>

namespace fuse {

/// What the driver says of a kernel.
struct FunctionFacts {
  int registers = 0;      // per thread
  int spill_bytes = 0;    // local memory per thread
  int shared_bytes = 0;   // static, per block
  int blocks_per_sm = 0;  // resident
  double occupancy = 0;   // resident warps of those that an SM holds; mean over SMs for clusters
};

/// A kernel's launch settings beside its grid.
struct FunctionSettings {
  std::string name;
  int threads = 256;
  int cluster = 1;
  std::int64_t dynamic_shared_bytes = 0;
};

/// Assembles the PTX for the current context's device. Throws Error{Driver} with the assembler's
/// log.
std::string assemble(const std::string &ptx);

/// The kernel of that name in the module. The context must be current.
cuda::CUfunction load_function(const Context &context, const std::string &cubin,
                               const FunctionSettings &settings);

/// Clusters of the kernel that the current context's device holds at a time.
int max_active_clusters(cuda::CUfunction function, const FunctionSettings &settings);

FunctionFacts facts_of(cuda::CUfunction function, const FunctionSettings &settings);

}  // namespace fuse
