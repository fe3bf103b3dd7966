// Results for people and for machines.
#pragma once

#include "measure.h"

#include "runtime/gpu_timer.h"

#include <string>
#include <vector>

namespace fuse::bench {

/// The machine and its copy bandwidth, read before and after the rows.
struct Machine {
  std::string device = "host";
  std::string driver;  // its version, where the system tells
  int cuda = 0;        // version of CUDA that the driver takes
  std::string target;  // figures that predictions used
  GpuTimer::Bandwidth copy_before, copy_after;

  double copy() const { return (copy_before.timed + copy_after.timed) / 2; }
  double copy_queued() const { return (copy_before.queued + copy_after.queued) / 2; }
};

/// Ideal bytes over time, as a fraction of the copy bandwidth; 0 without a time.
double fraction_of_copy(const Result &result, double copy);

/// The machine of a device; of the host for -1.
Machine describe_machine(int device);

std::string table_head();
/// One line, and another with what went wrong.
std::string table_row(const Result &result, double copy);
/// The kernels of a row that take longest, and what the row leaves out.
std::string kernel_table(const Result &result, double copy);
std::string table_foot(const Machine &machine, const std::vector<Result> &results);

/// Writes all of it as JSON. Throws Error{Io}.
void write_json(const std::string &path, const Machine &machine,
                const std::vector<Result> &results);

}  // namespace fuse::bench
