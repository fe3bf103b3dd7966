// The machines of --target.
#pragma once

#include "options.h"

/// By name, "auto" (the device, else the host) or a file of figures; one at least. UsageError for
/// what is neither.
std::vector<fuse::Target> targets_of(const Options &options);

/// The one that a run compiles for; none: what the library chooses.
std::optional<fuse::Target> run_target(const Options &options);
