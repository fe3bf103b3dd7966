// Scans of a body: emitted where users want them, at their own place alone.
#include "passes/schedule/body.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

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

}  // namespace

/// Every position takes part, whatever guard its user has.
std::vector<BodyBuilder::Key> BodyBuilder::scan_demands(const Key &key) const {
  auto scan = domain_.scans.find(key.node);
  if (key.guard != kNone) return {{key.node, kNone, key.at}};
  if (scan == domain_.scans.end()) return {};
  return {{g_.operand(key.node, 0), kNone, scan->second.operand}};
}

ValueId BodyBuilder::emit_scan(const Key &key) {
  if (key.guard != kNone) return *find({key.node, kNone, key.at});
  auto scan = domain_.scans.find(key.node);
  DType type = g_.dtype(key.node);
  if (scan == domain_.scans.end() || domain_.at.at(key.node) != key.at) {
    ok_ = false;
    return emit_constant(int_literal(compute_type(type), 0));
  }
  Op op = g_.node(key.node).op;
  ValueId x = *find({g_.operand(key.node, 0), kNone, scan->second.operand});
  DType state = info(op).is(Exact) ? type : compute_type(type);
  if (kernel_.values[x].dtype != state) x = compute(Op::Cast, state, {x});
  const ScanAttr &attr = g_.attr<ScanAttr>(key.node);
  Stmt s;
  s.kind = StmtKind::Scan;
  s.monoid = monoid_of_scan(op);
  s.exclusive = attr.exclusive;
  s.reverse = attr.reverse;
  s.axes = scan->second.dims;
  std::sort(s.axes.begin(), s.axes.end());
  s.operands = {depend_on_all_folded(x, s.axes)};
  bool is_online = s.monoid == Monoid::Online;
  if (is_online) s.operands.push_back(emit_constant(float_literal(state, 1)));
  for (int i = 0; i < num_results(s.monoid); ++i)
    s.results.push_back(add_value(state, kernel_.values[s.operands[0]].dims));
  std::vector<ValueId> results = s.results;
  emit(std::move(s));
  ValueId result = is_online ? emit_log_sum(results) : results[0];
  return state == type ? result : compute(Op::Cast, type, {result});
}

/// maximum + log(sum)
ValueId BodyBuilder::emit_log_sum(const std::vector<ValueId> &state) {
  DType type = kernel_.values[state[0]].dtype;
  return compute(Op::Add, type, {state[0], compute(Op::Log, type, {state[1]})});
}

}  // namespace fuse
