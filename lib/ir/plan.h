// Plan: which values share a kernel, which are stored, which are computed again, and why.
#pragma once

#include "ir/domain.h"

#include <fuse/report.h>

#include <string>
#include <vector>

namespace fuse {

/// A set of nodes that one kernel computes. A node may stand in several kernels: recomputed. Every
/// operand of a node is in `nodes` or in `reads`: views, constants, iota and random bits are nodes
/// of whoever uses them. What an output or an extern op needs is stored under its memory root, the
/// node below its reshapes; an input that is itself an output, and an extern result that several
/// outputs show, are read and stored by a kernel without nodes.
struct PlannedKernel {
  std::string name;
  std::vector<NodeId> nodes;   // ascending
  std::vector<NodeId> reads;   // inputs and stored values it loads, ascending
  std::vector<NodeId> stores;  // values it writes, ascending
  Domain domain;
  double seconds = 0;           // predicted
  std::string bound;            // the pipe that binds: "hbm", "mufu", "fma", ...
  double bytes = 0;             // of device memory, predicted
  double moved_bytes = 0;       // and what the L2 cache keeps of other kernels
  std::vector<PipeTime> pipes;  // each pipe alone
  double statements = 0;        // of the body, at most; not of a program that was read
};

/// Kernels and extern ops in an order that runs.
struct PlanStep {
  bool is_extern = false;
  std::size_t kernel = 0;  // into Plan::kernels
  NodeId extern_node = kNoNode;
};

struct Plan {
  std::vector<PlannedKernel> kernels;
  std::vector<PlanStep> steps;
  std::vector<Decision> decisions;
  PlanTotals unfused;  // each operation as a kernel of its own
  Bindings sizes;      // that predictions are for
};

/// "x" of an input, the name of a value, else the number of its node: how plans and reports show
/// it, behind a '%'.
std::string value_label(const GraphData &graph, NodeId id);

/// Text as in the design's appendix; for people and golden tests.
std::string to_string(const Plan &plan, const Graph &graph);

/// For Graphviz: a box for each kernel with what it computes, values in memory outside.
std::string to_dot(const Plan &plan, const Graph &graph);

/// Throws Error{Internal} on a plan that does not compute the graph: a value read before it is
/// stored, an output that nobody stores, a cycle through an extern op.
void verify(const Plan &plan, const Graph &graph);

}  // namespace fuse
