// Runs compiled host kernels: grids, clusters, blocks, warps.
#pragma once

#include "codegen/host.h"
#include "codegen/host_jit.h"

#include <string>

namespace fuse {

struct HostGeometry {
  std::string name;
  std::uint32_t threads = 1;  // per block
  std::uint32_t cluster = 1;  // blocks per cluster
};

/// Runs the grid to its end, on several threads of the CPU if it is large and the order is not
/// random. Throws Error{Internal} on a divergent or mismatched collective.
void run_grid(const HostCode &code, const HostGeometry &geometry, const HostLaunch &launch);

}  // namespace fuse
