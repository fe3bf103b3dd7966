// Tuning on a device.
#pragma once

#include "runtime/tune.h"
#include "runtime/variant.h"

namespace fuse {

/// What launches of the program will look like.
struct TuneCase {
  VariantClass arguments;
  Bindings sizes;  // of symbols, and "<name>.stride<axis>" of strided arguments
  Machine machine;
  int device = 0;
};

/// Runs programs on made-up inputs, the L2 cache cold, one after another; compiles them on all
/// cores. Takes memory for the arguments and workspace of one program at a time.
MeasurePrograms measure_on_device(const TuneCase &launches);

/// The tunings of a program, from the disk cache where this device has been asked before, else
/// measured and stored there.
std::vector<TunedKernel> tune_cached(const Program &by_rule, const ScheduleTuned &schedule,
                                     const TuneCase &launches);

}  // namespace fuse
