// One row from its text to its numbers.
#pragma once

#include "check.h"
#include "instance.h"
#include "options.h"
#include "runtime/gpu_timer.h"

#include <map>
#include <string>
#include <vector>

namespace fuse::bench {

struct KernelResult {
  KernelReport report;
  double us = 0;       // in its turn: the L2 cache is as the kernels before it left it
  double cold_us = 0;  // behind a flush

  /// Bytes of device memory; of what no plan tells, those of the buffers.
  double bytes() const {
    return report.hbm_bytes > 0 ? report.hbm_bytes : static_cast<double>(report.bytes);
  }
};

struct Result {
  Row row;
  std::string error;  // why there is nothing below
  Verdict verdict;

  std::vector<KernelResult> kernels;
  bool each_kernel = false;            // the kernels are looked at one by one
  std::map<std::string, int> externs;  // how often the program calls each; nobody runs them
  std::int64_t bytes = 0;              // ideal; with externs, of the kernels
  std::vector<std::size_t> launches;   // kernels by position, in their order; with --once
  double predicted_us = 0;
  std::string bound;  // of the kernel that is predicted to take longest

  // On a GPU.
  double us = 0;
  double queued_us = 0;               // what a run adds to a queue
  std::int64_t memory = 0;            // of arguments and workspace
  int registers = 0, spills = 0;      // the most, and the sum
  double occupancy = 0;               // of the kernel that is predicted to take longest
  CompileTimes cold, warm;            // the first and the second compilation in this process
  double from_disk_ms = 0;            // until it can be launched; 0: the cache did not have it
  double tuned_us = 0;                // with CompileOptions::tune; 0: not asked for
  std::vector<std::string> mappings;  // what tuning chose, kernel by kernel

  bool passed() const { return verdict.passed; }
  double kernel_bytes() const {
    double total = 0;
    for (const KernelResult &k : kernels) total += k.bytes();
    return total;
  }
};

/// What the program says of itself: kernels, bytes, predictions.
void add_reports(const Instance &instance, Result &result);
void add_kernel_times(const Instance &instance, const GpuTimer &timer, Result &result);

/// Without a timer: compiles and checks the small instance on the host. Kernels are timed one by
/// one, and tuned, only where the options say so. Never throws Error.
Result measure(const Row &row, const GpuTimer *timer, const Options &options);

}  // namespace fuse::bench
