// Graph -> Graph: inputs and outputs by their names.
#include <fuse/grad.h>

#include "grad/names.h"
#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/suggest.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

using Names = std::vector<std::string>;

const Output *find_output(const GraphData &g, std::string_view name) {
  for (const Output &o : g.outputs)
    if (o.name == name) return &o;
  return nullptr;
}

NodeId find_input(const GraphData &g, std::string_view name) {
  for (NodeId id : g.inputs)
    if (g.attr<InputAttr>(id).name == name) return id;
  for (const auto &[id, own] : g.names)
    if (own == name) return id;
  return kNoNode;
}

using Known = std::vector<std::string_view>;

Known input_names(const GraphData &g) {
  Known names;
  for (NodeId id : g.inputs) names.push_back(g.attr<InputAttr>(id).name);
  return names;
}

Known output_names(const GraphData &g) {
  Known names;
  for (const Output &o : g.outputs) names.push_back(o.name);
  return names;
}

/// "x, w"; of many the first.
std::string list_of(const Known &names) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    list += (i > 0 ? ", " : "") + std::string(names[i]);
  return names.size() > kMost ? list + ", .." : list;
}

/// `nameable`: what a mistyped name may stand for; `listed`: what there is where none is near.
[[noreturn]] void fail_unknown(const GraphData &g, std::string_view role, const std::string &name,
                               const Known &nameable, const Known &listed) {
  if (name.empty()) fail(ErrorCode::InvalidArgument, "the name of an {} is empty", role);
  std::string hint = suggest(name, nameable);
  if (hint.empty() && !listed.empty()) hint = "; it has " + list_of(listed);
  fail(ErrorCode::InvalidArgument, "graph {} has no {} {}{}", g.name, role, name, hint);
}

Value input_of(GraphData &g, const std::string &name) {
  if (NodeId id = find_input(g, name); id != kNoNode) return g.value(id);
  Known inputs = input_names(g), nameable = inputs;
  for (const auto &[id, own] : g.names) nameable.push_back(own);
  fail_unknown(g, "input", name, nameable, inputs);
}

Value output_of(GraphData &g, const std::string &name) {
  if (const Output *o = find_output(g, name)) return g.value(o->node);
  Known outputs = output_names(g);
  fail_unknown(g, "output", name, outputs, outputs);
}

std::vector<Value> inputs_of(GraphData &g, const Names &names) {
  std::vector<Value> values;
  for (const std::string &name : names) values.push_back(input_of(g, name));
  return values;
}

/// d_<name>, or with a number where that is the name of something else.
std::string derivative_name(const GraphData &g, const std::string &name) {
  std::string first = "d_" + name, candidate = first;
  for (int n = 2; find_output(g, candidate) || find_input(g, candidate) != kNoNode; ++n)
    candidate = first + "_" + std::to_string(n);
  return candidate;
}

void add_outputs(GraphData &g, const Names &names, const std::vector<Value> &cotangents) {
  for (std::size_t i = 0; i < names.size(); ++i)
    add_output(g, derivative_name(g, names[i]), cotangents[i].index());
}

std::string only_output(const GraphData &g) {
  if (g.outputs.size() == 1) return g.outputs[0].name;
  fail(ErrorCode::InvalidArgument, "grad: graph {} has {} outputs, {}: name one of them", g.name,
       g.outputs.size(), list_of(output_names(g)));
}

}  // namespace

Graph grad(const Graph &graph, const Names &inputs, const std::string &output) {
  Graph result = graph.clone();
  GraphData &g = result.data();
  Value y = output_of(g, output.empty() ? only_output(g) : output);
  add_outputs(g, inputs, grad(y, inputs_of(g, inputs), SourceLocation{}));
  return result;
}

Graph vjp(const Graph &graph, const Names &inputs, const Names &outputs) {
  Graph result = graph.clone();
  GraphData &g = result.data();
  std::vector<Value> of = inputs_of(g, inputs), values, cotangents;
  for (const std::string &name : outputs) {
    Value y = output_of(g, name);
    values.push_back(y);
    cotangents.push_back(
        g.value(build_input(g, derivative_name(g, name), y.dtype(), y.shape(), false)));
  }
  add_outputs(g, inputs, vjp(values, cotangents, of, SourceLocation{}));
  return result;
}

FUSE_END_NAMESPACE

namespace fuse {

std::string name_of(const GraphData &g, NodeId id) {
  if (g.node(id).op == Op::Input) return g.attr<InputAttr>(id).name;
  if (auto it = g.names.find(id); it != g.names.end()) return it->second;
  for (const Output &o : g.outputs)
    if (o.node == id) return o.name;
  return "%" + std::to_string(id);
}

}  // namespace fuse
