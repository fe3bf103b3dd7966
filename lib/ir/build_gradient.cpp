// Nodes that say how gradients pass: stop_gradient and custom_gradient.
#include <fuse/grad.h>

#include "ir/build.h"
#include "ir/composite.h"
#include "ir/format.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

std::string type_text(const GraphData &g, NodeId id) {
  return std::string(to_string(g.dtype(id))) + to_string(g.shape(id));
}

void check_type(const GraphData &rule, NodeId has, const GraphData &g, NodeId wanted,
                const std::string &what) {
  if (rule.dtype(has) == g.dtype(wanted) && rule.shape(has) == g.shape(wanted)) return;
  fail(ErrorCode::Shape, "{} of the rule {} is {}, not {}", what, rule.name, type_text(rule, has),
       type_text(g, wanted));
}

std::string bounds_text(const SymbolBounds &b) {
  return "min=" + std::to_string(b.min) + " max=" + std::to_string(b.max) +
         " divisor=" + std::to_string(b.divisor);
}

/// Whether all sizes of the symbol are sizes that the rule takes.
bool is_within(const SymbolBounds &symbol, const SymbolBounds &rule) {
  return symbol.min >= rule.min && symbol.max <= rule.max && symbol.divisor % rule.divisor == 0;
}

/// Extents are compared by the names of their symbols, so the graph must have them. Its bounds are
/// those that hold.
void check_symbols(const GraphData &rule, const GraphData &g) {
  for (const Symbol &s : rule.symbols) {
    auto same = [&](const Symbol &own) { return own.name == s.name; };
    auto own = std::find_if(g.symbols.begin(), g.symbols.end(), same);
    if (own == g.symbols.end())
      fail(ErrorCode::InvalidArgument, "the rule {} has the symbol {}, which the graph {} has not",
           rule.name, s.name, g.name);
    if (!is_within(own->bounds, s.bounds))
      fail(ErrorCode::InvalidArgument,
           "the rule {} has the symbol {} {}, which is tighter than the graph {} has it, {}: give "
           "both the same bounds",
           rule.name, s.name, bounds_text(s.bounds), g.name, bounds_text(own->bounds));
  }
}

void check_rule(const GraphData &rule, const GraphData &g, NodeId y,
                std::span<const NodeId> inputs) {
  if (!is_float(g.dtype(y)))
    fail(ErrorCode::DType, "the value is {}; only floats have gradients", type_text(g, y));
  check_symbols(rule, g);
  if (rule.inputs.size() != inputs.size() + 1)
    fail(ErrorCode::InvalidArgument, "the rule {} takes {} inputs, not the cotangent and {} values",
         rule.name, rule.inputs.size(), inputs.size());
  if (rule.outputs.empty() || rule.outputs.size() > inputs.size())
    fail(ErrorCode::InvalidArgument, "the rule {} gives {} cotangents for {} inputs", rule.name,
         rule.outputs.size(), inputs.size());
  check_type(rule, rule.inputs[0], g, y, "the cotangent");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check_type(rule, rule.inputs[i + 1], g, inputs[i], "input " + std::to_string(i));
  for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
    if (!is_float(g.dtype(inputs[i])))
      fail(ErrorCode::DType, "input {} is {}; only floats have gradients: put it behind the others",
           i, type_text(g, inputs[i]));
    check_type(rule, rule.outputs[i].node, g, inputs[i], "output " + std::to_string(i));
  }
}

/// The rule as a graph of its own, with the symbols of the graph; its random bits go on with the
/// graph's streams, since it becomes a part of it.
Graph rule_graph(GraphData &g, Value y, const std::vector<Value> &inputs,
                 const GradientRule &rule) {
  Graph r("rule");
  r.data().symbols = g.symbols;
  r.data().next_stream = g.next_stream;
  Value dy = r.input("dy", y.dtype(), y.shape());
  std::vector<Value> values;
  for (Value v : inputs)
    values.push_back(r.input("x" + std::to_string(values.size()), v.dtype(), v.shape()));
  std::size_t i = 0;
  for (Value dx : rule(dy, values)) r.output("d_x" + std::to_string(i++), dx);
  return r;
}

}  // namespace

Value stop_gradient(Operand x) {
  return composite("stop_gradient", x, [](Value v) {
    return v.graph()->value(build_stop_gradient(*v.graph(), v.index()));
  });
}

Value custom_gradient(Operand y, const std::vector<Value> &inputs, const Graph &rule) {
  return composite("custom_gradient", y, [&](Value v) {
    std::vector<NodeId> ids;
    for (Value input : inputs) {
      if (input.graph() != v.graph())
        fail(ErrorCode::InvalidArgument, "input {} is no value of the graph {}", ids.size(),
             v.graph()->name);
      ids.push_back(input.index());
    }
    return v.graph()->value(build_custom_gradient(*v.graph(), v.index(), ids, rule));
  });
}

Value custom_gradient(Operand y, const std::vector<Value> &inputs, const GradientRule &rule) {
  GraphData &g = composite_graph("custom_gradient", y);
  return custom_gradient(y, inputs, rule_graph(g, y.value(), inputs, rule));
}

Value straight_through(Operand y, Value x) {
  return custom_gradient(y, {x}, [](Value dy, const std::vector<Value> &values) {
    return std::vector<Value>{cast(dy, values[0].dtype())};
  });
}

FUSE_END_NAMESPACE

namespace fuse {

NodeId build_stop_gradient(GraphData &g, NodeId x) {
  return g.add(Op::StopGradient, g.dtype(x), g.shape(x), {{x}});
}

NodeId build_custom_gradient(GraphData &g, NodeId y, std::span<const NodeId> inputs,
                             const Graph &rule, SourceLocation where) {
  try {
    check_rule(rule.data(), g, y, inputs);
  } catch (const Error &e) {
    fail_at(where, e.code(), "{}", words_of(e));
  }
  g.next_stream = std::max(g.next_stream, rule.data().next_stream);
  std::vector<NodeId> operands = {y};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return g.add(Op::CustomGradient, g.dtype(y), g.shape(y), operands, RuleAttr{to_string(rule)});
}

}  // namespace fuse
