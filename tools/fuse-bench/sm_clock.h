// The clock of the SMs, as it is while something runs.
#pragma once

#include "runtime/driver.h"

#include <fuse/buffer.h>

#include <string>

namespace fuse::bench {

/// A kernel of one thread that counts clocks while the GPU's timer advances. Kernel texts have no
/// clock, so it is PTX.
class SmClock {
 public:
  /// Throws Error{Driver}.
  SmClock();

  /// Waits for the default stream. Call it right behind the work that is of interest.
  double hertz() const;

 private:
  DeviceBuffer result_;
  cuda::CUfunction function_ = nullptr;
};

/// Its code: any device from compute capability 8.0 on takes it.
std::string clock_ptx();

}  // namespace fuse::bench
