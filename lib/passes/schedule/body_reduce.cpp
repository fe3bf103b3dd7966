// Reductions of a body.
#include "passes/schedule/body.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

bool is_arg_reduce(Op op) { return op == Op::ArgMax || op == Op::ArgMin; }

}  // namespace

ValueId BodyBuilder::emit_reduced(const Key &key) {
  auto canonical = domain_.at.find(key.node);
  bool available = canonical != domain_.at.end() && canonical->second == key.at &&
                   reduce_results_.count(key.node);
  if (!available) {
    ok_ = false;
    return emit_constant(int_literal(compute_type(g_.dtype(key.node)), 0));
  }
  const std::vector<ValueId> &results = reduce_results_.at(key.node);
  ValueId result = is_arg_reduce(g_.node(key.node).op) ? results[1] : results[0];
  if (auto it = maxima_.find(key.node); it != maxima_.end())
    result = nan_with_infinite(reduce_results_.at(it->second)[0], result);
  DType type = g_.dtype(key.node);
  return kernel_.values[result].dtype == type ? result : compute(Op::Cast, type, {result});
}

/// The sum of exp(u - max(u)) is NaN where the maximum is infinite; folded online it counts nothing
/// where all of u is -inf.
ValueId BodyBuilder::nan_with_infinite(ValueId maximum, ValueId sum) {
  ValueId nan_or_0 = compute(Op::Sub, DType::F32, {maximum, maximum});
  ValueId result = compute(Op::Add, DType::F32, {sum, nan_or_0});
  if (moderate_.contains(sum)) moderate_.insert(result);
  return result;
}

Monoid BodyBuilder::monoid_of(Op op) {
  switch (op) {
    case Op::Sum: return Monoid::Sum;
    case Op::Prod: return Monoid::Prod;
    case Op::ReduceMax: return Monoid::Max;
    case Op::ReduceMin: return Monoid::Min;
    case Op::Any: return Monoid::Any;
    case Op::All: return Monoid::All;
    case Op::ArgMax: return Monoid::ArgMax;
    case Op::ArgMin: return Monoid::ArgMin;
    default: break;  // no reduction
  }
  FUSE_CHECK(false, "{} is no reduction", info(op).name);
}

/// A reduction counts every position: a value that is the same along some folded dim is tied to it.
ValueId BodyBuilder::depend_on_all_folded(ValueId value, const std::vector<DimId> &folded) {
  Index missing = 0;
  const std::vector<DimId> &dims = kernel_.values[value].dims;
  for (DimId d : folded)
    if (!std::binary_search(dims.begin(), dims.end(), d)) missing = missing + Index::dim(d);
  if (missing.is_constant(0)) return value;
  ValueId always = compare_with_zero(Op::Ge, missing);
  return compute(Op::Select, kernel_.values[value].dtype, {always, value, value});
}

void BodyBuilder::reduce(const std::vector<NodeId> &nodes) {
  std::vector<std::vector<ValueId>> operands;
  for (NodeId node : nodes) operands.push_back(reduce_operands(node));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Op op = g_.node(nodes[i]).op;
    std::vector<DType> types = {kernel_.values[operands[i][0]].dtype};
    if (is_arg_reduce(op)) types.push_back(DType::I64);
    reduce_results_[nodes[i]] =
        emit_reduce(monoid_of(op), domain_.folds.at(nodes[i]).dims, std::move(operands[i]), types);
  }
}

/// What the reduction folds: the value, and for arg-reductions its position.
std::vector<ValueId> BodyBuilder::reduce_operands(NodeId node) {
  Op op = g_.node(node).op;
  NodeId operand = g_.operand(node, 0);
  const Fold &fold = domain_.folds.at(node);
  std::vector<ValueId> operands = {lower_at({operand, kNone, fold.operand})};
  // Sums and products of 16-bit floats accumulate in f32.
  DType type = g_.dtype(operand);
  if ((op == Op::Sum || op == Op::Prod) && compute_type(type) != kernel_.values[operands[0]].dtype)
    operands[0] = compute(Op::Cast, compute_type(type), {operands[0]});
  operands[0] = depend_on_all_folded(operands[0], fold.dims);
  if (!is_arg_reduce(op)) return operands;
  ValueId position = index_value(fold.operand[g_.attr<AxesAttr>(node).axes[0]]);
  if (kernel_.values[position].dtype != DType::I64)
    position = compute(Op::Cast, DType::I64, {position});
  operands.push_back(position);
  return operands;
}

std::vector<ValueId> BodyBuilder::emit_reduce(Monoid monoid, const std::vector<DimId> &folded,
                                              std::vector<ValueId> operands,
                                              std::vector<DType> result_types) {
  Stmt s;
  s.kind = StmtKind::Reduce;
  s.monoid = monoid;
  s.axes = folded;
  std::vector<DimId> all = union_dims(operands), dims;
  std::set_difference(all.begin(), all.end(), folded.begin(), folded.end(),
                      std::back_inserter(dims));
  for (DType type : result_types) s.results.push_back(add_value(type, dims));
  s.operands = std::move(operands);
  std::vector<ValueId> results = s.results;
  list_of(all).push_back(std::move(s));
  return results;
}

void BodyBuilder::reduce_online(NodeId sum, const OnlineFold &online) {
  const auto &[maximum, exponent, weight, exponential] = online.sum;
  const Fold &fold = domain_.folds.at(maximum);
  auto operand = [&](NodeId node) { return lower_at({node, kNone, fold.operand}); };
  ValueId u = depend_on_all_folded(operand(exponent), fold.dims);
  ValueId w = weight == kNoNode ? emit_constant(float_literal(DType::F32, 1)) : operand(weight);
  std::vector<ValueId> results =
      emit_reduce(Monoid::Online, fold.dims, {u, w}, {DType::F32, DType::F32});
  // The largest term is its weight: beside 1, terms that are no normal numbers do not count.
  inner->back().approximate = weight == kNoNode;
  reduce_results_[maximum] = {results[0]};
  reduce_results_[sum] = {results[1]};
  if (online.read_sum) maxima_[sum] = maximum;
  if (!online.terms) return;
  ValueId terms = add_value(DType::F32, kernel_.values[u].dims);
  inner->back().results.push_back(terms);
  inner->back().terms = true;
  moderate_.insert(results[1]);  // the largest term is 1
  memo_[{exponential, kNone, domain_.folds.at(sum).operand}] = {terms, true};
}

void BodyBuilder::set_reduced(NodeId node, std::vector<ValueId> results) {
  reduce_results_[node] = std::move(results);
}

}  // namespace fuse
