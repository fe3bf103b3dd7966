#include "property/derivatives.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"

#include <fuse/grad.h>

#include <cmath>
#include <optional>

namespace fuse {

namespace {

constexpr double kStep = 1e-5;
constexpr double kMost = 1e4;  // of any value: beyond, differences lose their digits

using Numbers = std::vector<double>;

double number(const Tensor &t, std::int64_t i) { return as_double(t.literal(i)); }

Tensor moved(const Tensor &x, const Numbers &direction, double step) {
  Tensor result = x;
  for (std::int64_t i = 0; i < x.size(); ++i)
    result.set_bits(i, encode_float(x.dtype, number(x, i) + step * direction[std::size_t(i)]));
  return result;
}

Numbers random_numbers(Entropy &entropy, std::int64_t count) {
  Numbers numbers(static_cast<std::size_t>(count));
  for (double &v : numbers) v = entropy.uniform(-1, 1);
  return numbers;
}

Numbers numbers_of(const Expected &x) {
  Numbers numbers;
  for (std::int64_t i = 0; i < x.size(); ++i) numbers.push_back(x.value[x.splat ? 0 : i]);
  return numbers;
}

/// The node alone, over operands that are inputs.
class OneNode {
 public:
  OneNode(const GraphData &g, NodeId id) : graph_("node") {
    GraphData &d = graph_.data();
    d.symbols = g.symbols;
    std::vector<NodeId> operands;
    for (NodeId o : g.operands(id))
      operands.push_back(
          build_input(d, "x" + std::to_string(operands.size()), g.dtype(o), g.shape(o), false));
    const Node &n = g.node(id);
    add_output(d, "y", d.add(n.op, n.dtype, g.shape(id), operands, g.any_attr(id)));
  }

  Expected run(const std::vector<Tensor> &operands, const Bindings &symbols) const {
    return evaluate(graph_.data(), operands, symbols).outputs[0];
  }

 private:
  Graph graph_;
};

/// Carries a direction from the inputs to every node.
class Forward {
 public:
  Forward(const GraphData &g, const std::vector<Tensor> &inputs, const Bindings &symbols)
      : g_(g), symbols_(symbols), tangents_(g.size()) {
    EvaluateOptions all;
    all.all_values = true;
    for (const Expected &v : evaluate(g, inputs, symbols, all).values)
      values_.push_back(rounded(v));
  }

  void set(NodeId id, const Numbers &direction) { tangents_[id] = direction; }
  const Numbers &tangent(NodeId id) const { return tangents_[id]; }

  /// False where a node has no derivative.
  bool run() {
    for (NodeId id = 0; id < g_.size(); ++id)
      if (!g_.operands(id).empty() && !visit(id)) return false;
    return true;
  }

 private:
  double largest_tangent(NodeId id) const {
    double largest = 1;
    for (NodeId o : g_.operands(id))
      for (double t : tangents_[o]) largest = std::max(largest, std::fabs(t));
    return largest;
  }

  bool is_moved(NodeId id) const {
    for (NodeId o : g_.operands(id))
      if (!tangents_[o].empty()) return true;
    return false;
  }

  Expected at(NodeId id, const OneNode &node, double step) const {
    std::vector<Tensor> operands;
    for (NodeId o : g_.operands(id))
      operands.push_back(tangents_[o].empty() ? values_[o] : moved(values_[o], tangents_[o], step));
    return node.run(operands, symbols_);
  }

  bool visit(NodeId id) {
    if (g_.node(id).op == Op::StopGradient || !is_moved(id)) return true;
    double step = kStep / largest_tangent(id);
    OneNode node(g_, id);
    Expected up = at(id, node, step), here = at(id, node, 0), down = at(id, node, -step);
    if (!is_float(g_.dtype(id))) return up.bits == down.bits;
    return differentiate(id, step, numbers_of(up), numbers_of(here), numbers_of(down));
  }

  bool differentiate(NodeId id, double step, const Numbers &up, const Numbers &here,
                     const Numbers &down) {
    Numbers &t = tangents_[id];
    for (std::size_t i = 0; i < here.size(); ++i) {
      bool is_infinite = std::isinf(here[i]) && up[i] == here[i] && down[i] == here[i];
      if (is_infinite) t.push_back(0);
      if (is_infinite) continue;
      double forward = (up[i] - here[i]) / step, backward = (here[i] - down[i]) / step;
      double noise = 1e-4 + 1e-3 * (std::fabs(forward) + std::fabs(backward));
      bool is_moderate = std::fabs(here[i]) <= kMost && std::fabs(forward) <= kMost;
      if (!is_moderate || !(std::fabs(forward - backward) <= noise)) return false;
      t.push_back((up[i] - down[i]) / (2 * step));
    }
    return true;
  }

  const GraphData &g_;
  const Bindings &symbols_;
  std::vector<Tensor> values_;
  std::vector<Numbers> tangents_;  // empty: zeros
};

struct Problem {
  std::vector<std::string> inputs, outputs;
  std::vector<std::size_t> input_at, output_at;
  std::vector<Numbers> directions, cotangents;
};

Problem pose(const GraphData &g, const Bindings &symbols, Entropy &entropy) {
  auto count = [&](NodeId id) { return num_elements(g.shape(id)).evaluate(symbols); };
  Problem p;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    if (g.dtype(g.inputs[i]) != DType::F64) continue;
    p.inputs.push_back(g.attr<InputAttr>(g.inputs[i]).name);
    p.input_at.push_back(i);
    p.directions.push_back(random_numbers(entropy, count(g.inputs[i])));
  }
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    if (g.dtype(g.outputs[i].node) != DType::F64) continue;
    p.outputs.push_back(g.outputs[i].name);
    p.output_at.push_back(i);
    p.cotangents.push_back(random_numbers(entropy, count(g.outputs[i].node)));
  }
  return p;
}

/// What is infinite does not change by differences, whatever its derivative: x - inf has 1.
void ignore_infinite_outputs(const Graph &graph, const std::vector<Tensor> &inputs,
                             const Bindings &symbols, Problem &p) {
  std::vector<Expected> outputs = evaluate(graph.data(), inputs, symbols).outputs;
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    Numbers y = numbers_of(outputs[p.output_at[i]]);
    for (std::size_t k = 0; k < y.size(); ++k)
      if (std::isinf(y[k])) p.cotangents[i][k] = 0;
  }
}

/// The cotangents of the inputs times the directions.
double gradient(const Graph &graph, const Problem &p, std::vector<Tensor> inputs,
                const Bindings &symbols, double &scale) {
  std::size_t outputs = graph.data().outputs.size();
  Graph joint = vjp(graph, p.inputs, p.outputs);
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    NodeId id = graph.data().outputs[p.output_at[i]].node;
    inputs.emplace_back(f64, evaluate(graph.data().shape(id), symbols), p.cotangents[i]);
  }
  Evaluation e = evaluate(joint.data(), inputs, symbols);
  double total = 0;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    Numbers dx = numbers_of(e.outputs[outputs + i]);
    for (std::size_t k = 0; k < dx.size(); ++k) {
      total += dx[k] * p.directions[i][k];
      scale += std::fabs(dx[k] * p.directions[i][k]);
    }
  }
  return total;
}

/// The cotangents of the outputs times how they differ.
double difference(const Graph &graph, const Problem &p, const std::vector<Tensor> &inputs,
                  const Bindings &symbols, double step) {
  auto at = [&](double by) {
    std::vector<Tensor> x = inputs;
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
      x[p.input_at[i]] = moved(x[p.input_at[i]], p.directions[i], by);
    return evaluate(graph.data(), x, symbols).outputs;
  };
  std::vector<Expected> up = at(step), down = at(-step);
  double total = 0;
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    Numbers y = numbers_of(up[p.output_at[i]]), z = numbers_of(down[p.output_at[i]]);
    for (std::size_t k = 0; k < y.size(); ++k)
      if (y[k] != z[k]) total += (y[k] - z[k]) * p.cotangents[i][k];
  }
  return total / (2 * step);
}

bool has_stop(const GraphData &g) {
  for (const Node &n : g.nodes)
    if (info(n.op).kind == OpKind::Gradient) return true;
  return false;
}

}  // namespace

bool DerivativeReport::passed() const {
  double nodes = std::fabs(gradient - by_nodes), graph = std::fabs(gradient - by_graph);
  bool agrees = nodes <= 1e-6 + 1e-5 * scale;
  if (!has_by_graph) return agrees;
  // Values between nodes are rounded, which functions near their poles magnify.
  return agrees ? graph <= 1e-5 + 1e-3 * scale : graph <= 1e-6 + 1e-5 * scale;
}

std::string to_string(const DerivativeReport &r) {
  return "gradient " + std::to_string(r.gradient) + ", by nodes " + std::to_string(r.by_nodes) +
         ", by differences " + std::to_string(r.by_graph) + ", scale " + std::to_string(r.scale);
}

RandomGraph with_gradients(RandomGraph random, Entropy &entropy) {
  const GraphData &g = random.graph.data();
  std::vector<std::string> inputs, outputs;
  for (NodeId id : g.inputs)
    if (is_float(g.dtype(id))) inputs.push_back(g.attr<InputAttr>(id).name);
  std::vector<Tensor> cotangents;
  for (const Output &o : g.outputs) {
    if (!is_float(g.dtype(o.node))) continue;
    outputs.push_back(o.name);
    cotangents.push_back(
        random_tensor(entropy, g.dtype(o.node), evaluate(g.shape(o.node), random.symbols), false));
  }
  if (inputs.empty() || outputs.empty()) return random;
  random.graph = vjp(random.graph, inputs, outputs);
  random.inputs.insert(random.inputs.end(), cotangents.begin(), cotangents.end());
  return random;
}

DerivativeReport judge_gradient(const Graph &graph, const std::vector<Tensor> &inputs,
                                const Bindings &symbols, Entropy &entropy) {
  const GraphData &g = graph.data();
  DerivativeReport report;
  Problem p = pose(g, symbols, entropy);
  if (p.inputs.empty() || p.outputs.empty()) return report;
  ignore_infinite_outputs(graph, inputs, symbols, p);
  Forward forward(g, inputs, symbols);
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    forward.set(g.inputs[p.input_at[i]], p.directions[i]);
  report.gradient = gradient(graph, p, inputs, symbols, report.scale);
  if (!forward.run()) return report;
  report.judged = true;
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const Numbers &t = forward.tangent(g.outputs[p.output_at[i]].node);
    for (std::size_t k = 0; k < t.size(); ++k) {
      report.by_nodes += t[k] * p.cotangents[i][k];
      report.scale += std::fabs(t[k] * p.cotangents[i][k]);
    }
  }
  if (has_stop(g)) return report;
  double coarse = difference(graph, p, inputs, symbols, kStep);
  report.by_graph = difference(graph, p, inputs, symbols, kStep / 2);
  report.has_by_graph = std::fabs(coarse - report.by_graph) <= 1e-6 + 1e-5 * report.scale;
  return report;
}

}  // namespace fuse
