// Rules of users, and operations that need one.
#include "grad/rules.h"
#include "ir/format.h"

namespace fuse {

namespace {

/// The nodes of the rule over the given inputs, in the graph.
std::vector<NodeId> instantiate(const GraphData &rule, GraphData &g,
                                const std::vector<NodeId> &inputs) {
  std::vector<NodeId> map(rule.size(), kNoNode);
  for (std::size_t i = 0; i < inputs.size(); ++i) map[rule.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < rule.size(); ++id) {
    if (map[id] != kNoNode) continue;
    std::vector<NodeId> operands;
    for (NodeId o : rule.operands(id)) operands.push_back(map[o]);
    const Node &n = rule.node(id);
    map[id] = g.add(n.op, n.dtype, rule.shape(id), operands, rule.any_attr(id));
  }
  std::vector<NodeId> outputs;
  for (const Output &o : rule.outputs) outputs.push_back(map[o.node]);
  return outputs;
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
  std::vector<NodeId> outputs = instantiate(rule.data(), g, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) a.add(i + 1, g.value(outputs[i]));
}

}  // namespace fuse
