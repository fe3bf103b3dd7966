// A smaller graph is described by what nodes turn into: other nodes, or inputs with their values.
#include "property/shrink.h"

#include "ir/build.h"
#include "property/execute.h"

#include <map>
#include <optional>

namespace fuse {

namespace {

struct Change {
  std::vector<NodeId> outputs;
  std::map<NodeId, NodeId> replace;  // by an earlier node of the same dtype and shape
  NodeId cut = kNoNode;              // becomes an input
};

std::vector<bool> reached(const GraphData &g, const Change &change) {
  std::vector<bool> needed(g.size(), false);
  auto target = [&](NodeId id) {
    auto it = change.replace.find(id);
    return it == change.replace.end() ? id : it->second;
  };
  for (NodeId id : change.outputs) needed[target(id)] = true;
  for (NodeId id = NodeId(g.size()); id-- > 0;) {
    if (!needed[id] || id == change.cut) continue;
    for (NodeId operand : g.operands(id)) needed[target(operand)] = true;
  }
  return needed;
}

/// The graph without what the change makes unneeded.
RandomGraph apply(const RandomGraph &from, const Change &change) {
  const GraphData &g = from.graph.data();
  std::vector<bool> needed = reached(g, change);
  std::vector<Tensor> values;
  if (change.cut != kNoNode) values = execute(g, from.inputs, from.symbols);
  RandomGraph to{Graph(g.name), from.symbols, {}};
  for (const Symbol &s : g.symbols) to.graph.dim(s.name, s.bounds);
  std::vector<NodeId> map(g.size(), kNoNode);
  std::size_t input = 0;
  auto add_input = [&](const std::string &name, NodeId id, bool is_scalar, const Tensor &value) {
    to.inputs.push_back(value);
    return build_input(to.graph.data(), name, g.dtype(id), g.shape(id), is_scalar);
  };
  for (NodeId id = 0; id < g.size(); ++id) {
    bool is_input = g.node(id).op == Op::Input;
    std::size_t number = is_input ? input++ : 0;
    if (auto it = change.replace.find(id); it != change.replace.end()) {
      map[id] = map[it->second];
    } else if (!needed[id]) {
      continue;
    } else if (id == change.cut) {
      map[id] = add_input("cut" + std::to_string(id), id, false, values[id]);
    } else if (is_input) {
      const auto &attr = g.attr<InputAttr>(id);
      map[id] = add_input(attr.name, id, attr.is_scalar, from.inputs[number]);
    } else {
      std::vector<NodeId> operands;
      for (NodeId operand : g.operands(id)) operands.push_back(map[operand]);
      map[id] =
          to.graph.data().add(g.node(id).op, g.dtype(id), g.shape(id), operands, g.any_attr(id));
    }
  }
  for (std::size_t i = 0; i < change.outputs.size(); ++i)
    add_output(to.graph.data(), "y" + std::to_string(i), map[change.outputs[i]]);
  return to;
}

std::vector<NodeId> output_nodes(const GraphData &g) {
  std::vector<NodeId> nodes;
  for (const Output &o : g.outputs) nodes.push_back(o.node);
  return nodes;
}

/// All single steps to a smaller graph, the boldest first.
std::vector<Change> changes(const GraphData &g) {
  std::vector<Change> all;
  std::vector<NodeId> outputs = output_nodes(g);
  for (NodeId id : outputs)
    if (outputs.size() > 1) all.push_back({{id}, {}, kNoNode});
  for (std::size_t i = 0; outputs.size() > 2 && i < outputs.size(); ++i) {
    std::vector<NodeId> others = outputs;
    others.erase(others.begin() + std::ptrdiff_t(i));
    all.push_back({others, {}, kNoNode});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (NodeId operand : g.operands(outputs[i])) {
      std::vector<NodeId> earlier = outputs;
      earlier[i] = operand;
      all.push_back({earlier, {}, kNoNode});
    }
  for (NodeId id = NodeId(g.size()); id-- > 0;) {
    for (NodeId operand : g.operands(id))
      if (g.dtype(operand) == g.dtype(id) && g.shape(operand) == g.shape(id))
        all.push_back({outputs, {{id, operand}}, kNoNode});
    bool is_leaf = g.node(id).op == Op::Input || g.node(id).op == Op::Constant;
    if (!is_leaf) all.push_back({outputs, {}, id});
  }
  return all;
}

std::optional<RandomGraph> smaller(const RandomGraph &random, const Property &property) {
  const GraphData &g = random.graph.data();
  for (const Change &change : changes(g)) {
    try {
      RandomGraph candidate = apply(random, change);
      if (candidate.graph.data().size() <= g.size() && !(candidate.graph == random.graph) &&
          !property(candidate).empty())
        return candidate;
    } catch (const Error &) {
      continue;  // the change broke a rule of the graph: try another
    }
  }
  return std::nullopt;
}

}  // namespace

RandomGraph shrink(RandomGraph random, const Property &property) {
  constexpr int kSteps = 60;
  for (int step = 0; step < kSteps; ++step) {
    std::optional<RandomGraph> next = smaller(random, property);
    if (!next) break;
    random = std::move(*next);
  }
  return random;
}

std::string reproducer(const RandomGraph &random) {
  std::string text;
  for (const auto &[name, value] : random.symbols)
    text += "// " + name + " = " + std::to_string(value) + "\n";
  return text + to_string(random.graph);
}

std::string check(const RandomGraph &random, const Property &property) {
  if (property(random).empty()) return "";
  RandomGraph small = shrink({random.graph.clone(), random.symbols, random.inputs}, property);
  return property(small) + "\n" + reproducer(small);
}

}  // namespace fuse
