// Nodes that say how gradients pass: stop_gradient and custom_gradient.
#include <fuse/grad.h>

#include "ir/build.h"
#include "ir/composite.h"
#include "ir/format.h"
#include "ir/plan.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

constexpr std::string_view kFunctionRule = "rule";

std::string type_text(const GraphData &g, NodeId id) {
  return std::string(to_string(g.dtype(id))) + to_string(g.shape(id));
}

/// "the rule mm_backward"; those of functions have no name of their own.
std::string title(const GraphData &rule) {
  return rule.name == kFunctionRule ? "the rule" : "the rule " + rule.name;
}

std::string counted(std::size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

void check_type(const GraphData &rule, NodeId has, const GraphData &g, NodeId wanted,
                const std::string &what) {
  if (rule.dtype(has) == g.dtype(wanted) && rule.shape(has) == g.shape(wanted)) return;
  fail(ErrorCode::Shape, "{} of {} is {}, not {}", what, title(rule), type_text(rule, has),
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
      fail(ErrorCode::InvalidArgument, "{} has the symbol {}, which the graph {} has not",
           title(rule), s.name, g.name);
    if (!is_within(own->bounds, s.bounds))
      fail(ErrorCode::InvalidArgument,
           "{} has the symbol {} {}, which is tighter than the graph {} has it, {}: give both the "
           "same bounds",
           title(rule), s.name, bounds_text(s.bounds), g.name, bounds_text(own->bounds));
  }
}

void check_rule(const GraphData &rule, const GraphData &g, NodeId y,
                std::span<const NodeId> inputs) {
  if (!is_float(g.dtype(y)))
    fail(ErrorCode::DType, "the value is {}; only floats have gradients", type_text(g, y));
  check_symbols(rule, g);
  if (rule.inputs.size() != inputs.size() + 1)
    fail(ErrorCode::InvalidArgument, "{} takes {}, not the cotangent and {}", title(rule),
         counted(rule.inputs.size(), "input"), counted(inputs.size(), "value"));
  if (rule.outputs.empty() || rule.outputs.size() > inputs.size())
    fail(ErrorCode::InvalidArgument, "{} gives {} for {}", title(rule),
         counted(rule.outputs.size(), "cotangent"), counted(inputs.size(), "input"));
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

void check_value(const GraphData &g, Value v, const std::string &what) {
  if (!v.valid()) fail(ErrorCode::InvalidArgument, "{} is an empty Value", what);
  if (v.graph() != &g)
    fail(ErrorCode::InvalidArgument, "{} is of another graph: of {}, not of {}", what,
         v.graph()->name, g.name);
}

std::vector<NodeId> ids_of(const GraphData &g, const std::vector<Value> &inputs) {
  std::vector<NodeId> ids;
  for (Value v : inputs) {
    check_value(g, v, "input " + std::to_string(ids.size()));
    ids.push_back(v.index());
  }
  return ids;
}

/// The graph of a rule with its inputs and the symbols of the graph; its random bits go on with the
/// graph's streams, since it becomes a part of it.
Graph begin_rule(GraphData &g, Value y, const std::vector<Value> &inputs) {
  Graph r(kFunctionRule);
  r.data().symbols = g.symbols;
  r.data().next_stream = g.next_stream;
  r.input("dy", y.dtype(), y.shape());
  std::size_t i = 0;
  for (NodeId id : ids_of(g, inputs)) r.input("x" + std::to_string(i++), g.dtype(id), g.shape(id));
  return r;
}

void end_rule(Graph &r, const std::vector<Value> &results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    check_value(r.data(), results[i], "result " + std::to_string(i) + " of the rule");
    r.output("d_x" + std::to_string(i), results[i]);
  }
}

}  // namespace

Value stop_gradient(Operand x) {
  return composite("stop_gradient", x, [](Value v) {
    return v.graph()->value(build_stop_gradient(*v.graph(), v.index()));
  });
}

Value custom_gradient(Operand y, const std::vector<Value> &inputs, const Graph &rule) {
  return composite("custom_gradient", y, [&](Value v) {
    GraphData &g = *v.graph();
    return g.value(build_custom_gradient(g, v.index(), ids_of(g, inputs), rule));
  });
}

/// The function is called outside the frame of the builder: errors within it have their own place.
Value custom_gradient(Operand y, const std::vector<Value> &inputs, const GradientRule &rule) {
  Graph r = composite("custom_gradient", y, [&](Value v) {
    if (!rule) fail(ErrorCode::InvalidArgument, "the rule is an empty function");
    return begin_rule(*v.graph(), v, inputs);
  });
  std::vector<Value> values = r.inputs();
  std::vector<Value> results = rule(values[0], {values.begin() + 1, values.end()});
  return composite("custom_gradient", y, [&](Value v) {
    end_rule(r, results);
    return custom_gradient(Operand(v, y.where()), inputs, r);
  });
}

Value straight_through(Operand y, Value x) {
  return composite("straight_through", y, [&](Value v) {
    GraphData &g = *v.graph();
    check_value(g, x, "the value that has the gradient");
    for (Value of : {v, x})
      if (!is_float(of.dtype()))
        fail(ErrorCode::DType, "%{} is {}; only floats have gradients", value_label(g, of.index()),
             type_text(g, of.index()));
    if (v.shape() != x.shape())
      fail(ErrorCode::Shape, "the values are {} and {}, not of one shape", type_text(g, v.index()),
           type_text(g, x.index()));
    return custom_gradient(v, {x}, [](Value dy, const std::vector<Value> &values) {
      return std::vector<Value>{cast(dy, values[0].dtype())};
    });
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
