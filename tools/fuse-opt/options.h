// The command line of fuse-opt as data.
#pragma once

#include <fuse/compile.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

enum class Stage { Graph, Plan, Kernel, Program, Llvm, Ptx };

struct Options {
  std::string input = "-";   // a file; "-": stdin
  std::string output = "-";  // of --emit; "-": stdout
  std::vector<Stage> emit;
  std::vector<std::string> passes;
  std::string print_after;  // a pass, or "all"
  std::string target;       // empty: the device, or the host's mapping
  fuse::Bindings dims;
  std::uint64_t seed = 1;
  fuse::Executor on = fuse::Executor::Auto;
  bool strict = false, time = false, explain = false, run = false;
  bool list_ops = false, list_passes = false, list_targets = false;

  fuse::Target resolved_target() const {
    return fuse::Target::named(target.empty() ? "h200" : target);
  }
};

/// A wrong use of the command line: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads the arguments. Nothing comes back where help was asked for, which is then printed. Throws
/// UsageError with one line.
std::optional<Options> parse_options(int argc, char **argv);
