// The table and the file of --launch.
#pragma once

#include "launch_cost.h"
#include "report.h"

#include <string>
#include <vector>

namespace fuse::bench {

std::string launch_head();
std::string launch_row(const LaunchResult &result);
std::string launch_foot(const Machine &machine);

/// Throws Error{Io}.
void write_launch_json(const std::string &path, const Machine &machine,
                       const std::vector<LaunchResult> &results);

}  // namespace fuse::bench
