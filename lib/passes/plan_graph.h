// The value graph that the planner partitions.
//
// Its values are what a kernel may have to compute or load: inputs, results of extern ops,
// pointwise operations (gather, pad and concat among them), reductions and scans. Broadcast,
// reshape, transpose, slice and flip are index maps on the edges between values, unless their
// result itself must lie in memory. Constants, iota and random bits are part of whoever uses them.
// A value's domain is the set of atoms that it iterates over, after unification.
#pragma once

#include "ir/graph_data.h"
#include "passes/cost.h"
#include "passes/passes.h"
#include "passes/plan_dims.h"

#include <span>

namespace fuse {

using PlanId = std::uint32_t;  // into PlanGraph::values; operands precede users
using DomainId = std::uint32_t;
inline constexpr std::uint32_t kNoPlan = UINT32_MAX;

enum class ValueKind : std::uint8_t { Input, Extern, Pointwise, Reduction, Scan };

/// One operand of a value.
struct PlanEdge {
  PlanId from = kNoPlan;
  NodeId view = kNoNode;  // the node that the user names: names the index map
  DomainId changed = 0;   // atoms of `from` that the index map replaces; 0: none
  bool guarded = false;   // read at some of the user's positions only
  double bytes = 0;       // of `from` that the user reads
  double elements = 0;    // of the view
};

struct PlanValue {
  NodeId node = kNoNode;
  ValueKind kind = ValueKind::Pointwise;
  bool must_store = false;  // an output, an operand of an extern op, or marked to be kept
  bool inner = false;       // Reduction: folds the innermost axis of its operand; Scan: likewise
  bool is_copy = false;     // of an input or an extern result to outputs
  bool recompute = false;   // its readers shall compute it, whatever that costs
  DomainId domain = 0;      // iterated over; a reduction's includes what it folds
  DomainId folded = 0;      // Reduction: the atoms folded; Scan: those of its axis
  PlanId max = kNoPlan;     // Reduction: the maximum that this sum may be folded together with
  std::uint32_t axis = 0;   // Scan
  bool reverse = false;     // Scan
  double elements = 0;      // iterations
  double bytes = 0;         // of the result
  OpCost cost;              // per iteration
  std::uint32_t functions = 0;  // long ones
  double statements = 1;        // at most, that the scheduler emits for each index map
  double fixed = 0;             // likewise, beside those: for no element of a row
  double tensors = 1;           // outputs that show it, 1 where none does
  std::uint32_t first_edge = 0, num_edges = 0;
  std::uint32_t first_user = 0, num_users = 0;
};

/// A set of atoms, ascending, and the number of positions it spans. Domain 0 is empty.
struct AtomSet {
  AtomList atoms;
  double size = 1;
  std::uint64_t sketch = 0;  // a bit for each atom, which others may share
};

struct PlanGraph {
  std::vector<PlanValue> values;
  std::vector<std::vector<AtomList>> axes;     // by value: atoms of each axis of the result
  std::vector<std::vector<AtomList>> operand;  // Reduction: those of its operand
  std::vector<Dim> extents;                    // by atom
  std::vector<double> lengths;                 // likewise, for the sizes at hand
  std::vector<PlanEdge> edge_pool;
  std::vector<AtomId> along_pool;  // by edge: see along()
  std::vector<PlanId> user_pool;
  std::vector<AtomSet> domains;
  std::vector<PlanId> value_of;            // by node; kNoPlan for views, constants and dead nodes
  std::vector<std::vector<PlanId>> apart;  // one kernel computes one value of a set at most
  std::size_t num_symbols = 0;

  std::span<const PlanEdge> edges(PlanId v) const {
    return {edge_pool.data() + values[v].first_edge, values[v].num_edges};
  }
  /// The atom of the user that neighbours in the edge's operand lie along; kNoAtom: not known.
  AtomId along(const PlanEdge &e) const {
    return along_pool[static_cast<std::size_t>(&e - edge_pool.data())];
  }
  /// Distinct users, ascending.
  std::span<const PlanId> users(PlanId v) const {
    return {user_pool.data() + values[v].first_user, values[v].num_users};
  }
  bool is_computed(PlanId v) const {
    return values[v].kind != ValueKind::Input && values[v].kind != ValueKind::Extern;
  }
  bool is_subset(DomainId a, DomainId b) const {
    if (a == b || a == 0) return true;
    return (domains[a].sketch & ~domains[b].sketch) == 0 && holds_all(b, a);
  }
  bool intersects(DomainId a, DomainId b) const {
    return (domains[a].sketch & domains[b].sketch) != 0 && holds_any(b, a);
  }
  bool holds_all(DomainId domain, DomainId atoms) const;
  bool holds_any(DomainId domain, DomainId atoms) const;
};

PlanGraph build_plan_graph(const GraphData &graph, const LowerOptions &options);

/// The node whose memory holds the elements of `node` in the same order: reshapes left out.
NodeId memory_root(const GraphData &graph, NodeId node);

/// Nodes whose elements must lie in memory: memory roots of outputs and of operands of extern ops,
/// and marked nodes; dead nodes demand nothing.
std::vector<bool> nodes_in_memory(const GraphData &graph, const std::vector<bool> &live);

/// Nodes that outputs reach.
std::vector<bool> live_nodes(const GraphData &graph);

}  // namespace fuse
