// A Plan as text: its steps in order, what each kernel reads, computes and stores, and the reasons.
#include "ir/format.h"
#include "ir/op.h"
#include "ir/plan.h"

namespace fuse {

namespace {

std::string label(const GraphData &graph, NodeId id) { return "%" + value_label(graph, id); }

template <class Range>
std::string labels(const GraphData &graph, const Range &nodes) {
  std::string text;
  for (NodeId id : nodes) {
    if (!text.empty()) text += ", ";
    text += label(graph, id);
  }
  return text;
}

void print_kernel(std::string &out, const GraphData &graph, const PlannedKernel &kernel) {
  append(out, "  kernel @{}({}) -> {}  // {:.1f} us, bound by {}\n", kernel.name,
         labels(graph, kernel.reads), labels(graph, kernel.stores), kernel.seconds * 1e6,
         kernel.bound);
  std::string body;
  for (NodeId id : kernel.nodes) {
    const OpInfo &op = info(graph.node(id).op);
    if (op.kind == OpKind::Leaf || op.kind == OpKind::View) continue;
    append(body, "{}{} {}", body.empty() ? "" : "; ", label(graph, id), op.text);
  }
  if (!body.empty()) append(out, "    {}\n", body);
}

void print_extern(std::string &out, const GraphData &graph, NodeId id) {
  append(out, "  extern \"{}\"({}) -> {}\n", graph.attr<ExternAttr>(id).name,
         labels(graph, graph.operands(id)), label(graph, id));
}

void print_decision(std::string &out, const Decision &decision) {
  append(out, "  // {}: {}, {}", decision.about, decision.chosen, decision.why);
  if (!decision.rejected.empty())
    append(out, " ({}: {:+.1f} us)", decision.rejected, decision.gain_seconds * 1e6);
  out += "\n";
}

}  // namespace

std::string value_label(const GraphData &graph, NodeId id) {
  if (graph.node(id).op == Op::Input) return graph.attr<InputAttr>(id).name;
  auto it = graph.names.find(id);
  return it != graph.names.end() ? it->second : std::to_string(id);
}

std::string to_string(const Plan &plan, const Graph &graph) {
  const GraphData &g = graph.data();
  std::string out;
  append(out, "plan @{} {{\n", g.name);
  for (const PlanStep &step : plan.steps) {
    if (step.is_extern)
      print_extern(out, g, step.extern_node);
    else
      print_kernel(out, g, plan.kernels[step.kernel]);
  }
  for (const Decision &decision : plan.decisions) print_decision(out, decision);
  out += "}\n";
  return out;
}

}  // namespace fuse
