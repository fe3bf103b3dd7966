// Splits a planned kernel by its stored values, or by its operations.
#include "passes/schedule/split_kernel.h"

#include "ir/op.h"

#include <algorithm>
#include <functional>
#include <set>

namespace fuse {

namespace {

using Predicate = std::function<bool(NodeId)>;

/// The members that a value needs, going back through those that the predicate lets pass.
PlannedKernel cone(const GraphData &g, NodeId store, const std::set<NodeId> &members,
                   const Predicate &passes) {
  std::set<NodeId> nodes, reads;
  std::vector<NodeId> pending;
  auto visit = [&](NodeId id, bool inside) {
    bool is_new = inside ? nodes.insert(id).second : reads.insert(id).second;
    if (inside && is_new) pending.push_back(id);
  };
  visit(store, members.count(store) > 0);
  while (!pending.empty()) {
    NodeId id = pending.back();
    pending.pop_back();
    for (NodeId operand : g.operands(id))
      visit(operand, members.count(operand) > 0 && passes(operand));
  }
  PlannedKernel kernel;
  kernel.nodes.assign(nodes.begin(), nodes.end());
  kernel.reads.assign(reads.begin(), reads.end());
  kernel.stores = {store};
  return kernel;
}

std::vector<PlannedKernel> by_store(const GraphData &g, const PlannedKernel &kernel,
                                    const std::set<NodeId> &members) {
  std::vector<PlannedKernel> pieces;
  for (NodeId store : kernel.stores)
    pieces.push_back(cone(g, store, members, [](NodeId) { return true; }));
  return pieces;
}

bool is_free(const GraphData &g, NodeId id) {
  OpKind kind = info(g.node(id).op).kind;
  return kind == OpKind::Leaf || (kind == OpKind::View && g.node(id).op != Op::Gather);
}

std::vector<PlannedKernel> by_operation(const GraphData &g, const PlannedKernel &kernel,
                                        const std::set<NodeId> &members) {
  std::vector<PlannedKernel> pieces;
  auto passes = [&](NodeId id) { return is_free(g, id); };
  for (NodeId id : kernel.nodes) {
    bool stored = std::binary_search(kernel.stores.begin(), kernel.stores.end(), id);
    if (stored || !is_free(g, id)) pieces.push_back(cone(g, id, members, passes));
  }
  return pieces;
}

}  // namespace

std::vector<PlannedKernel> split_kernel(const GraphData &graph, const PlannedKernel &kernel) {
  std::set<NodeId> members(kernel.nodes.begin(), kernel.nodes.end());
  std::vector<PlannedKernel> pieces = kernel.stores.size() > 1
                                          ? by_store(graph, kernel, members)
                                          : by_operation(graph, kernel, members);
  if (pieces.size() < 2) return {};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].name = kernel.name + "_" + std::to_string(i);
    pieces[i].bound = kernel.bound;
    pieces[i].seconds = kernel.seconds / static_cast<double>(pieces.size());
  }
  return pieces;
}

}  // namespace fuse
