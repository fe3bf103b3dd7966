// Marks of values that backward computes again.
#include "ir/format.h"
#include "ir/op.h"

#include "ir/graph_data.h"

#include <fuse/partition.h>

#include <vector>

FUSE_BEGIN_NAMESPACE

namespace {

GraphData &graph_of(Value x, std::string_view what, SourceLocation where) {
  if (!x.valid()) fail_at(where, ErrorCode::InvalidArgument, "{}: a value is empty", what);
  return *x.graph();
}

void mark(GraphData &g, NodeId id) {
  if (info(g.node(id).op).kind == OpKind::Leaf) return;
  // A call gives all results.
  if (g.node(id).op == Op::ExternResult) id = g.operand(id, 0);
  g.keep_marks[id] = false;
}

/// By node: reached from the outputs without passing through an input.
std::vector<bool> reached(const GraphData &g, const std::vector<bool> &outputs,
                          const std::vector<bool> &inputs) {
  std::vector<bool> reached = outputs;
  for (NodeId id = static_cast<NodeId>(g.size()); id-- > 0;)
    if (reached[id] && !inputs[id])
      for (NodeId operand : g.operands(id)) reached[operand] = true;
  return reached;
}

}  // namespace

Value recompute(Value x, SourceLocation where) {
  GraphData &g = graph_of(x, "recompute", where);
  if (g.node(x.index()).op == Op::Input)
    fail_at(where, ErrorCode::InvalidArgument,
            "recompute: {} is an input, which is not computed: mark what is made of it",
            g.attr<InputAttr>(x.index()).name);
  mark(g, x.index());
  return x;
}

void checkpoint(const std::vector<Value> &outputs, const std::vector<Value> &inputs,
                SourceLocation where) {
  if (outputs.empty()) fail_at(where, ErrorCode::InvalidArgument, "checkpoint: no outputs");
  GraphData &g = graph_of(outputs[0], "checkpoint", where);
  std::vector<bool> is_output(g.size()), is_input(g.size());
  auto note = [&](const std::vector<Value> &values, std::vector<bool> &nodes) {
    for (Value v : values) {
      if (&graph_of(v, "checkpoint", where) != &g)
        fail_at(where, ErrorCode::InvalidArgument, "checkpoint: values are of several graphs");
      nodes[v.index()] = true;
    }
  };
  note(outputs, is_output);
  note(inputs, is_input);
  std::vector<bool> inside = reached(g, is_output, is_input);
  for (NodeId id = 0; id < g.size(); ++id)
    if (inside[id] && !is_output[id] && !is_input[id]) mark(g, id);
}

FUSE_END_NAMESPACE
