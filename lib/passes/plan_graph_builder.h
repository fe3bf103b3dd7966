// Builds the value graph: one forward loop that turns views into index maps and unifies axes.
//
// Axes hold atoms that may still be joined or cut; domains are interned once all nodes are in.
#pragma once

#include "passes/plan_graph.h"
#include "passes/size_class.h"
#include "passes/tolerance.h"

#include <map>

namespace fuse {

/// How a node's elements are found from the value that they come from.
struct ValueMap {
  PlanId from = kNoPlan;  // kNoPlan: constants, iota and random bits
  std::vector<AtomList> axes;
  AtomList changed;       // atoms of `from` that are indexed otherwise than by `axes`
  AtomList along;         // the axis, or a part of it, that neighbours in `from` lie along
  double stride = 1;      // elements skipped along the innermost axis
  NodeId seed = kNoNode;  // of random bits
};

class PlanGraphBuilder {
 public:
  PlanGraphBuilder(const GraphData &graph, const LowerOptions &options)
      : g_(graph),
        sizes_(expected_sizes(graph.symbols, options.sizes)),
        live_(live_nodes(graph)),
        in_memory_(nodes_in_memory(graph, live_)),
        approximable_(approximable(graph)),
        reduced_(graph.size()),
        maps_(graph.size()) {
    p_.value_of.assign(graph.size(), kNoPlan);
    p_.num_symbols = graph.symbols.size();
  }

  PlanGraph build() {
    for (NodeId id = 0; id < g_.size(); ++id)
      if (live_[id]) add_node(id);
    add_copies();
    count_tensors();
    intern_domains();
    link_users();
    return std::move(p_);
  }

 private:
  struct Pending {  // what becomes of atoms once all are unified
    AtomList domain, folded;
    std::vector<AtomList> axes, operand;
    std::vector<AtomList> changed;  // by edge
    std::vector<AtomList> along;    // likewise
  };

  void add_node(NodeId id);
  void add_value(NodeId id, ValueKind kind, std::vector<AtomList> axes, AtomList folded = {});
  void add_edge(PlanId user, NodeId operand, const AtomList &changed, bool guarded = false);
  void add_copies();
  void add_random(NodeId id);

  ValueMap map_view(NodeId id);
  ValueMap map_reshape(NodeId id);
  void map_slice(NodeId id, ValueMap &map);
  void change_axis(ValueMap &map, std::size_t axis, const Dim &extent);

  std::vector<AtomList> join_operands(NodeId id);
  void add_pointwise(NodeId id);
  void add_pad_or_concat(NodeId id);
  void add_gather(NodeId id);
  void add_reduction(NodeId id);
  void add_scan(NodeId id);
  bool depends_on_reduction(NodeId id) const { return id != kNoNode && reduced_[id]; }

  std::vector<AtomList> fresh_axes(const Shape &shape);
  AtomList fresh_axis(const Dim &extent) {
    return extent == Dim(1) ? AtomList{} : AtomList{atoms_.fresh(extent)};
  }
  AtomList along_user(const Pending &user, const ValueMap &map, const AtomList &changed) const;
  AtomId innermost(const AtomList &atoms) const;
  AtomList flat(const std::vector<AtomList> &axes) const;
  double count(const Shape &shape) const;
  void intern_domains();
  DomainId intern(const AtomList &atoms);
  std::vector<AtomList> settled(const std::vector<AtomList> &axes) const;
  void link_users();
  void count_tensors();

  const GraphData &g_;
  Bindings sizes_;
  std::vector<bool> live_, in_memory_;
  std::vector<bool> approximable_;
  std::vector<bool> reduced_;   // by node: it depends on a reduction or scan, or is one
  std::vector<ValueMap> maps_;  // by node
  DimAtoms atoms_;
  std::vector<Pending> pending_;  // by value
  std::map<AtomList, DomainId> domain_ids_;
  std::vector<AtomList> extra_changed_;  // by operand of the node at hand: axes not unified
  PlanGraph p_;
};

/// Statements that the scheduler emits for a node at one position, at most: of the node itself and
/// of the constants, iotas and random bits that it reads.
double max_statements(const GraphData &graph, NodeId id);

/// Likewise, that are the same for all elements of a row.
double max_fixed_statements(Op op);

/// Whether operand i of a Pad or Concat lies in its result under a guard: on some axis that is cut,
/// it has more than one position.
bool is_guarded_part(const GraphData &graph, NodeId id, std::size_t i);

}  // namespace fuse
