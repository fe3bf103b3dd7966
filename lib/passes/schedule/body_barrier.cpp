// What threads hold across barriers: elements as they came, and what is dear to compute again.
#include "passes/schedule/body.h"

#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr int kMostCheapOps = 4;  // an unpacked element costs a register more
constexpr int kPacked = -1;

bool is_cheap(Op op) {
  switch (op) {
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Rem:
    case Op::Sqrt: return false;
    default: return info(op).is_elementwise() && info(op).is(Exact);
  }
}

}  // namespace

int BodyBuilder::cheap_ops(ValueId value) const {
  return value < cheap_ops_.size() ? cheap_ops_[value] : 0;
}

/// Operations since what is held: 0 for a value that is held itself.
void BodyBuilder::count_cheap_ops(const Stmt &stmt) {
  if (stmt.results.empty()) return;
  cheap_ops_.resize(kernel_.values.size());
  int &count = cheap_ops_[stmt.results[0]];
  if (stmt.kind == StmtKind::Load || stmt.kind == StmtKind::Keep)
    count = size_of(kernel_.values[stmt.results[0]].dtype) < 4 ? kPacked : 0;
  if (stmt.kind != StmtKind::Compute || !is_cheap(stmt.op)) return;
  count = 1;
  for (ValueId v : stmt.operands) count += std::max(cheap_ops(v), 0);
  if (count > kMostCheapOps) count = 0;
}

void BodyBuilder::cross_barrier() {
  for (auto it = memo_.begin(); it != memo_.end();) {
    const auto &[key, emitted] = *it;
    bool is_packed = cheap_ops(emitted.value) == kPacked;
    bool stays = !emitted.in_loop || cheap_ops(emitted.value) == 0;
    if (!stays && is_packed && !is_member(key.node)) crossed_[key] = emitted.value;
    it = stays ? std::next(it) : memo_.erase(it);
  }
}

ValueId BodyBuilder::emit_crossed(const Key &key) {
  ValueId packed = crossed_.at(key);
  crossed_.erase(key);
  Stmt s;
  s.kind = StmtKind::Keep;
  s.operands = {packed};
  s.results = {add_value(kernel_.values[packed].dtype, kernel_.values[packed].dims)};
  ValueId kept = s.results[0];
  emit(std::move(s));
  return kept;
}

}  // namespace fuse
