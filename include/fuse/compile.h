// From a graph to an Executable.
#pragma once

#include <fuse/executable.h>
#include <fuse/graph.h>
#include <fuse/target.h>

#include <optional>

FUSE_BEGIN_NAMESPACE

enum class Executor : unsigned char {
  Auto,  ///< Gpu where a driver and a device are found, else Host
  Gpu,   ///< throws Error{NoDevice} where there is none
  Host,  ///< the kernels of the GPU, run by this CPU: for tests, not for speed
  None,  ///< decisions and code only; nothing can be launched
};

struct CompileOptions {
  /// The machine to compile for; by default the device, or "host" without one.
  std::optional<Target> target;
  /// What runs the kernels.
  Executor executor = Executor::Auto;
  /// The GPU that gives the default target, and that compile() loads code on; LaunchOptions say
  /// where launches run.
  int device = 0;

  /// Round every 16-bit value to its dtype, also between operations of one kernel.
  bool strict = false;
  /// The bits of a row do not depend on how many rows there are.
  bool batch_invariant = false;
  /// Never compile after compile() returns: one variant with element accesses serves all sizes,
  /// strides and alignments, and another those of the class of expected_sizes, if these are given.
  /// For services that must not wait.
  bool no_recompile = false;
  /// Expected values of symbols, for the cost model; others remain legal. compile() throws
  /// InvalidArgument for a name that is no symbol's and a value that the symbol does not take.
  Bindings expected_sizes;
  /// Decisions taken out of the planner's hands.
  PlanOverrides overrides;
  /// Outputs that launches write over inputs, both contiguous and at one address; each name once.
  /// Undeclared overlap is refused. compile() throws InvalidArgument for a name that is none of the
  /// graph's and Unsupported for a pair that the kernels do not allow.
  std::vector<InPlacePair> in_place;
  /// Source of the workspaces that the library keeps.
  Allocator allocator;
};

/// Compiles the graph, which may be dropped afterwards. Thread-safe; a later process finds plans
/// and code on disk.
///
///     static const fuse::Executable exe = fuse::compile(graph, {.strict = true});
///
/// Throws NoDevice for Executor::Gpu without a driver or device, InvalidArgument for options of
/// things that the graph does not have and for a graph without outputs, Unsupported for what the
/// target or executor cannot run, and Driver with the assembler's log.
FUSE_API Executable compile(const Graph &graph, const CompileOptions &options = {});

FUSE_END_NAMESPACE
