// The two graphs of a division.
#include "ir/build.h"
#include "ir/graph_verify.h"
#include "ir/op.h"
#include "partition/joint.h"

#include <algorithm>
#include <set>

namespace fuse {

namespace {

std::set<std::string> names_in_use(const GraphData &g) {
  std::set<std::string> names;
  for (NodeId id : g.inputs) names.insert(g.attr<InputAttr>(id).name);
  for (const auto &[id, name] : g.names) names.insert(name);
  for (const Output &o : g.outputs) names.insert(o.name);
  return names;
}

/// Copies nodes of a joint graph into a new one.
class PartBuilder {
 public:
  PartBuilder(const Joint &joint, std::string name)
      : from_(joint.graph),
        part_{Graph(name), std::vector<NodeId>(joint.graph.size(), kNoNode)},
        to_(part_.graph.data()) {
    to_.next_stream = from_.next_stream;
  }

  void add_input(NodeId id, const std::string &name) {
    take_symbols(id);
    bool is_scalar = from_.node(id).op == Op::Input && from_.attr<InputAttr>(id).is_scalar;
    part_.node_of[id] = build_input(to_, name, from_.dtype(id), from_.shape(id), is_scalar);
    taken_.insert(name);
  }

  void add_node(NodeId id) {
    std::vector<NodeId> operands;
    for (NodeId o : from_.operands(id)) operands.push_back(part_.node_of[o]);
    take_symbols(id);
    const Node &n = from_.node(id);
    NodeId copy = to_.add(n.op, n.dtype, from_.shape(id), operands, from_.any_attr(id));
    part_.node_of[id] = copy;
    auto name = from_.names.find(id);
    if (name != from_.names.end() && !taken_.contains(name->second))
      to_.names.try_emplace(copy, name->second);
    if (auto it = from_.locations.find(id); it != from_.locations.end())
      to_.locations.try_emplace(copy, it->second);
    if (auto it = from_.keep_marks.find(id); it != from_.keep_marks.end())
      to_.keep_marks.try_emplace(copy, it->second);
  }

  void add_output(NodeId id, const std::string &name) {
    fuse::add_output(to_, name, part_.node_of[id]);
  }

  Part finish() {
    verify(part_.graph);
    return std::move(part_);
  }

 private:
  void take_symbols(NodeId id) {
    take_symbols(from_.shape(id));
    if (from_.node(id).op == Op::Slice) take_symbols(from_.attr<SliceAttr>(id).start);
  }

  void take_symbols(const std::vector<Dim> &extents) {
    for (const Dim &d : extents)
      for (const Dim::Term &term : d.terms())
        for (const std::string &name : term.symbols) take_symbol(name);
  }

  void take_symbol(const std::string &name) {
    for (const Symbol &s : from_.symbols)
      if (s.name == name) add_symbol(to_, s.name, s.bounds);
  }

  const GraphData &from_;
  Part part_;
  GraphData &to_;
  std::set<std::string> taken_;  // by inputs
};

std::string input_name(const Joint &j, NodeId id) { return j.graph.attr<InputAttr>(id).name; }

/// What forward computes: its outputs, what is saved, and extern ops that only it can call.
std::vector<bool> forward_nodes(const Joint &j, const Division &d) {
  const GraphData &g = j.graph;
  std::vector<bool> needed(g.size());
  for (const Output &o : j.outputs) needed[o.node] = true;
  for (NodeId id : d.saved) needed[id] = true;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;) {
    bool is_called = g.node(id).op == Op::Extern && !j.backward[id] && !d.in_backward[id];
    if (is_called) needed[id] = true;
    if (needed[id])
      for (NodeId operand : g.operands(id)) needed[operand] = true;
  }
  return needed;
}

}  // namespace

std::vector<std::string> saved_names(const Joint &j, const Division &d) {
  std::set<std::string> used = names_in_use(j.graph);
  std::vector<std::string> names;
  for (NodeId id : d.saved) {
    auto output = std::find_if(j.outputs.begin(), j.outputs.end(),
                               [&](const Output &o) { return o.node == id; });
    auto own = j.graph.names.find(id);
    if (output != j.outputs.end()) {
      names.push_back(output->name);
      continue;
    }
    bool is_free = own != j.graph.names.end() &&
                   std::none_of(j.graph.outputs.begin(), j.graph.outputs.end(),
                                [&](const Output &o) { return o.name == own->second; });
    std::string operation(info(j.graph.node(id).op).text);
    std::string first = is_free ? own->second : operation + "_" + std::to_string(id), name = first;
    for (int n = 2; !is_free && !used.insert(name).second; ++n)
      name = first + "_" + std::to_string(n);
    names.push_back(name);
  }
  return names;
}

Part forward_part(const Joint &j, const Division &d) {
  PartBuilder builder(j, j.graph.name + "_forward");
  for (NodeId id : j.inputs) builder.add_input(id, input_name(j, id));
  std::vector<bool> nodes = forward_nodes(j, d);
  for (NodeId id = 0; id < j.graph.size(); ++id)
    if (nodes[id] && !j.is_input(id)) builder.add_node(id);
  for (const Output &o : j.outputs) builder.add_output(o.node, o.name);
  std::vector<std::string> names = saved_names(j, d);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!j.is_output(d.saved[i])) builder.add_output(d.saved[i], names[i]);
  return builder.finish();
}

Part backward_part(const Joint &j, const Division &d) {
  PartBuilder builder(j, j.graph.name + "_backward");
  for (NodeId id : d.inputs) builder.add_input(id, input_name(j, id));
  std::vector<std::string> names = saved_names(j, d);
  for (std::size_t i = 0; i < names.size(); ++i) builder.add_input(d.saved[i], names[i]);
  for (NodeId id : j.cotangents) builder.add_input(id, input_name(j, id));
  for (NodeId id = 0; id < j.graph.size(); ++id)
    if (d.in_backward[id]) builder.add_node(id);
  for (const Output &o : j.derivatives) builder.add_output(o.node, o.name);
  return builder.finish();
}

}  // namespace fuse
