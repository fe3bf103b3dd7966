// Keeps the nodes that outputs and extern ops reach, and every input. Order stays as it was.
#include "ir/op.h"
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace fuse {

namespace {

/// One backward loop: operands precede users, so a node's users are all known before it.
std::vector<bool> reachable(const GraphData &g) {
  std::vector<bool> live(g.size(), false);
  for (const Output &o : g.outputs) live[o.node] = true;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;) {
    Op op = g.node(id).op;
    if (op == Op::Input || info(op).kind == OpKind::Extern) live[id] = true;
    if (!live[id]) continue;
    for (NodeId o : g.operands(id)) live[o] = true;
  }
  return live;
}

}  // namespace

Graph eliminate_dead(const Graph &graph) {
  Rewriter r(graph);
  std::vector<bool> live = reachable(r.from());
  for (NodeId id = 0; id < r.from().size(); ++id)
    if (live[id]) r.set(id, r.copy(id));
  return r.finish();
}

}  // namespace fuse
