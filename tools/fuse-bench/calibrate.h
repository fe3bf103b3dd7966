// --calibrate: probes run, and the figures that follow from them.
#pragma once

#include "figures.h"
#include "options.h"

#include <string>

namespace fuse::bench {

/// Runs every probe on device 0, whose context is current. Throws Error.
Calibration calibrate(const Target &target, const Options &options);

/// The texts of the probes whose names contain one of the filters; of all of them without filters.
std::string probe_texts(const Target &target, const std::vector<std::string> &filters);

/// Measures device 0 and prints its target text; writes figures as JSON where the options ask.
void run_calibration(const Options &options);

}  // namespace fuse::bench
