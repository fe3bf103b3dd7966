// Graph -> text, canonical: one statement a line in the order of the nodes, all types written.
//
// Constants stand inline where the reader makes the same literal of them; others, and those that
// have a name or a keep mark, are statements. Unnamed values are numbered in order.
#include "ir/graph_print.h"
#include "ir/format.h"
#include "ir/literal_text.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

bool is_symbol_bounded(const SymbolBounds &b) {
  SymbolBounds d;
  return b.min != d.min || b.max != d.max || b.divisor != d.divisor;
}

std::string_view axes_key(Op op) {
  if (op == Op::Transpose) return "perm";
  bool is_single = op == Op::Iota || op == Op::Concat || op == Op::Gather || op == Op::ArgMax ||
                   op == Op::ArgMin;
  return is_single ? "axis" : "axes";
}

template <class Range>
std::string list_string(const Range &values) {
  std::string text = "[";
  for (auto v : values) append(text, "{}{}", text.size() > 1 ? ", " : "", v);
  return text + "]";
}

std::string text_type(DType dtype, const Shape &shape) {
  std::string text(to_string(dtype));
  return shape.empty() ? text : text + to_string(shape);
}

/// start:stop[:step] of every axis; of the stops that give the extent, the least.
std::string ranges_string(const SliceAttr &attr, const Shape &shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Dim span = shape[i];
    if (attr.step[i] != 1 && span != Dim(0)) span = (span - 1) * attr.step[i] + 1;
    append(text, "{}{}:{}", i ? ", " : "", to_string(attr.start[i]),
           to_string(attr.start[i] + span));
    if (attr.step[i] != 1) append(text, ":{}", attr.step[i]);
  }
  return text + "]";
}

/// The text of a graph inside of a statement.
std::string nested(std::string_view graph) {
  std::string text;
  for (std::size_t i = 0; i + 1 < graph.size(); ++i) {
    text += graph[i];
    if (graph[i] == '\n') text += "  ";
  }
  return text;
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const GraphData &graph)
      : g_(graph), names_(graph.size()), is_statement_(graph_statements(graph)) {}

  std::string print() {
    print_signature();
    for (const Symbol &s : g_.symbols) print_symbol(s);
    for (NodeId id = 0; id < g_.size(); ++id)
      if (is_statement_[id]) print_statement(id);
    print_return();
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void print_signature() {
    append(out_, "graph @{}(", g_.name);
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      NodeId id = g_.inputs[i];
      const auto &attr = g_.attr<InputAttr>(id);
      names_[id] = attr.name;
      append(out_, "{}%{}: {}{}", i ? ", " : "", attr.name, text_type(g_.dtype(id), g_.shape(id)),
             attr.is_scalar ? " scalar" : "");
    }
    out_ += ") {\n";
  }

  void print_symbol(const Symbol &s) {
    append(out_, "  symbol {}", s.name);
    if (is_symbol_bounded(s.bounds)) {
      SymbolBounds d;
      if (s.bounds.min != d.min) append(out_, " min={}", s.bounds.min);
      if (s.bounds.max != d.max) append(out_, " max={}", s.bounds.max);
      if (s.bounds.divisor != d.divisor) append(out_, " divisor={}", s.bounds.divisor);
    }
    out_ += "\n";
  }

  /// The name of a value that is being defined.
  std::string define(NodeId id) {
    auto it = g_.names.find(id);
    names_[id] = it == g_.names.end() ? std::to_string(next_number_++) : it->second;
    return "%" + names_[id];
  }

  void print_statement(NodeId id) {
    const Node &n = g_.node(id);
    out_ += "  ";
    if (n.op == Op::Extern) return print_extern(id);
    append(out_, "{} = {}", define(id), info(n.op).text);
    print_operands(id);
    if (n.op == Op::Constant) append(out_, " {}", to_string(g_.attr<Literal>(id)));
    print_attributes(id);
    append(out_, " : {}", text_type(n.dtype, g_.shape(id)));
    print_mark(id);
  }

  void print_mark(NodeId id) {
    auto mark = g_.keep_marks.find(id);
    if (mark != g_.keep_marks.end()) out_ += mark->second ? " stored" : " recomputed";
    out_ += "\n";
  }

  void print_extern(NodeId id) {
    const auto &attr = g_.attr<ExternAttr>(id);
    std::vector<std::string> results = {define(id)};
    std::string types = text_type(attr.dtypes[0], attr.shapes[0]);
    std::vector<NodeId> nodes = extern_results(g_, id);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      std::string name =
          nodes[i] == kNoNode ? "%" + std::to_string(next_number_++) : define(nodes[i]);
      results.push_back(name);
      append(types, ", {}", text_type(attr.dtypes[i], attr.shapes[i]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) out_ += (i ? ", " : "") + results[i];
    append(out_, " = extern \"{}\"(", attr.name);
    std::string operands;
    for (NodeId o : g_.operands(id))
      append(operands, "{}%{}", operands.empty() ? "" : ", ", names_[o]);
    append(out_, "{}) : {}", operands, types);
    print_mark(id);
  }

  void print_operands(NodeId id) {
    std::span<const NodeId> operands = g_.operands(id);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      out_ += i ? ", " : " ";
      if (is_inline_literal(g_, id, i))
        out_ += to_string(g_.attr<Literal>(operands[i]));
      else
        out_ += "%" + names_[operands[i]];
    }
  }

  void print_attributes(NodeId id) {
    const Attr &attr = g_.any_attr(id);
    if (auto *a = std::get_if<AxesAttr>(&attr)) {
      std::string_view key = axes_key(g_.node(id).op);
      append(out_, " {}={}", key,
             key == "axis" ? std::to_string(a->axes[0]) : list_string(a->axes));
      if (a->keep) out_ += " keep";
    } else if (auto *c = std::get_if<ScanAttr>(&attr)) {
      append(out_, " axis={}{}{}", c->axis, c->exclusive ? " exclusive" : "",
             c->reverse ? " reverse" : "");
    } else if (auto *s = std::get_if<SliceAttr>(&attr)) {
      append(out_, " {}", ranges_string(*s, g_.shape(id)));
    } else if (auto *p = std::get_if<PadAttr>(&attr)) {
      append(out_, " lo={} hi={}", list_string(p->lo), list_string(p->hi));
    } else if (auto *r = std::get_if<RandomAttr>(&attr)) {
      append(out_, " stream={}", r->stream);
    } else if (auto *g = std::get_if<RuleAttr>(&attr)) {
      append(out_, " {}", nested(g->graph));
    }
  }

  void print_return() {
    for (std::size_t i = 0; i < g_.outputs.size(); ++i) {
      const Output &o = g_.outputs[i];
      append(out_, "{}%{}", i ? ", " : "  return ", names_[o.node]);
      std::string implied = g_.outputs.size() == 1 ? "out" : "out" + std::to_string(i);
      if (o.name != implied) append(out_, " as {}", o.name);
    }
    if (!g_.outputs.empty()) out_ += "\n";
  }

  const GraphData &g_;
  std::vector<std::string> names_;
  std::vector<bool> is_statement_;
  std::string out_;
  std::size_t next_number_ = 0;
};

}  // namespace

bool is_inline_literal(const GraphData &g, NodeId id, std::size_t operand) {
  NodeId c = g.operand(id, operand);
  Op op = g.node(id).op;
  if (g.node(c).op != Op::Constant) return false;
  if (op == Op::RandomBits) return true;
  if (op == Op::Pad) return operand == 1 && g.dtype(c) == compute_type(g.dtype(g.operand(id, 0)));
  OpKind kind = info(op).kind;
  bool takes_literals = info(op).is_elementwise() && kind != OpKind::Convert;
  if (!takes_literals || g.shape(c) != g.shape(id)) return false;
  std::span<const NodeId> operands = g.operands(id);
  std::size_t first = op == Op::Select ? 1 : 0;
  auto typed = std::find_if(operands.begin() + first, operands.end(),
                            [&](NodeId o) { return g.node(o).op != Op::Constant; });
  if (typed == operands.end()) return false;
  return g.dtype(c) == (operand < first ? DType::Bool : compute_type(g.dtype(*typed)));
}

std::vector<NodeId> extern_results(const GraphData &g, NodeId id) {
  std::vector<NodeId> results(g.attr<ExternAttr>(id).dtypes.size(), kNoNode);
  results[0] = id;
  std::size_t found = 1;
  for (NodeId r = id + 1; r < g.size() && found < results.size(); ++r) {
    if (g.node(r).op != Op::ExternResult || g.operand(r, 0) != id) break;
    results[g.attr<ExternAttr>(r).result] = r;
    ++found;
  }
  return results;
}

std::vector<bool> graph_statements(const GraphData &g) {
  std::vector<bool> is_statement(g.size());
  for (NodeId id = 0; id < g.size(); ++id) {
    Op op = g.node(id).op;
    is_statement[id] = op != Op::Input && op != Op::ExternResult &&
                       (op != Op::Constant || g.names.count(id) || g.keep_marks.count(id));
    for (std::size_t i = 0; i < g.operands(id).size(); ++i) {
      NodeId o = g.operand(id, i);
      if (g.node(o).op == Op::Constant && !is_inline_literal(g, id, i)) is_statement[o] = true;
    }
  }
  for (const Output &o : g.outputs)
    if (g.node(o.node).op == Op::Constant) is_statement[o.node] = true;
  return is_statement;
}

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

std::string to_string(const Graph &graph) { return GraphPrinter(graph.data()).print(); }

FUSE_END_NAMESPACE
