// The command line of fuse-bench as data.
#pragma once

#include <fuse/compile.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fuse::bench {

struct Options {
  std::vector<std::string> filters;  // parts of the names of rows; none: all rows
  std::vector<std::string> files;    // programs to measure in the place of a suite
  Bindings dims;                     // sizes of their symbols
  std::vector<std::string> grad;     // inputs to differentiate them by
  std::string suite = "bench/suite/suite.json";
  std::string json;     // where results are written too; empty: nowhere
  std::string compare;  // earlier results to set beside these
  std::string with;     // results that stand for a run
  Executor on = Executor::Gpu;
  int runs = 30;
  bool once = false;     // no times: each program runs once, for profilers
  bool kernels = false;  // each kernel of each row
  bool tune = false;     // tuned mappings too
  bool list = false;
  bool launch = false;     // the cost of launches in the place of times
  bool calibrate = false;  // figures of the machine in the place of rows
};

/// A wrong use of the command line: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads the arguments; nothing comes back where help was asked for, which is then printed.
std::optional<Options> parse_options(int argc, const char *const *argv);

}  // namespace fuse::bench
