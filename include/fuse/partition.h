// Partition: a graph with its derivatives as two programs, forward and backward, and what forward
// saves for backward.
//
// A value that backward needs is written by forward and read back, or computed again from what
// backward reads anyway. Both are priced by the cost model in the kernels where they would run:
// bytes against the instructions that those kernels have room for. docs/partition.md says how.
//
//   Graph joint = vjp(g, {"x"}, {"y"});                 // y, d_x of x, d_y
//   Partition parts = partition(joint, {.target = Target::named("h200")});
//   Executable forward = compile(parts.forward, {.strict = true});   // x -> y, saved values
//   Executable backward = compile(parts.backward, {.strict = true});  // saved values, d_y -> d_x
//
// The rounding points of 16-bit values are those of the joint graph, which is widened before it is
// divided: `strict` keeps the programs to them.
#pragma once

#include <fuse/graph.h>
#include <fuse/report.h>
#include <fuse/target.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

FUSE_BEGIN_NAMESPACE

struct PartitionOptions {
  Target target = Target::named("h200");
  bool strict = false;      ///< divide the graph as it is: round every 16-bit value to its dtype
  Bindings expected_sizes;  ///< of symbols, for the cost model; 4,096 for those not named
  /// The most that may be kept in memory from forward to backward: what backward reads besides
  /// cotangents, inputs and outputs of forward included.
  std::optional<std::int64_t> budget_bytes;
  /// The values to save in the place of a search, by the names in PartitionPlan::saved; none: all
  /// is computed again but what may not be. With the names of a plan, its two graphs are made.
  std::optional<std::vector<std::string>> save;
  /// Inputs that only backward gets; empty: those named d_<output>, as vjp calls them.
  std::vector<std::string> cotangents;
  /// Outputs of backward; empty: those named d_<input or value>, as grad and vjp call them.
  std::vector<std::string> derivatives;
};

/// One of the two programs, as the planner would run it.
struct ProgramPrice {
  double predicted_us = 0;
  std::string bound;            ///< the pipe that binds its longest kernel: "hbm", "mufu", ...
  std::vector<PipeTime> pipes;  ///< of all kernels together, each pipe alone
  double hbm_bytes = 0;
  int passes = 0;  ///< reads and writes of values of as many elements as the largest
};

/// A way to divide the graph.
struct PartitionPlan {
  std::string name;                 ///< "store all", "outputs again", "recompute", "save s2", ...
  std::vector<std::string> saved;   ///< values that backward reads; outputs of forward included
  std::vector<std::string> inputs;  ///< of forward, that backward reads too
  ProgramPrice forward, backward;
  double predicted_us = 0;
  std::int64_t kept_bytes = 0;  ///< in memory from forward to backward
};

/// A value that backward could read, and what was decided.
struct SavedChoice {
  std::string value;
  std::int64_t bytes = 0;
  bool saved = false;
  double write_us = 0, read_us = 0;  ///< of saving it; what lies in memory is not written
  /// Instructions of computing it again, by pipe, and what backward then takes on that pipe.
  std::vector<PipeTime> recompute, backward;
  double gain_us = 0;  ///< by which both programs would be slower the other way
  std::string why;     ///< where the model had no choice: marks, extern operations
};

struct Partition {
  Graph forward, backward;
  /// Values that forward writes for backward, by the names of its outputs and backward's inputs;
  /// outputs of the graph itself that backward reads come with their own names.
  std::vector<std::string> saved;
  PartitionPlan chosen;
  std::vector<PartitionPlan> plans;     ///< the chosen one and others, from most memory to least
  std::vector<PartitionPlan> frontier;  ///< those that no other beats in both time and memory
  std::vector<SavedChoice> values;
  Target target;
  double tensor_bytes = 0;  ///< of the largest value that a kernel reads or writes
};

/// Divides a graph with derivatives, as grad and vjp give it. What the other outputs need is
/// computed by forward; what depends on cotangents, by backward; the rest by either. Without
/// cotangents backward computes what forward does not need. Results do not depend on what is saved,
/// in their types and rounding points.
/// Throws Error{InvalidArgument} for a graph without derivatives, for an output of forward that
/// depends on a cotangent, for names that the graph does not have, for values that cannot be saved,
/// and for a budget below the least that backward needs.
FUSE_API Partition partition(const Graph &joint, const PartitionOptions &options = {});

/// The plans, the values with their prices, and the frontier, as text.
FUSE_API std::string explain(const Partition &partition);

/// Marks x: backward computes it again, whatever the model says; also the result of an extern
/// operation, which is otherwise never called twice. Value::keep() marks the opposite. Text:
/// `recomputed` after the type. Plans of one program pay no attention to it. Throws
/// Error{InvalidArgument} for an input.
FUSE_API Value recompute(Value x, SourceLocation where = SourceLocation::current());

/// A checkpoint: marks all values between the inputs and the outputs, neither included. Backward
/// computes them again from values around them, extern operations among them too.
FUSE_API void checkpoint(const std::vector<Value> &outputs, const std::vector<Value> &inputs,
                         SourceLocation where = SourceLocation::current());

FUSE_END_NAMESPACE
