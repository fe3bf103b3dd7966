// Which part of a joint graph each value belongs to.
#include "partition/joint.h"

#include "ir/format.h"
#include "ir/op.h"
#include "ir/suggest.h"
#include "passes/size_class.h"

#include <algorithm>

namespace fuse {

namespace {

using Names = std::vector<std::string>;

/// "d_x", or "d_x_2" where that was taken.
bool is_derivative_of(const std::string &name, const std::string &of) {
  std::string first = "d_" + of;
  if (!name.starts_with(first)) return false;
  std::string rest = name.substr(first.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '_' &&
                          rest.find_first_not_of("0123456789", 1) == rest.npos);
}

bool is_derivative_of(const std::string &name, const Names &of) {
  return std::any_of(of.begin(), of.end(),
                     [&](const std::string &o) { return is_derivative_of(name, o); });
}

Names output_names(const GraphData &g) {
  Names names;
  for (const Output &o : g.outputs) names.push_back(o.name);
  return names;
}

Names input_names(const GraphData &g) {
  Names names;
  for (NodeId id : g.inputs) names.push_back(g.attr<InputAttr>(id).name);
  return names;
}

void require_known(const GraphData &g, const Names &asked, const Names &known, const char *what) {
  for (const std::string &name : asked)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(ErrorCode::InvalidArgument, "partition: graph {} has no {} {}{}", g.name, what, name,
           suggest(name, {known.begin(), known.end()}));
}

Names cotangents_of(const GraphData &g, const PartitionOptions &options) {
  require_known(g, options.cotangents, input_names(g), "input");
  if (!options.cotangents.empty()) return options.cotangents;
  Names found, outputs = output_names(g);
  for (const std::string &name : input_names(g))
    if (is_derivative_of(name, outputs)) found.push_back(name);
  return found;
}

Names derivatives_of(const GraphData &g, const PartitionOptions &options) {
  require_known(g, options.derivatives, output_names(g), "output");
  if (!options.derivatives.empty()) return options.derivatives;
  Names found, values = input_names(g);
  for (const auto &[id, name] : g.names) values.push_back(name);
  for (const Output &o : g.outputs)
    if (is_derivative_of(o.name, values)) found.push_back(o.name);
  if (found.empty())
    fail(ErrorCode::InvalidArgument,
         "partition: graph {} has no outputs named d_<input>: make them with grad or vjp, or name "
         "those of backward in PartitionOptions::derivatives",
         g.name);
  return found;
}

bool has(const Names &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What these need, by node.
std::vector<bool> needed_by(const GraphData &g, const std::vector<Output> &outputs) {
  std::vector<bool> needed(g.size());
  for (const Output &o : outputs) needed[o.node] = true;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;)
    if (needed[id])
      for (NodeId operand : g.operands(id)) needed[operand] = true;
  return needed;
}

std::vector<bool> depending_on(const GraphData &g, const std::vector<NodeId> &inputs) {
  std::vector<bool> depends(g.size());
  for (NodeId id : inputs) depends[id] = true;
  for (NodeId id = 0; id < g.size(); ++id)
    for (NodeId operand : g.operands(id))
      if (depends[operand]) depends[id] = true;
  return depends;
}

/// Not what stands for other values: views show elements, constants have none, and a conversion to
/// a wider dtype says nothing new.
bool may_lie_in_memory(const GraphData &g, NodeId id) {
  Op op = g.node(id).op;
  OpKind kind = info(op).kind;
  if (kind == OpKind::Leaf) return false;
  if (kind == OpKind::Convert) return size_of(g.dtype(id)) <= size_of(g.dtype(g.operand(id, 0)));
  return kind != OpKind::View || op == Op::Gather || op == Op::Slice;
}

/// Nodes that are marked to be computed again: a mark on a conversion is one on what it converts,
/// and one on a result of an extern operation is one on all of it.
std::vector<bool> repeated_nodes(const GraphData &g) {
  std::vector<bool> marked(g.size());
  for (const auto &[id, keep] : g.keep_marks)
    if (!keep) marked[id] = true;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;) {
    Op op = g.node(id).op;
    bool passes_on = info(op).kind == OpKind::Convert || op == Op::ExternResult;
    if (marked[id] && passes_on) marked[g.operand(id, 0)] = true;
    if (op == Op::ExternResult && marked[g.operand(id, 0)]) marked[id] = true;
  }
  return marked;
}

/// What only derivatives want of marked values: saving it instead would evade the mark.
void extend_to_derivatives(const Joint &j, std::vector<bool> &repeated) {
  for (NodeId id = 0; id < j.graph.size(); ++id) {
    if (j.forward[id] || j.backward[id] || is_extern(j.graph.node(id).op)) continue;
    for (NodeId operand : j.graph.operands(id))
      if (repeated[operand]) repeated[id] = true;
  }
}

void read_marks(Joint &j) {
  const GraphData &g = j.graph;
  std::vector<bool> repeated = repeated_nodes(g);
  extend_to_derivatives(j, repeated);
  j.kept.resize(g.size());
  for (const auto &[id, keep] : g.keep_marks) j.kept[id] = keep;
  j.may_save.resize(g.size());
  j.may_repeat.resize(g.size());
  for (NodeId id = 0; id < g.size(); ++id) {
    Op op = g.node(id).op;
    j.may_repeat[id] = op != Op::Input && (!is_extern(op) || repeated[id]) && !j.kept[id];
    j.may_save[id] = !j.backward[id] && op != Op::Input &&
                     (j.kept[id] || (may_lie_in_memory(g, id) && !repeated[id]));
  }
}

void measure(Joint &j) {
  for (NodeId id = 0; id < j.graph.size(); ++id) {
    double elements = 1;
    for (const Dim &d : j.graph.shape(id)) elements *= static_cast<double>(d.evaluate(j.sizes));
    j.elements.push_back(elements);
    j.bytes.push_back(elements * size_of(j.graph.dtype(id)));
  }
}

void check_forward(const Joint &j) {
  for (const Output &o : j.outputs)
    if (j.backward[o.node])
      fail(ErrorCode::InvalidArgument,
           "partition: output {} depends on a cotangent: name it in PartitionOptions::derivatives",
           o.name);
}

void find_backward(Joint &j) {
  const GraphData &g = j.graph;
  if (!j.cotangents.empty()) {
    j.backward = depending_on(g, j.cotangents);
    return;
  }
  // Without cotangents: what derivatives need beyond forward. What needs no operands is of both.
  std::vector<bool> needed = needed_by(g, j.derivatives);
  j.backward.resize(g.size());
  for (NodeId id = 0; id < g.size(); ++id)
    j.backward[id] = needed[id] && !j.forward[id] && info(g.node(id).op).kind != OpKind::Leaf;
}

}  // namespace

bool Joint::is_output(NodeId id) const {
  return std::any_of(outputs.begin(), outputs.end(), [&](const Output &o) { return o.node == id; });
}

Joint read_joint(const Graph &canonical, const PartitionOptions &options) {
  const GraphData &g = canonical.data();
  Joint j{
      g, expected_sizes(g.symbols, options.expected_sizes), {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
      {}};
  Names cotangents = cotangents_of(g, options), derivatives = derivatives_of(g, options);
  for (NodeId id : g.inputs)
    (has(cotangents, g.attr<InputAttr>(id).name) ? j.cotangents : j.inputs).push_back(id);
  for (const Output &o : g.outputs)
    (has(derivatives, o.name) ? j.derivatives : j.outputs).push_back(o);
  j.forward = needed_by(g, j.outputs);
  find_backward(j);
  check_forward(j);
  read_marks(j);
  measure(j);
  return j;
}

Division divide(const Joint &j, const std::vector<bool> &save) {
  const GraphData &g = j.graph;
  Division d;
  d.in_backward.resize(g.size());
  std::vector<bool> needed(g.size());
  for (const Output &o : j.derivatives) needed[o.node] = true;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;) {
    if (!needed[id] && !(j.backward[id] && g.node(id).op == Op::Extern)) continue;
    if (j.is_input(id)) {
      if (!j.backward[id]) d.inputs.push_back(id);
    } else if (!j.backward[id] && (save[id] || !j.may_repeat[id])) {
      d.saved.push_back(id);
    } else {
      d.in_backward[id] = true;
      for (NodeId operand : g.operands(id)) needed[operand] = true;
    }
  }
  std::reverse(d.saved.begin(), d.saved.end());
  std::reverse(d.inputs.begin(), d.inputs.end());
  return d;
}

double kept_bytes(const Joint &j, const Division &d) {
  double bytes = 0;
  for (NodeId id : d.saved) bytes += j.bytes[id];
  for (NodeId id : d.inputs) bytes += j.bytes[id];
  return bytes;
}

}  // namespace fuse
