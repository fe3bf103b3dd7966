// Results for people and for machines.
#pragma once

#include "measure.h"

#include "runtime/gpu_timer.h"

#include <string>
#include <utility>
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
/// One line, another with what went wrong, and the kernels where they are looked at one by one.
std::string table_row(const Result &result, double copy);
/// The kernels of a program that take longest, and what it leaves out.
std::string kernel_table(const Result &result, double copy);
/// The device with its versions and its copy bandwidth.
std::string machine_line(const Machine &machine);
/// How far predictions are from measured times, of which there is a pair each.
std::string prediction_line(const std::vector<std::pair<double, double>> &predicted_measured);
std::string table_foot(const Machine &machine, const std::vector<Result> &results);

/// Writes all of it as JSON. Throws Error{Io}.
void write_json(const std::string &path, const Machine &machine,
                const std::vector<Result> &results);

}  // namespace fuse::bench
