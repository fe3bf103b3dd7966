// Evaluates operations on constants with the scalar definitions. A Constant stands for one repeated
// element, so results stay that small: elementwise operations, pads and joins of the same element,
// and reductions that it decides.
#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "ir/scalar.h"
#include "passes/passes.h"
#include "passes/rewriter.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

/// The literals of the operands if all are constants.
std::vector<Literal> literals_of(const GraphData &g, std::span<const NodeId> operands) {
  std::vector<Literal> literals;
  for (NodeId id : operands) {
    if (g.node(id).op != Op::Constant) return {};
    literals.push_back(g.attr<Literal>(id));
  }
  return literals;
}

/// A padded or joined constant is one if the parts are the same element.
std::optional<Literal> fold_view(Op op, DType dtype, const std::vector<Literal> &x) {
  if (op != Op::Pad && op != Op::Concat) return std::nullopt;
  const Literal &first = x[0];
  auto differs = [&](const Literal &other) {
    std::uint64_t bits = other.dtype == dtype ? other.bits : convert(Op::Cast, dtype, other);
    return bits != first.bits;
  };
  if (first.dtype != dtype || std::any_of(x.begin(), x.end(), differs)) return std::nullopt;
  return first;
}

/// How many elements a reduction folds into one; nothing where a symbol decides.
std::optional<std::int64_t> folded_count(const Shape &shape, const AxesAttr &attr) {
  Dim count = 1;
  for (int axis : attr.axes) count = count * shape[axis];
  return count.is_static() ? std::optional(count.value()) : std::nullopt;
}

std::uint64_t times(Literal x, std::int64_t count) {
  if (is_float(x.dtype)) return encode_float(x.dtype, as_double(x) * double(count));
  const Literal operands[] = {x, int_literal(x.dtype, count)};
  return apply(Op::Mul, x.dtype, operands);
}

std::optional<Literal> fold_reduce(Op op, Literal x, std::int64_t count) {
  if (count == 0) return std::nullopt;
  bool idempotent = op == Op::ReduceMax || op == Op::ReduceMin || op == Op::Any || op == Op::All;
  if (idempotent) return x;
  return op == Op::Sum ? std::optional(Literal{x.dtype, times(x, count)}) : std::nullopt;
}

/// Value of an old node whose operands became those given.
std::optional<Literal> fold(const Rewriter &r, const GraphData &g, NodeId id,
                            std::span<const NodeId> operands) {
  const Node &node = r.from().node(id);
  std::vector<Literal> x = literals_of(g, operands);
  if (x.empty()) return std::nullopt;
  const OpInfo &op_info = info(node.op);
  if (op_info.is_elementwise()) return Literal{node.dtype, apply(node.op, node.dtype, x)};
  if (op_info.kind == OpKind::View) return fold_view(node.op, node.dtype, x);
  bool is_extreme = node.op == Op::CumMax || node.op == Op::CumMin;
  if (is_extreme && !r.from().attr<ScanAttr>(id).exclusive) return x[0];
  if (op_info.kind != OpKind::Reduce) return std::nullopt;
  auto count = folded_count(g.shape(operands[0]), r.from().attr<AxesAttr>(id));
  return count ? fold_reduce(node.op, x[0], *count) : std::nullopt;
}

}  // namespace

Graph fold_constants(const Graph &graph) {
  Rewriter r(graph);
  for (NodeId id = 0; id < r.from().size(); ++id) {
    std::optional<Literal> value = fold(r, r.to(), id, r.operands(id));
    r.set(id, value ? build_constant(r.to(), *value, r.from().shape(id)) : r.copy(id));
  }
  return r.finish();
}

}  // namespace fuse
