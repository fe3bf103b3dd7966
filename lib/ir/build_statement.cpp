// Statements of primitive operations -> nodes.
#include "ir/format.h"
#include "ir/graph_text.h"
#include "ir/op.h"

namespace fuse {

namespace {

using Nodes = std::vector<NodeId>;

std::size_t arity(OpKind kind) {
  return kind == OpKind::Ternary ? 3 : kind == OpKind::Binary || kind == OpKind::Compare ? 2 : 1;
}

/// Literals take the compute type of the first operand that is a value; a select's condition is a
/// bool.
Nodes build_elementwise_text(Arguments &a, Op op) {
  a.expect_operands(arity(info(op).kind));
  const std::vector<TextOperand> &operands = a.statement().operands;
  std::size_t first = op == Op::Select ? 1 : 0, typed = first;
  while (typed < operands.size() && !operands[typed].is_value) ++typed;
  if (typed == operands.size())
    a.error(operands[first].at, "all operands are literals; define one with const");
  DType literal = compute_type(a.graph().dtype(operands[typed].node));
  Nodes nodes;
  for (std::size_t i = 0; i < operands.size(); ++i)
    nodes.push_back(a.node(i, i < first ? DType::Bool : literal));
  return {build_elementwise(a.graph(), op, nodes, a.where())};
}

NodeId build_leaf_text(Arguments &a, Op op) {
  const TextType &type = a.type();
  Shape shape = type.shape.value_or(Shape{});
  if (op == Op::Iota) {
    a.expect_operands(0);
    return build_iota(a.graph(), type.dtype, shape, a.axis("axis"), a.where());
  }
  a.expect_operands(1);
  if (a.statement().operands[0].is_value)
    a.error(a.statement().operands[0].at, "const takes a literal");
  return build_broadcast(a.graph(), a.node(0, type.dtype), shape, a.where());
}

NodeId build_random_text(Arguments &a) {
  a.expect_operands(1);
  const TextType &type = a.type();
  if (type.dtype != DType::U32)
    a.error(type.at, "random_bits gives u32, not " + std::string(to_string(type.dtype)));
  return build_random_bits(a.graph(), a.node(0, DType::U64), type.shape.value_or(Shape{}),
                           stream_of(a.graph(), a.stream(), a.where()), a.where());
}

NodeId build_slice_text(Arguments &a) {
  std::vector<Dim> start, stop;
  std::vector<std::int64_t> step;
  for (const TextRange &r : a.statement().ranges) {
    start.push_back(r.start);
    stop.push_back(r.stop);
    step.push_back(r.step);
  }
  return build_slice(a.graph(), a.node(0), start, stop, step, a.where());
}

NodeId build_pad_text(Arguments &a) {
  NodeId x = a.node(0);
  NodeId fill = a.node(1, compute_type(a.graph().dtype(x)));
  return build_pad(a.graph(), x, fill, a.list("lo"), a.list("hi"), a.where());
}

NodeId build_concat_text(Arguments &a) {
  Nodes parts;
  for (std::size_t i = 0; i < a.statement().operands.size(); ++i) parts.push_back(a.node(i));
  return build_concat(a.graph(), parts, a.axis("axis"), a.where());
}

NodeId build_view_text(Arguments &a, Op op) {
  bool is_binary = op == Op::Pad || op == Op::Gather;
  a.expect_operands(is_binary ? 2 : 1, op == Op::Concat ? SIZE_MAX : is_binary ? 2 : 1);
  GraphData &g = a.graph();
  if (op == Op::Broadcast)
    return build_broadcast(g, a.node(0), a.type().shape.value_or(Shape{}), a.where());
  if (op == Op::Reshape)
    return build_reshape(g, a.node(0), a.type().shape.value_or(Shape{}), a.where());
  if (op == Op::Transpose) return build_transpose(g, a.node(0), a.axes("perm"), a.where());
  if (op == Op::Flip) return build_flip(g, a.node(0), a.axes("axes"), a.where());
  if (op == Op::Slice) return build_slice_text(a);
  if (op == Op::Pad) return build_pad_text(a);
  if (op == Op::Concat) return build_concat_text(a);
  FUSE_CHECK(op == Op::Gather, "view {} has no text", info(op).text);
  return build_gather(g, a.node(0), a.node(1), a.axis("axis"), a.where());
}

NodeId build_reduce_text(Arguments &a, Op op) {
  a.expect_operands(1);
  std::vector<int> axes = a.axes("axes");
  return build_reduce(a.graph(), op, a.node(0), axes, a.word("keep"), a.where());
}

NodeId build_scan_text(Arguments &a, Op op) {
  a.expect_operands(1);
  ScanAttr attr;
  attr.axis = a.axis("axis");
  attr.exclusive = a.word("exclusive");
  attr.reverse = a.word("reverse");
  return build_scan(a.graph(), op, a.node(0), attr, a.where());
}

NodeId build_convert_text(Arguments &a, Op op) {
  a.expect_operands(1);
  return build_convert(a.graph(), op, a.node(0), a.type().dtype, a.where());
}

Nodes build_extern_text(Arguments &a) {
  a.type();
  Nodes operands;
  for (std::size_t i = 0; i < a.statement().operands.size(); ++i) operands.push_back(a.node(i));
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const TextType &t : a.statement().types) {
    dtypes.push_back(t.dtype);
    shapes.push_back(t.shape.value_or(Shape{}));
  }
  return build_extern(a.graph(), a.statement().extern_name, operands, dtypes, shapes, a.where());
}

Nodes build_gradient_text(Arguments &a, Op op) {
  Nodes operands;
  for (std::size_t i = 0; i < a.statement().operands.size(); ++i) operands.push_back(a.node(i));
  if (op == Op::StopGradient) {
    a.expect_operands(1);
    return {build_stop_gradient(a.graph(), operands[0])};
  }
  a.expect_operands(2, SIZE_MAX);
  return {build_custom_gradient(a.graph(), operands[0], std::span(operands).subspan(1),
                                *a.statement().rule, a.where())};
}

}  // namespace

Nodes build_statement(Arguments &a) {
  const Statement &s = a.statement();
  bool is_reduction = s.attributes.count("axes") || s.attributes.count("axis");
  std::optional<Op> op = op_from_string(s.op.name, is_reduction);
  if (!op || *op == Op::Input || *op == Op::ExternResult) return {};
  switch (info(*op).kind) {
    case OpKind::Leaf: return {build_leaf_text(a, *op)};
    case OpKind::Random: return {build_random_text(a)};
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary:
    case OpKind::Compare:
    case OpKind::Test: return build_elementwise_text(a, *op);
    case OpKind::Convert: return {build_convert_text(a, *op)};
    case OpKind::View: return {build_view_text(a, *op)};
    case OpKind::Reduce: return {build_reduce_text(a, *op)};
    case OpKind::Scan: return {build_scan_text(a, *op)};
    case OpKind::Extern: return build_extern_text(a);
    case OpKind::Gradient: return build_gradient_text(a, *op);
  }
  return {};
}

}  // namespace fuse
