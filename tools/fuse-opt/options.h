// The command line of fuse-opt as data.
#pragma once

#include "passes/tuning.h"

#include <fuse/compile.h>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

enum class Stage { Graph, Plan, Dot, Program, Kernel, Llvm, Ptx, Sass };
enum class Explain { No, Text, Json };

struct Options {
  std::string input = "-";   // a file; "-": stdin
  std::string output = "-";  // of --emit and --explain: a file, or a folder; "-": stdout
  std::vector<Stage> emit;
  std::vector<std::string> grad;             // inputs that the graph is differentiated by
  std::string grad_output;                   // of several the one that is
  std::string part;                          // of the graph with derivatives: forward, backward
  std::optional<std::int64_t> budget_bytes;  // of what forward saves for backward
  std::vector<std::string> passes;
  std::string print_after;  // a pass, or "all"
  std::vector<std::string> targets;
  fuse::Bindings dims;
  fuse::PlanOverrides overrides;
  fuse::Tunings tunings;
  std::uint64_t seed = 1;
  std::map<std::string, std::string> in, out, expect;  // by argument: files, values of scalars
  fuse::Executor on = fuse::Executor::Auto;
  Explain explain = Explain::No;
  std::string report, serialize;  // files; empty: none
  bool batch_invariant = false;
  bool strict = false, time = false, run = false, verify = false;
  bool list_ops = false, list_passes = false, list_targets = false;
};

/// A wrong use of the command line: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The word of the stage, which is also the ending of its files.
std::string_view to_string(Stage stage);

/// Reads the arguments. Nothing comes back where help was asked for, which is then printed. Throws
/// UsageError with one line.
std::optional<Options> parse_options(int argc, char **argv);
