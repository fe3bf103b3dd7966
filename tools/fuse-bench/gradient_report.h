// Forward and backward of rows, plan by plan, for people and for machines.
#pragma once

#include "gradient.h"
#include "report.h"

#include <string>
#include <vector>

namespace fuse::bench {

/// Ideal bytes of both programs over the time of the chosen plan; 0 without a time.
double fraction_of_copy(const GradientResult &result, double copy);

std::string gradient_head();
/// A line of the row, one of each plan, and how the chosen one stands beside the others.
std::string gradient_row(const GradientResult &result, double copy);
std::string gradient_foot(const Machine &machine, const std::vector<GradientResult> &results);

/// Writes all of it as JSON. Throws Error{Io}.
void write_gradient_json(const std::string &path, const Machine &machine,
                         const std::vector<GradientResult> &results);

}  // namespace fuse::bench
