// What passes share: copying nodes and carrying side tables over.
#include "passes/rewriter.h"

#include "ir/format.h"

namespace fuse {

Rewriter::Rewriter(const Graph &graph)
    : from_(graph.data()), to_(graph.name()), map_(graph.data().size(), kNoNode) {
  to().symbols = from_.symbols;
}

std::vector<NodeId> Rewriter::operands(NodeId old_id) const {
  std::vector<NodeId> ids;
  for (NodeId o : from_.operands(old_id)) {
    FUSE_CHECK(map_[o] != kNoNode, "operand %{} of %{} was not visited", o, old_id);
    ids.push_back(map_[o]);
  }
  return ids;
}

NodeId Rewriter::copy(NodeId old_id) {
  const Node &n = from_.node(old_id);
  return to().add(n.op, n.dtype, from_.shape(old_id), operands(old_id), from_.any_attr(old_id));
}

void Rewriter::set(NodeId old_id, NodeId new_id) {
  map_[old_id] = new_id;
  if (to().node(new_id).op == Op::Input) return;
  auto carry = [&](const auto &from, auto &to) {  // nearly always to the end
    if (auto it = from.find(old_id); it != from.end()) to.try_emplace(to.end(), new_id, it->second);
  };
  carry(from_.names, to().names);
  carry(from_.locations, to().locations);
  carry(from_.keep_marks, to().keep_marks);
}

Graph Rewriter::finish() {
  for (NodeId id : from_.inputs) to().inputs.push_back(map_[id]);
  for (const Output &o : from_.outputs) to().outputs.push_back({o.name, map_[o.node]});
  return std::move(to_);
}

std::vector<std::uint32_t> count_uses(const GraphData &graph) {
  std::vector<std::uint32_t> uses(graph.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id)
    for (NodeId o : graph.operands(id)) ++uses[o];
  for (const Output &o : graph.outputs) ++uses[o.node];
  return uses;
}

}  // namespace fuse
