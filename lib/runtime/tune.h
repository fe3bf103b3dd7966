// Measured tuning: mappings near those of the rules are tried, and the fastest ones stay.
#pragma once

#include "ir/program.h"
#include "passes/tuning.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace fuse {

/// The program whose kernels are mapped as the tunings say; its plan does not depend on them.
using ScheduleTuned = std::function<Program(const Tunings &tunings)>;

/// Microseconds that the steps of each program take; infinity for what does not run.
using MeasurePrograms = std::function<std::vector<double>(std::vector<Program> programs)>;

/// What came of one planned kernel.
struct TunedKernel {
  std::string name;
  Tuning tuning;       // the fastest
  double us = 0;       // with it
  double rule_us = 0;  // with the rules
  int tried = 0;       // mappings that differ, the rules' among them
};

/// Tunes kernel after kernel, step by step from the rules, as long as a step saves more than what
/// measurements scatter by. Kernels that many tensors share, and those that take little of the
/// predicted time, stay as they are.
std::vector<TunedKernel> tune(const ScheduleTuned &schedule, const MeasurePrograms &measure);

Tunings tunings_of(const std::vector<TunedKernel> &kernels);

/// For explain().
void add_decisions(const std::vector<TunedKernel> &kernels, Plan &plan);

/// For the disk cache. Reading gives nothing for a text that is none.
std::string to_string(const std::vector<TunedKernel> &kernels);
std::vector<TunedKernel> parse_tuned_kernels(const std::string &text);

/// The steps of one planned kernel as a program with all arguments and workspace.
Program steps_of_kernel(const Program &program, const std::string &kernel);

}  // namespace fuse
