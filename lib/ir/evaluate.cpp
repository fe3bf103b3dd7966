// One forward loop over the nodes; values are dropped after their last use.
#include "ir/evaluate.h"

#include "ir/evaluate_ball.h"
#include "ir/format.h"
#include "ir/op.h"
#include "ir/philox.h"

namespace fuse {

namespace {

using Extents = std::vector<std::int64_t>;

class Evaluator {
 public:
  Evaluator(const GraphData &graph, std::span<const Tensor> inputs, const Bindings &symbols,
            const EvaluateOptions &options)
      : graph_(graph), symbols_(symbols), options_(options), values_(graph.size()) {
    check_inputs(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[graph.inputs[i]] = exactly(inputs[i]);
    find_last_uses();
  }

  Evaluation run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (last_use_[id] == kNoNode && !options_.all_values) continue;
      if (graph_.node(id).op != Op::Input) evaluate_node(id);
      drop_operands(id);
    }
    Evaluation result;
    for (const Output &output : graph_.outputs) result.outputs.push_back(values_[output.node]);
    if (options_.all_values) result.values = std::move(values_);
    return result;
  }

 private:
  void check_inputs(std::span<const Tensor> inputs);
  void find_last_uses();
  void drop_operands(NodeId id);
  void evaluate_node(NodeId id);
  Expected evaluate_leaf(NodeId id, Extents shape) const;
  Expected evaluate_random(NodeId id, Extents shape, const Expected &seed) const;
  void run_extern(NodeId id);

  std::vector<const Expected *> operands(NodeId id) const {
    std::vector<const Expected *> result;
    for (NodeId operand : graph_.operands(id)) result.push_back(&values_[operand]);
    return result;
  }

  const GraphData &graph_;
  const Bindings &symbols_;
  const EvaluateOptions &options_;
  std::vector<Expected> values_;
  std::vector<NodeId> last_use_;  // kNoNode: never used; size(): an output
};

void Evaluator::check_inputs(std::span<const Tensor> inputs) {
  if (inputs.size() != graph_.inputs.size())
    fail(ErrorCode::InvalidArgument, "evaluate: {} inputs for the {} of graph {}", inputs.size(),
         graph_.inputs.size(), graph_.name);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    NodeId id = graph_.inputs[i];
    if (inputs[i].dtype == graph_.dtype(id) &&
        inputs[i].shape == evaluate(graph_.shape(id), symbols_))
      continue;
    fail(ErrorCode::InvalidArgument, "evaluate: input {} is {}{}, not {} of {} elements",
         graph_.attr<InputAttr>(id).name, to_string(graph_.dtype(id)), to_string(graph_.shape(id)),
         to_string(inputs[i].dtype), inputs[i].size());
  }
}

void Evaluator::find_last_uses() {
  last_use_.assign(graph_.size(), kNoNode);
  auto live = static_cast<NodeId>(graph_.size());
  for (const Output &output : graph_.outputs) last_use_[output.node] = live;
  for (NodeId id = live; id-- > 0;) {
    bool used = last_use_[id] != kNoNode || graph_.node(id).op == Op::Extern;
    if (!used && !options_.all_values) continue;
    if (last_use_[id] == kNoNode) last_use_[id] = id;
    for (NodeId operand : graph_.operands(id))
      if (last_use_[operand] == kNoNode) last_use_[operand] = id;
  }
}

void Evaluator::drop_operands(NodeId id) {
  if (options_.all_values) return;
  for (NodeId operand : graph_.operands(id))
    if (last_use_[operand] == id) values_[operand] = {};
}

Expected Evaluator::evaluate_leaf(NodeId id, Extents shape) const {
  DType dtype = graph_.dtype(id);
  bool is_constant = graph_.node(id).op == Op::Constant;
  Expected out = make_expected(dtype, std::move(shape), is_constant, false);
  int axis = is_constant ? 0 : graph_.attr<AxesAttr>(id).axes[0];
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < out.shape.size(); ++i) inner *= out.shape[i];
  for (std::size_t i = 0; i < out.stored(); ++i) {
    Literal literal = is_constant ? graph_.attr<Literal>(id)
                                  : int_literal(dtype, std::int64_t(i) / inner % out.shape[axis]);
    if (is_float(dtype))
      out.value[i] = as_double(literal);
    else
      out.bits[i] = wrap_int(dtype, literal.bits);
  }
  return out;
}

Expected Evaluator::evaluate_random(NodeId id, Extents shape, const Expected &seed) const {
  bool is_certain = error_at(seed, 0) == 0;
  Expected out = make_expected(graph_.dtype(id), std::move(shape), false, !is_certain);
  std::uint64_t stream = graph_.attr<RandomAttr>(id).stream;
  for (std::size_t i = 0; i < out.stored(); ++i)
    out.bits[i] = random_word(bits_at(seed, 0), stream, i);
  if (!is_certain) out.error.assign(out.stored(), kUnknown);
  return out;
}

void Evaluator::run_extern(NodeId id) {
  const auto &attr = graph_.attr<ExternAttr>(id);
  if (!options_.run_extern)
    fail(ErrorCode::InvalidArgument, "evaluate: no callback runs extern {}", attr.name);
  std::vector<Expected> given;
  for (NodeId operand : graph_.operands(id)) given.push_back(values_[operand]);
  std::vector<Expected> results = options_.run_extern(attr.name, given);
  if (results.size() != attr.dtypes.size())
    fail(ErrorCode::InvalidArgument, "evaluate: extern {} gave {} results, not {}", attr.name,
         results.size(), attr.dtypes.size());
  values_[id] = results[0];
  for (NodeId user = id + 1; user < graph_.size(); ++user) {
    if (graph_.node(user).op == Op::ExternResult && graph_.operand(user, 0) == id)
      values_[user] = results[graph_.attr<ExternAttr>(user).result];
  }
}

void Evaluator::evaluate_node(NodeId id) {
  const Node &node = graph_.node(id);
  std::vector<const Expected *> x = operands(id);
  Extents shape = evaluate(graph_.shape(id), symbols_);
  switch (info(node.op).kind) {
    case OpKind::Leaf: values_[id] = evaluate_leaf(id, std::move(shape)); break;
    case OpKind::Random: values_[id] = evaluate_random(id, std::move(shape), *x[0]); break;
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary:
    case OpKind::Compare:
    case OpKind::Test: values_[id] = evaluate_elementwise(node.op, node.dtype, x); break;
    case OpKind::Convert: values_[id] = evaluate_convert(node.op, node.dtype, *x[0]); break;
    case OpKind::View:
      values_[id] = evaluate_view(graph_, id, std::move(shape), x, symbols_);
      break;
    case OpKind::Reduce:
      values_[id] = evaluate_reduce(node.op, *x[0], graph_.attr<AxesAttr>(id).axes,
                                    std::move(shape), options_.extra_depth);
      break;
    case OpKind::Scan:
      values_[id] = evaluate_scan(node.op, *x[0], graph_.attr<ScanAttr>(id));
      break;
    case OpKind::Extern:
      if (node.op == Op::Extern) run_extern(id);
      break;
    case OpKind::Gradient: values_[id] = *x[0]; break;
  }
}

}  // namespace

Expected make_expected(DType dtype, Extents shape, bool splat, bool inexact) {
  Expected x;
  x.dtype = dtype;
  x.shape = std::move(shape);
  x.splat = splat;
  if (is_float(dtype))
    x.value.resize(x.stored());
  else
    x.bits.resize(x.stored());
  if (inexact) x.error.resize(x.stored());
  if (inexact && dtype == DType::F64) x.low.resize(x.stored());
  return x;
}

Expected exactly(const Tensor &tensor) {
  Expected x = make_expected(tensor.dtype, tensor.shape, false, false);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (is_float(tensor.dtype))
      x.value[i] = decode_float(tensor.dtype, tensor.bits(i));
    else
      x.bits[i] = tensor.bits(i);
  }
  return x;
}

Tensor rounded(const Expected &x) {
  Tensor tensor(x.dtype, x.shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::size_t at = x.splat ? 0 : static_cast<std::size_t>(i);
    tensor.set_bits(i, is_float(x.dtype) ? encode_float(x.dtype, x.value[at]) : x.bits[at]);
  }
  return tensor;
}

Evaluation evaluate(const GraphData &graph, std::span<const Tensor> inputs, const Bindings &symbols,
                    const EvaluateOptions &options) {
  for (NodeId id = 0; id < graph.size(); ++id)
    for (const Dim &extent : graph.shape(id))
      if (!extent.is_static() && extent.evaluate(symbols) < 0)
        fail(ErrorCode::Shape,
             "{}: the extent {} of {}{} is negative: a slice is longer than its axis",
             info(graph.node(id).op).text, to_string(extent), to_string(graph.dtype(id)),
             to_string(graph.shape(id)));
  return Evaluator(graph, inputs, symbols, options).run();
}

}  // namespace fuse
