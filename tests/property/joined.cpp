// Nodes are copied one after another; only inputs are told apart.
#include "property/joined.h"

#include "ir/graph_data.h"

namespace fuse {

namespace {

void append(GraphData &to, const GraphData &from, const std::string &suffix) {
  std::vector<NodeId> map;
  for (NodeId id = 0; id < from.size(); ++id) {
    Attr attr = from.any_attr(id);
    if (auto *input = std::get_if<InputAttr>(&attr)) input->name += suffix;
    std::vector<NodeId> operands;
    for (NodeId operand : from.operands(id)) operands.push_back(map[operand]);
    const Node &n = from.node(id);
    map.push_back(to.add(n.op, n.dtype, from.shape(id), operands, std::move(attr)));
  }
  for (NodeId id : from.inputs) to.inputs.push_back(map[id]);
  for (const Output &o : from.outputs) to.outputs.push_back({o.name + suffix, map[o.node]});
}

}  // namespace

RandomGraph joined(std::span<const RandomGraph> graphs) {
  RandomGraph all{Graph("joined"), graphs[0].symbols, {}};
  all.graph.data().symbols = graphs[0].graph.data().symbols;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    append(all.graph.data(), graphs[i].graph.data(), "_" + std::to_string(i));
    all.inputs.insert(all.inputs.end(), graphs[i].inputs.begin(), graphs[i].inputs.end());
  }
  return all;
}

}  // namespace fuse
