// Scans of a body: emitted where users want them, at their own place alone.
#include "passes/schedule/body.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

Monoid monoid_of_scan(Op op) {
  switch (op) {
    case Op::CumSum: return Monoid::Sum;
    case Op::CumProd: return Monoid::Prod;
    case Op::CumMax: return Monoid::Max;
    case Op::CumMin: return Monoid::Min;
    case Op::LogCumSumExp: return Monoid::Online;
    default: break;  // no scan
  }
  FUSE_CHECK(false, "{} is no scan", info(op).name);
}

/// Every position takes part, whatever guard its user has.
std::vector<BodyBuilder::Key> BodyBuilder::scan_demands(const Key &key) const {
  auto scan = domain_.scans.find(key.node);
  if (key.guard != kNone) return {{key.node, kNone, key.at}};
  if (scan == domain_.scans.end()) return {};
  return {{g_.operand(key.node, 0), kNone, scan->second.operand}};
}

/// Where scan, and what it is at that place, meet.
bool BodyBuilder::is_at_home(const Key &key) const {
  return domain_.scans.contains(key.node) && domain_.at.at(key.node) == key.at;
}

/// What the scan runs over; the operand of its node has been lowered.
std::vector<ValueId> BodyBuilder::scan_operands(NodeId node) {
  const Fold &scan = domain_.scans.at(node);
  ValueId x = *find({g_.operand(node, 0), kNone, scan.operand});
  DType state = scan_state_type(node);
  if (kernel_.values[x].dtype != state) x = compute(Op::Cast, state, {x});
  std::vector<DimId> axis = scan.dims;
  std::sort(axis.begin(), axis.end());
  std::vector<ValueId> operands = {depend_on_all_folded(x, axis)};
  if (monoid_of_scan(g_.node(node).op) == Monoid::Online)
    operands.push_back(emit_constant(float_literal(state, 1)));
  return operands;
}

DType BodyBuilder::scan_state_type(NodeId node) const {
  DType type = g_.dtype(node);
  return info(g_.node(node).op).is(Exact) ? type : compute_type(type);
}

ValueId BodyBuilder::emit_scan(const Key &key) {
  if (key.guard != kNone) return *find({key.node, kNone, key.at});
  DType type = g_.dtype(key.node), state = scan_state_type(key.node);
  if (!is_at_home(key)) {
    ok_ = false;
    return emit_constant(int_literal(compute_type(type), 0));
  }
  const ScanAttr &attr = g_.attr<ScanAttr>(key.node);
  Stmt s;
  s.kind = StmtKind::Scan;
  s.monoid = monoid_of_scan(g_.node(key.node).op);
  s.exclusive = attr.exclusive;
  s.reverse = attr.reverse;
  s.axes = domain_.scans.at(key.node).dims;
  std::sort(s.axes.begin(), s.axes.end());
  s.operands = scan_operands(key.node);
  if (auto start = scan_starts_.find(key.node); start != scan_starts_.end())
    s.operands.insert(s.operands.end(), start->second.begin(), start->second.end());
  for (int i = 0; i < num_results(s.monoid); ++i)
    s.results.push_back(add_value(state, union_dims(s.operands)));
  std::vector<ValueId> results = s.results;
  emit(std::move(s));
  ValueId result = results.size() > 1 ? emit_log_sum(results) : results[0];
  if (state != type) result = compute(Op::Cast, type, {result});
  cheap_ops_.resize(kernel_.values.size());
  cheap_ops_[result] = 0;  // held across barriers: nothing brings it back but the scan
  return result;
}

std::vector<ValueId> BodyBuilder::total_of_scan(NodeId node) {
  const Fold &scan = domain_.scans.at(node);
  lower_at({g_.operand(node, 0), kNone, scan.operand});
  std::vector<ValueId> operands = scan_operands(node);
  std::vector<DimId> axis = scan.dims;
  std::sort(axis.begin(), axis.end());
  Monoid monoid = monoid_of_scan(g_.node(node).op);
  std::vector<DType> types(static_cast<std::size_t>(num_results(monoid)), scan_state_type(node));
  return emit_reduce(monoid, axis, std::move(operands), types);
}

void BodyBuilder::start_scan_from(NodeId node, std::vector<ValueId> state) {
  scan_starts_[node] = std::move(state);
}

/// maximum + log(sum)
ValueId BodyBuilder::emit_log_sum(const std::vector<ValueId> &state) {
  DType type = kernel_.values[state[0]].dtype;
  return compute(Op::Add, type, {state[0], compute(Op::Log, type, {state[1]})});
}

}  // namespace fuse
