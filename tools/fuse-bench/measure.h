// One row from its text to its numbers.
#pragma once

#include "check.h"
#include "instance.h"
#include "options.h"
#include "runtime/gpu_timer.h"

#include <string>

namespace fuse::bench {

struct Result {
  Row row;
  std::string error;  // why there is nothing below
  Verdict verdict;

  int kernels = 0;
  std::int64_t bytes = 0;  // ideal
  double predicted_us = 0;
  std::string bound;  // of the kernel that is predicted to take longest

  // On a GPU.
  double us = 0;
  int registers = 0, spills = 0;      // the most, and the sum
  double occupancy = 0;               // of the kernel that is predicted to take longest
  CompileTimes cold, warm;            // the first and the second compilation in this process
  double from_disk_ms = 0;            // until it can be launched; 0: the cache did not have it
  double tuned_us = 0;                // with CompileOptions::tune; 0: not asked for
  std::vector<std::string> mappings;  // what tuning chose, kernel by kernel
};

/// Without a timer: compiles and checks the small instance on the host. Never throws Error.
Result measure(const Row &row, const GpuTimer *timer, bool tune = false);

}  // namespace fuse::bench
