// From a graph to an Executable.
#pragma once

#include <fuse/executable.h>
#include <fuse/graph.h>
#include <fuse/target.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// Further machines that Executable::prepare() and serialize() make code for; none of them need
  /// be there. The first one is `target` for Executor::None without one.
  std::vector<Target> targets;
  /// What runs the kernels.
  Executor executor = Executor::Auto;
  /// The GPU that gives the default target, and that compile() loads code on; LaunchOptions say
  /// where launches run.
  int device = 0;

  /// Round every 16-bit value to its dtype, also between operations of one kernel.
  bool strict = false;
  /// The bits of a row do not depend on how many rows there are, nor on which of them it is: rows
  /// are numbered by the axes outside those that a reduction folds (docs/numerics.md). Decisions
  /// then do not see these extents; explain() shows what that costs.
  bool batch_invariant = false;
  /// Try mappings near those of the rules on the device and keep the fastest, also on disk, for the
  /// first variant and those that launches ask for; explain() shows what was measured. Takes about
  /// a second for each kernel, and memory for its arguments. Results may then differ in their last
  /// bits from those without. Without effect where no GPU runs the kernels; compile() throws
  /// InvalidArgument together with batch_invariant, as times depend on the number of rows.
  bool tune = false;
  /// Never compile after compile() returns, but for prepare(): one variant with element accesses
  /// serves all sizes, strides and alignments, and another those of the class of expected_sizes, if
  /// these are given. For services that must not wait.
  bool no_recompile = false;
  /// Threads that make code at once, a kernel each; 0: as many as the machine runs.
  unsigned threads = 0;
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

struct DeserializeOptions {
  /// What runs the kernels. None takes any file and compiles nothing.
  Executor executor = Executor::Auto;
  /// The GPU that code is looked for and loaded on.
  int device = 0;
  /// The name of the machine whose code is taken, if several would do: by default that of the
  /// device, and the file's first for None.
  std::string target;
  /// Never compile: what the file holds serves the sizes that it was made for, others are refused.
  bool no_recompile = false;
  /// Source of the workspaces that the library keeps.
  Allocator allocator;
};

/// The Executable that Executable::serialize() made the bytes of, which are not needed afterwards.
/// No planner and no compiler runs; launches of further sizes compile as before, where neither the
/// options nor those of compile() have no_recompile set. A GPU's code is taken for its own name,
/// else for another machine of its compute capability that needs no more of it.
///
///     fuse::Executable exe = fuse::deserialize(bytes);
///
/// The code in the bytes is run as it is, so they must come from where programs may come from.
/// Throws Parse for bytes that are torn, damaged or no such file; Unsupported for a file of another
/// version of the library, and for one that has no code for the executor and device, naming what
/// it has; NoDevice for Executor::Gpu without a driver or device; Driver.
FUSE_API Executable deserialize(std::string_view bytes, const DeserializeOptions &options = {});

FUSE_END_NAMESPACE
