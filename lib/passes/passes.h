// Every pass: one paragraph, one signature. A pass is pure and total on verified input.
#pragma once

#include "ir/plan.h"
#include "ir/program.h"
#include "passes/tuning.h"

#include <fuse/target.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace fuse {

/// What is known of one argument when a program is compiled: its size class.
struct ArgumentClass {
  bool strided = false;
  int alignment = 16;     // bytes
  bool has_rows = false;  // strided: elements of the last axis are neighbours
  bool shifted = false;   // as many elements from a 16-byte boundary as all others of these

  friend bool operator==(const ArgumentClass &, const ArgumentClass &) = default;
};

struct LowerOptions {
  bool strict = false;  // neither widen nor relax: every 16-bit node is rounded
  // Decisions do not see how many rows there are, nor layouts where a row lies among them.
  bool batch_invariant = false;
  std::vector<ArgumentClass> inputs, outputs;  // missing entries: contiguous, 16-byte aligned
  Bindings sizes;  // expected sizes of symbols: for the cost model, and the tiers of rows
  // Of symbols, and strides "<name>.stride<axis>", that the program may be made for; of others it
  // knows the divisors that the graph declares.
  Bindings divisors;
  bool narrow_offsets = false;  // offsets have 32 bits as long as sizes allow it
  Bindings fixed;               // sizes that stand for their symbols as literals
  PlanOverrides overrides;
  /// Inputs and outputs, by position, that will be one memory.
  std::vector<std::pair<std::size_t, std::size_t>> in_place;
  Tunings tunings;
};

/// A text, or a graph, with sizes in the place of symbols.
std::string with_sizes(std::string_view text, const Bindings &sizes);
Graph fix_sizes(const Graph &graph, const Bindings &sizes);

/// What stop_gradient and custom_gradient are the values of takes their place: plans have no use
/// for them, which only grad and vjp read. Every other pass leaves them as they are.
Graph forget_gradients(const Graph &graph);

/// Keeps what outputs and extern ops reach.
Graph eliminate_dead(const Graph &graph);

/// Evaluates nodes whose operands are all constants; results stay small.
Graph fold_constants(const Graph &graph);

/// Algebra that is exact for IEEE arithmetic: x*1, x-0, --x, casts that lose nothing, views of
/// views, select on a constant, integer identities. Each rule goes downhill; no rule applies to the
/// result.
Graph simplify(const Graph &graph);

/// Keeps f32 along single-use chains of 16-bit arithmetic; the rounding points are listed in
/// docs/numerics.md. Runs once, before any cut, so results do not depend on what was fused.
Graph widen(const Graph &graph);

/// Identities of real numbers that save work, where a 16-bit rounding that follows leaves room for
/// the difference: 1 + tanh(u) becomes 2 * sigmoid(2u), or sigmoid(u) half of 1 + tanh(u/2). After
/// widen.
Graph relax(const Graph &graph);

/// Partitions the graph into kernels by predicted time.
Plan plan(const Graph &graph, const Target &target, const LowerOptions &options);

/// What the graph costs with one kernel for each operation. Of the strict canonical graph that is
/// what a framework without fusion does.
PlanTotals unfused_totals(const Graph &graph, const Target &target, const LowerOptions &options);

/// Lays the planned kernels on the machine: layouts, residency, offsets, workspace. Small kernels
/// of one body that do not wait for one another become instances of one.
Program schedule(const Graph &graph, const Plan &plan, const Target &target,
                 const LowerOptions &options);

/// A graph pass by its name in passes.def.
struct GraphPass {
  std::string_view name;
  Graph (*run)(const Graph &graph);
  std::string_view doc;
};
std::span<const GraphPass> graph_passes();

/// What is known of a pass that ran.
struct PassReport {
  std::string_view name;
  double seconds = 0;
  bool changed = false;
  const Graph &after;
};
using PassListener = std::function<void(const PassReport &report)>;

/// Runs the named passes in order: times each, verifies what it gives, and tells the listener and,
/// where FUSE_TIME and FUSE_DUMP ask for it, the log. Skips what FUSE_DISABLE names. Throws
/// Error{InvalidArgument} for a name that is no pass.
Graph run_passes(const Graph &graph, std::span<const std::string_view> names,
                 const PassListener &listener = {});

/// What every graph goes through before it is planned: the canonical form; unless strict, in f32
/// along chains of 16-bit arithmetic, and relaxed.
Graph canonicalize(const Graph &graph, bool strict = false, const PassListener &listener = {});

/// The part of it that strict leaves out, on the strict canonical graph.
Graph loosen(const Graph &canonical, const PassListener &listener = {});

struct PlannedGraph {
  Graph graph;  // canonical: what the plan speaks of
  Plan plan;
};

/// The first half of the road: canonicalise, widen and relax unless strict, plan.
PlannedGraph plan_graph(const Graph &graph, const Target &target, const LowerOptions &options,
                        const PassListener &listener = {});

struct LoweredGraph {
  Graph graph;  // canonical
  Program program;
};

/// The whole road: plan_graph, schedule.
LoweredGraph lower_graph(const Graph &graph, const Target &target, const LowerOptions &options,
                         const PassListener &listener = {});
Program lower(const Graph &graph, const Target &target, const LowerOptions &options);

}  // namespace fuse
