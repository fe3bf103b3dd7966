// Rules of users, and operations that need one.
#include "grad/rules.h"
#include "ir/format.h"

namespace fuse {

namespace {

bool is_result_of_live(const GraphData &rule, NodeId id, const std::vector<bool> &live) {
  return rule.node(id).op == Op::ExternResult && live[rule.operand(id, 0)];
}

/// Nodes that the wanted outputs read; of an extern operation all results, which follow it.
std::vector<bool> live_nodes(const GraphData &rule, const std::vector<bool> &is_wanted) {
  std::vector<bool> live(rule.size());
  for (std::size_t i = 0; i < is_wanted.size(); ++i)
    if (is_wanted[i]) live[rule.outputs[i].node] = true;
  for (auto id = static_cast<NodeId>(rule.size()); id-- > 0;)
    if (live[id])
      for (NodeId o : rule.operands(id)) live[o] = true;
  for (NodeId id = 0; id < rule.size(); ++id)
    if (is_result_of_live(rule, id, live)) live[id] = true;
  return live;
}

/// What the live nodes of the rule are in the graph, over the given inputs.
std::vector<NodeId> instantiate(const GraphData &rule, GraphData &g,
                                const std::vector<NodeId> &inputs, const std::vector<bool> &live) {
  std::vector<NodeId> map(rule.size(), kNoNode);
  for (std::size_t i = 0; i < inputs.size(); ++i) map[rule.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < rule.size(); ++id) {
    if (map[id] != kNoNode || !live[id]) continue;
    std::vector<NodeId> operands;
    for (NodeId o : rule.operands(id)) operands.push_back(map[o]);
    const Node &n = rule.node(id);
    map[id] = g.add(n.op, n.dtype, rule.shape(id), operands, rule.any_attr(id));
  }
  return map;
}

}  // namespace

void extern_rule(Adjoint &a) {
  GraphData &g = a.graph();
  NodeId owner = g.node(a.node()).op == Op::Extern ? a.node() : g.operand(a.node(), 0);
  fail(ErrorCode::InvalidArgument,
       "extern \"{}\" has no gradient: give it one with custom_gradient, or stop_gradient",
       g.attr<ExternAttr>(owner).name);
}

void custom_gradient_rule(Adjoint &a) {
  GraphData &g = a.graph();
  Graph rule = parse(a.attr<RuleAttr>().graph, "rule");
  std::vector<NodeId> inputs = {cast(a.cotangent(), g.dtype(a.node())).index()};
  for (std::size_t i = 1; i < a.num_operands(); ++i) inputs.push_back(a.operand(i).index());
  std::vector<bool> is_wanted;
  for (std::size_t i = 0; i < rule.data().outputs.size(); ++i) is_wanted.push_back(a.wants(i + 1));
  std::vector<bool> live = live_nodes(rule.data(), is_wanted);
  std::vector<NodeId> map = instantiate(rule.data(), g, inputs, live);
  for (std::size_t i = 0; i < is_wanted.size(); ++i)
    if (is_wanted[i]) a.add(i + 1, g.value(map[rule.data().outputs[i].node]));
}

}  // namespace fuse
