// What a launch costs the host, beside the bare call of the driver with the same arguments.
#pragma once

#include "instance.h"

#include <string>

namespace fuse::bench {

/// Microseconds, medians. All kernels of a launch together, but for `replayed`.
struct LaunchCost {
  int kernels = 0;
  double launch = 0;    // Executable::launch: sizes, alignment and overlap looked at
  double bound = 0;     // the Launcher that bind() gives
  double bare = 0;      // cuLaunchKernel of the same kernels
  double replayed = 0;  // a kernel on the device, in a CUDA graph of many launches
};

/// The instance has its arguments; the context is current. Throws Error{Driver}.
LaunchCost time_launches(const Instance &instance);

struct LaunchResult {
  Row row;
  std::string error;  // why there is no cost
  LaunchCost cost;
};

/// Never throws Error.
LaunchResult measure_launch(const Row &row);

}  // namespace fuse::bench
