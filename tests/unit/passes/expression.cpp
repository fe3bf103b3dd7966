#include "expression.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/graph_data.h"
#include "ir/graph_verify.h"
#include "ir/op.h"

#include <gtest/gtest.h>

namespace fuse {

namespace {

std::string number(const Literal &literal) {
  std::string text;
  if (is_float(literal.dtype))
    append(text, "{}", as_double(literal));
  else
    append(text, "{}", as_int(literal));
  return text;
}

template <class T>
std::string join(const std::vector<T> &items, const char *separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) append(text, "{}{}", i ? separator : "", items[i]);
  return text;
}

std::string head(const GraphData &g, NodeId id) {
  Op op = g.node(id).op;
  std::string text(info(op).text);
  if (info(op).kind == OpKind::Convert) append(text, ":{}", to_string(g.dtype(id)));
  if (const AxesAttr *a = std::get_if<AxesAttr>(&g.any_attr(id)))
    append(text, "{{{}}}", join(a->axes, ","));
  if (const ScanAttr *a = std::get_if<ScanAttr>(&g.any_attr(id)))
    append(text, "{{{}{}{}}}", a->axis, a->exclusive ? " exclusive" : "",
           a->reverse ? " reverse" : "");
  if (const SliceAttr *a = std::get_if<SliceAttr>(&g.any_attr(id)))
    for (std::size_t i = 0; i < a->step.size(); ++i)
      append(text, "{}{}:{}", i ? "," : "@", to_string(a->start[i]), a->step[i]);
  if (const PadAttr *a = std::get_if<PadAttr>(&g.any_attr(id)))
    append(text, "{{{}|{}}}", join(a->lo, ","), join(a->hi, ","));
  if (op == Op::Broadcast || op == Op::Reshape || op == Op::Iota || op == Op::Slice)
    text += to_string(g.shape(id));
  return text;
}

}  // namespace

std::string expression(const Graph &graph) {
  const GraphData &g = graph.data();
  std::vector<std::string> texts;
  for (NodeId id = 0; id < g.size(); ++id) {
    if (g.node(id).op == Op::Input) {
      texts.push_back(g.attr<InputAttr>(id).name);
    } else if (g.node(id).op == Op::Constant) {
      texts.push_back(number(g.attr<Literal>(id)));
    } else {
      std::vector<std::string> operands;
      for (NodeId o : g.operands(id)) operands.push_back(texts[o]);
      std::string list = operands.empty() ? "" : "(" + join(operands, ", ") + ")";
      texts.push_back(head(g, id) + list);
    }
  }
  std::vector<std::string> outputs;
  for (const Output &o : g.outputs) outputs.push_back(texts[o.node]);
  return join(outputs, "; ");
}

Graph graph_of(const Build &build, DType type, const Shape &shape) {
  Graph g("test");
  Value x = g.input("x", type, shape), y = g.input("y", type, shape);
  g.output("out", build(g, x, y));
  return g;
}

std::string simplified(const Build &build, DType type, const Shape &shape) {
  Graph before = graph_of(build, type, shape);
  Graph once = simplify(before), twice = simplify(once);
  verify(once);
  std::string text = expression(once);
  EXPECT_EQ(text, expression(twice)) << "simplify is not idempotent";
  EXPECT_EQ(once.outputs()[0].dtype(), before.outputs()[0].dtype());
  EXPECT_EQ(once.outputs()[0].shape(), before.outputs()[0].shape());
  return text;
}

}  // namespace fuse
