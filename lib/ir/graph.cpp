// The public handles: Graph and Value, and one function for each operation.
#include <fuse/grad.h>
#include <fuse/graph.h>
#include <fuse/scans.h>

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

/// The graph of a value; throws for a default-constructed one.
GraphData &graph_of(Value v, SourceLocation where, std::string_view what, std::string_view role) {
  if (!v.valid())
    fail_at(where, ErrorCode::InvalidArgument, "{}: {} is an empty Value", what, role);
  return *v.graph();
}

std::string operand_name(std::size_t i) { return "operand " + std::to_string(i); }

Value wrap(GraphData &g, NodeId id, SourceLocation where) {
  if (where.line != 0) g.locations.try_emplace(id, where);
  return g.value(id);
}

NodeId node_of(GraphData &g, Value v, SourceLocation where, std::string_view what,
               std::string_view role) {
  if (const GraphData &own = graph_of(v, where, what, role); &own != &g)
    fail_at(where, ErrorCode::InvalidArgument, "{}: {} is of another graph: of {}, not of {}", what,
            role, own.name, g.name);
  return v.index();
}

/// Builds an elementwise op over values and literals; literals take the values' dtype.
Value elementwise(Op op, std::initializer_list<Operand> operands) {
  std::string_view what = info(op).text;
  const Operand *first = nullptr;
  std::size_t i = 0;
  for (const Operand &o : operands) {
    bool is_condition = op == Op::Select && i++ == 0;
    if (o.kind() == Operand::Kind::Value && !is_condition && !first) first = &o;
  }
  SourceLocation where = operands.begin()->where();
  if (!first)
    fail_at(where, ErrorCode::InvalidArgument,
            "{}: all operands are literals; make one a value with Graph::constant", what);
  std::string role = operand_name(static_cast<std::size_t>(first - operands.begin()));
  GraphData &g = graph_of(first->value(), where, what, role);
  DType type = g.dtype(first->value().index());
  std::vector<NodeId> ids;
  for (const Operand &o : operands) {
    if (o.kind() == Operand::Kind::Value)
      ids.push_back(node_of(g, o.value(), where, what, operand_name(ids.size())));
    else
      ids.push_back(build_constant(g, operand_literal(o, type, what), {}));
  }
  return wrap(g, build_elementwise(g, op, ids, where), where);
}

struct Source {
  GraphData &graph;
  NodeId node;
  SourceLocation where;
};

/// The operand of a conversion, view or reduction: a value.
Source source(const Operand &x, std::string_view what) {
  if (x.kind() != Operand::Kind::Value)
    fail_at(x.where(), ErrorCode::InvalidArgument, "{}: takes a value, not a literal", what);
  GraphData &g = graph_of(x.value(), x.where(), what, "operand 0");
  return {g, x.value().index(), x.where()};
}

Value reduce(Op op, const Operand &x, std::vector<int> axes, bool keep) {
  Source s = source(x, info(op).text);
  return wrap(s.graph, build_reduce(s.graph, op, s.node, std::move(axes), keep, s.where), s.where);
}

std::vector<Value> add_extern(GraphData &g, std::string_view name,
                              const std::vector<Value> &operands,
                              const std::vector<Graph::TensorType> &results, SourceLocation where) {
  std::vector<NodeId> ids;
  for (Value v : operands) ids.push_back(node_of(g, v, where, name, operand_name(ids.size())));
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const Graph::TensorType &t : results) {
    dtypes.push_back(t.dtype);
    shapes.push_back(t.shape);
  }
  std::vector<Value> values;
  for (NodeId id : build_extern(g, name, ids, dtypes, shapes, where))
    values.push_back(wrap(g, id, where));
  return values;
}

Value scan(Op op, const Operand &x, int axis, ScanOptions options) {
  Source s = source(x, info(op).text);
  ScanAttr attr{axis, options.exclusive, options.reverse};
  return wrap(s.graph, build_scan(s.graph, op, s.node, attr, s.where), s.where);
}

}  // namespace

DType Value::dtype() const { return graph_of(*this, {}, "dtype", "this").dtype(index_); }
const Shape &Value::shape() const { return graph_of(*this, {}, "shape", "this").shape(index_); }

Value Value::keep() const {
  graph_of(*this, {}, "keep", "this").keep_marks[index_] = true;
  return *this;
}

Value Value::named(std::string_view name, SourceLocation where) const {
  add_name(graph_of(*this, where, "named", "this"), index_, name, where);
  return *this;
}

Graph::Graph(std::string_view name) : data_(std::make_unique<GraphData>()) {
  check_name("graph", name, {});
  data_->name = std::string(name);
}
Graph::~Graph() = default;
Graph::Graph(Graph &&) noexcept = default;
Graph &Graph::operator=(Graph &&) noexcept = default;

Graph Graph::clone() const {
  Graph copy(data_->name);
  *copy.data_ = *data_;
  return copy;
}

Dim Graph::dim(std::string_view name, SymbolBounds bounds, SourceLocation where) {
  add_symbol(*data_, name, bounds, where);
  return Dim::symbol(std::string(name));
}

Value Graph::input(std::string_view name, DType type, const Shape &shape, SourceLocation where) {
  return wrap(*data_, build_input(*data_, name, type, shape, false, where), where);
}

Value Graph::scalar(std::string_view name, DType type, SourceLocation where) {
  return wrap(*data_, build_input(*data_, name, type, {}, true, where), where);
}

Value Graph::constant(Operand value, DType type, const Shape &shape) {
  if (value.kind() == Operand::Kind::Value)
    fail_at(value.where(), ErrorCode::InvalidArgument, "constant: takes a literal, not a value");
  NodeId id = build_constant(*data_, constant_literal(value, type, "constant"), shape);
  return wrap(*data_, id, value.where());
}

Value Graph::iota(DType type, const Shape &shape, int axis, SourceLocation where) {
  return wrap(*data_, build_iota(*data_, type, shape, axis, where), where);
}

std::vector<Value> Graph::extern_op(std::string_view name, const std::vector<Value> &operands,
                                    const std::vector<TensorType> &results, SourceLocation where) {
  return add_extern(*data_, name, operands, results, where);
}

void Graph::output(std::string_view name, Value value, SourceLocation where) {
  add_output(*data_, name, node_of(*data_, value, where, "output", name), where);
}

std::string_view Graph::name() const noexcept { return data_->name; }

std::vector<Value> Graph::inputs() const {
  std::vector<Value> values;
  for (NodeId id : data_->inputs) values.push_back(data_->value(id));
  return values;
}

std::vector<Value> Graph::outputs() const {
  std::vector<Value> values;
  for (const Output &o : data_->outputs) values.push_back(data_->value(o.node));
  return values;
}

std::vector<Value> extern_op(std::string_view name, const std::vector<Value> &operands,
                             const std::vector<Graph::TensorType> &results, SourceLocation where) {
  if (operands.empty())
    fail_at(where, ErrorCode::InvalidArgument,
            "extern_op: \"{}\" has no operands to tell its graph by; use Graph::extern_op", name);
  return add_extern(graph_of(operands[0], where, name, operand_name(0)), name, operands, results,
                    where);
}

#define FUSE_DEFINE_1(f, op) \
  Value f(Operand x) { return elementwise(Op::op, {x}); }
#define FUSE_DEFINE_2(f, op) \
  Value f(Operand a, Operand b) { return elementwise(Op::op, {a, b}); }
#define FUSE_DEFINE_3(f, op) \
  Value f(Operand a, Operand b, Operand c) { return elementwise(Op::op, {a, b, c}); }
FUSE_DEFINE_1(neg, Neg)
FUSE_DEFINE_1(abs, Abs)
FUSE_DEFINE_1(sign, Sign)
FUSE_DEFINE_1(floor, Floor)
FUSE_DEFINE_1(ceil, Ceil)
FUSE_DEFINE_1(round, Round)
FUSE_DEFINE_1(trunc, Trunc)
FUSE_DEFINE_1(sqrt, Sqrt)
FUSE_DEFINE_1(logical_not, Not)
FUSE_DEFINE_1(rsqrt, Rsqrt)
FUSE_DEFINE_1(cbrt, Cbrt)
FUSE_DEFINE_1(exp, Exp)
FUSE_DEFINE_1(exp2, Exp2)
FUSE_DEFINE_1(expm1, Expm1)
FUSE_DEFINE_1(log, Log)
FUSE_DEFINE_1(log2, Log2)
FUSE_DEFINE_1(log1p, Log1p)
FUSE_DEFINE_1(sin, Sin)
FUSE_DEFINE_1(cos, Cos)
FUSE_DEFINE_1(tan, Tan)
FUSE_DEFINE_1(asin, Asin)
FUSE_DEFINE_1(acos, Acos)
FUSE_DEFINE_1(atan, Atan)
FUSE_DEFINE_1(sinh, Sinh)
FUSE_DEFINE_1(cosh, Cosh)
FUSE_DEFINE_1(tanh, Tanh)
FUSE_DEFINE_1(asinh, Asinh)
FUSE_DEFINE_1(acosh, Acosh)
FUSE_DEFINE_1(atanh, Atanh)
FUSE_DEFINE_1(erf, Erf)
FUSE_DEFINE_1(erfc, Erfc)
FUSE_DEFINE_1(erfinv, Erfinv)
FUSE_DEFINE_1(lgamma, Lgamma)
FUSE_DEFINE_1(digamma, Digamma)
FUSE_DEFINE_1(sigmoid, Sigmoid)
FUSE_DEFINE_2(add, Add)
FUSE_DEFINE_2(sub, Sub)
FUSE_DEFINE_2(mul, Mul)
FUSE_DEFINE_2(div, Div)
FUSE_DEFINE_2(floordiv, FloorDiv)
FUSE_DEFINE_2(mod, Mod)
FUSE_DEFINE_2(rem, Rem)
FUSE_DEFINE_2(pow, Pow)
FUSE_DEFINE_2(min, Min)
FUSE_DEFINE_2(max, Max)
FUSE_DEFINE_2(atan2, Atan2)
FUSE_DEFINE_2(bit_and, And)
FUSE_DEFINE_2(bit_or, Or)
FUSE_DEFINE_2(bit_xor, Xor)
FUSE_DEFINE_2(shl, Shl)
FUSE_DEFINE_2(shr, Shr)
FUSE_DEFINE_2(eq, Eq)
FUSE_DEFINE_2(ne, Ne)
FUSE_DEFINE_2(lt, Lt)
FUSE_DEFINE_2(le, Le)
FUSE_DEFINE_2(gt, Gt)
FUSE_DEFINE_2(ge, Ge)
FUSE_DEFINE_1(isnan, IsNan)
FUSE_DEFINE_1(isinf, IsInf)
FUSE_DEFINE_1(isfinite, IsFinite)
FUSE_DEFINE_3(fma, Fma)
FUSE_DEFINE_3(select, Select)

#define FUSE_DEFINE_CONVERT(f, op)                                                        \
  Value f(Operand x, DType type) {                                                        \
    Source s = source(x, info(Op::op).text);                                              \
    return wrap(s.graph, build_convert(s.graph, Op::op, s.node, type, s.where), s.where); \
  }
FUSE_DEFINE_CONVERT(cast, Cast)
FUSE_DEFINE_CONVERT(cast_sat, CastSat)
FUSE_DEFINE_CONVERT(bitcast, Bitcast)

Value broadcast(Operand x, const Shape &shape) {
  Source s = source(x, "broadcast");
  return wrap(s.graph, build_broadcast(s.graph, s.node, shape, s.where), s.where);
}

Value reshape(Operand x, const Shape &shape) {
  Source s = source(x, "reshape");
  return wrap(s.graph, build_reshape(s.graph, s.node, shape, s.where), s.where);
}

Value transpose(Operand x, const std::vector<int> &permutation) {
  Source s = source(x, "transpose");
  return wrap(s.graph, build_transpose(s.graph, s.node, permutation, s.where), s.where);
}

Value slice(Operand x, int axis, Dim start, Dim stop, std::int64_t step) {
  Source s = source(x, "slice");
  const Shape &shape = s.graph.shape(s.node);
  axis = normalize_axis("slice", axis, static_cast<int>(shape.size()), s.where);
  std::vector<Dim> starts(shape.size(), Dim(0)), stops = shape;
  std::vector<std::int64_t> steps(shape.size(), 1);
  starts[axis] = start;
  stops[axis] = stop;
  steps[axis] = step;
  return wrap(s.graph, build_slice(s.graph, s.node, starts, stops, steps, s.where), s.where);
}

Value flip(Operand x, const std::vector<int> &axes) {
  Source s = source(x, "flip");
  return wrap(s.graph, build_flip(s.graph, s.node, axes, s.where), s.where);
}

Value pad(Operand x, const std::vector<std::int64_t> &lo, const std::vector<std::int64_t> &hi,
          Operand value) {
  Source s = source(x, "pad");
  DType type = s.graph.dtype(s.node);
  NodeId fill;
  if (value.kind() == Operand::Kind::Value)
    fill = node_of(s.graph, value.value(), s.where, "pad", "the fill");
  else
    fill = build_constant(s.graph, operand_literal(value, type, "pad"), {});
  return wrap(s.graph, build_pad(s.graph, s.node, fill, lo, hi, s.where), s.where);
}

Value concat(const std::vector<Value> &parts, int axis, SourceLocation where) {
  if (parts.empty()) fail_at(where, ErrorCode::InvalidArgument, "concat: no operands");
  GraphData &g = graph_of(parts[0], where, "concat", "operand 0");
  std::vector<NodeId> ids;
  for (Value v : parts) ids.push_back(node_of(g, v, where, "concat", operand_name(ids.size())));
  return wrap(g, build_concat(g, ids, axis, where), where);
}

Value gather(Operand x, Value index, int axis) {
  Source s = source(x, "gather");
  NodeId by = node_of(s.graph, index, s.where, "gather", "the index");
  return wrap(s.graph, build_gather(s.graph, s.node, by, axis, s.where), s.where);
}

Value sum(Operand x, const std::vector<int> &axes, bool keep) {
  return reduce(Op::Sum, x, axes, keep);
}
Value prod(Operand x, const std::vector<int> &axes, bool keep) {
  return reduce(Op::Prod, x, axes, keep);
}
Value reduce_max(Operand x, const std::vector<int> &axes, bool keep) {
  return reduce(Op::ReduceMax, x, axes, keep);
}
Value reduce_min(Operand x, const std::vector<int> &axes, bool keep) {
  return reduce(Op::ReduceMin, x, axes, keep);
}
Value any(Operand x, const std::vector<int> &axes, bool keep) {
  return reduce(Op::Any, x, axes, keep);
}
Value all(Operand x, const std::vector<int> &axes, bool keep) {
  return reduce(Op::All, x, axes, keep);
}
Value argmax(Operand x, int axis, bool keep) { return reduce(Op::ArgMax, x, {axis}, keep); }
Value argmin(Operand x, int axis, bool keep) { return reduce(Op::ArgMin, x, {axis}, keep); }

Value cumsum(Operand x, int axis, ScanOptions options) {
  return scan(Op::CumSum, x, axis, options);
}
Value cumprod(Operand x, int axis, ScanOptions options) {
  return scan(Op::CumProd, x, axis, options);
}
Value cummax(Operand x, int axis, ScanOptions options) {
  return scan(Op::CumMax, x, axis, options);
}
Value cummin(Operand x, int axis, ScanOptions options) {
  return scan(Op::CumMin, x, axis, options);
}
Value logcumsumexp(Operand x, int axis, ScanOptions options) {
  return scan(Op::LogCumSumExp, x, axis, options);
}

FUSE_END_NAMESPACE
