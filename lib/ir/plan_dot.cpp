// A Plan as a graph for Graphviz: a box for each kernel, in it what the kernel computes.
#include "ir/format.h"
#include "ir/op.h"
#include "ir/plan.h"

#include <algorithm>

namespace fuse {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

class DotPrinter {
 public:
  DotPrinter(const Plan &plan, const Graph &graph) : p_(plan), g_(graph.data()) {}

  std::string print() {
    append(out_, "digraph \"{}\" {{\n  node [shape=box];\n", escaped(g_.name));
    for (const PlanStep &step : p_.steps)
      step.is_extern ? print_extern(step.extern_node) : print_kernel(step.kernel);
    for (NodeId id : g_.inputs) print_node(memory(id), id, "ellipse");
    for (std::size_t i = 0; i < g_.outputs.size(); ++i) {
      append(out_, "  out{} [shape=ellipse, label=\"{}\"];\n", i, escaped(g_.outputs[i].name));
      append(out_, "  {} -> out{};\n", memory(g_.outputs[i].node), i);
    }
    return out_ + "}\n";
  }

 private:
  /// A value in memory, wherever it was computed. A reshape lies where its operand lies.
  std::string memory(NodeId id) const {
    while (g_.node(id).op == Op::Reshape) id = g_.operand(id, 0);
    return "m" + std::to_string(id);
  }
  /// A node in a kernel; a recomputed one stands in several.
  static std::string inner(std::size_t kernel, NodeId id) {
    return "k" + std::to_string(kernel) + "_" + std::to_string(id);
  }

  void print_node(const std::string &name, NodeId id, std::string_view shape) {
    const OpInfo &op = info(g_.node(id).op);
    append(out_, "  {} [shape={}, label=\"%{} {}\\n{}{}\"];\n", name, shape,
           escaped(value_label(g_, id)), op.text, to_string(g_.dtype(id)), to_string(g_.shape(id)));
  }

  void print_kernel(std::size_t index) {
    const PlannedKernel &k = p_.kernels[index];
    append(out_, "  subgraph cluster_{} {{\n    label=\"{}: {:.1f} us, {}\";\n", index, k.name,
           1e6 * k.seconds, escaped(k.bound));
    for (NodeId id : k.nodes)
      if (g_.node(id).op != Op::Constant) print_node(inner(index, id), id, "box");
    out_ += "  }\n";
    for (NodeId id : k.nodes) {
      for (NodeId operand : g_.operands(id)) {
        if (g_.node(operand).op == Op::Constant) continue;
        bool is_inner = std::binary_search(k.nodes.begin(), k.nodes.end(), operand);
        append(out_, "  {} -> {};\n", is_inner ? inner(index, operand) : memory(operand),
               inner(index, id));
      }
    }
    for (NodeId id : k.stores) print_store(index, id);
  }

  /// What a kernel stores and does not compute is a copy of memory.
  void print_store(std::size_t kernel, NodeId id) {
    const PlannedKernel &k = p_.kernels[kernel];
    if (std::binary_search(k.nodes.begin(), k.nodes.end(), id)) {
      print_node(memory(id), id, "ellipse");
      append(out_, "  {} -> {};\n", inner(kernel, id), memory(id));
    } else {
      append(out_, "  {} [shape=box, label=\"copy\"];\n", inner(kernel, id));
      append(out_, "  {} -> {};\n", memory(id), inner(kernel, id));
    }
  }

  void print_extern(NodeId id) {
    append(out_, "  {} [shape=octagon, label=\"{}\"];\n", memory(id),
           escaped(g_.attr<ExternAttr>(id).name));
    for (NodeId operand : g_.operands(id))
      append(out_, "  {} -> {};\n", memory(operand), memory(id));
    for (NodeId result = id + 1; result < g_.size(); ++result) {
      if (g_.node(result).op != Op::ExternResult || g_.operand(result, 0) != id) continue;
      print_node(memory(result), result, "ellipse");
      append(out_, "  {} -> {};\n", memory(id), memory(result));
    }
  }

  const Plan &p_;
  const GraphData &g_;
  std::string out_;
};

}  // namespace

std::string to_dot(const Plan &plan, const Graph &graph) { return DotPrinter(plan, graph).print(); }

}  // namespace fuse
