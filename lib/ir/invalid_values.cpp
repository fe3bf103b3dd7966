// One walk in order: every value is known before it is used, and loops change nothing.
#include "ir/invalid_values.h"

#include "ir/scalar.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::uint64_t kAllAxes = ~UINT64_C(0);

bool is_zero(DType dtype, std::uint64_t bits) {
  std::uint64_t sign = UINT64_C(1) << (8 * size_of(dtype) - 1);
  return bits == 0 || (is_float(dtype) && bits == sign);
}

}  // namespace

InvalidValues::InvalidValues(const Kernel &kernel)
    : kernel_(kernel), known_(kernel.values.size()), folded_(kernel.values.size()) {
  visit(kernel.body, kNone);
  mark_folded(kernel.body);
}

/// From the last statement to the first: uses come before what makes the value.
void InvalidValues::mark_folded(const std::vector<Stmt> &body) {
  for (auto stmt = body.rbegin(); stmt != body.rend(); ++stmt) {
    mark_folded(stmt->body);
    bool is_fold = stmt->kind == StmtKind::Reduce || stmt->kind == StmtKind::Scan;
    is_fold |= std::any_of(stmt->results.begin(), stmt->results.end(),
                           [&](ValueId v) { return folded_[v]; });
    if (!is_fold) continue;
    for (ValueId v : used_values(*stmt)) folded_[v] = true;
  }
}

void InvalidValues::visit(const std::vector<Stmt> &body, LayoutId layout) {
  for (const Stmt &stmt : body) {
    if (stmt.kind == StmtKind::Reduce) visit_reduce(stmt, kernel_.layouts[layout]);
    for (ValueId v : stmt.results) known_[v] = known_result(stmt, layout);
    visit(stmt.body, stmt.kind == StmtKind::In ? stmt.layout : layout);
  }
}

void InvalidValues::visit_reduce(const Stmt &reduce, const Layout &layout) {
  std::uint64_t axes = neutral_[&reduce] = neutral_axes(reduce);
  std::vector<std::uint32_t> folded = axes_of(layout, reduce.axes);
  num_neutral_ +=
      std::all_of(folded.begin(), folded.end(), [&](std::uint32_t a) { return axes >> a & 1; });
}

InvalidValues::Known InvalidValues::known_result(const Stmt &stmt, LayoutId layout) const {
  switch (stmt.kind) {
    case StmtKind::Constant: return {kAllAxes, stmt.literal.bits};
    case StmtKind::Compute: return known_compute(stmt);
    case StmtKind::Keep: return known_[stmt.operands[0]];
    case StmtKind::Load: {
      if (layout == kNone || !has_fill(kernel_, stmt)) return {};
      Known known{0, stmt.fill};
      for (std::uint32_t a : axes_of(kernel_.layouts[layout], kernel_.values[stmt.results[0]].dims))
        known.axes |= UINT64_C(1) << a;
      return known;
    }
    case StmtKind::Index:
    case StmtKind::Random:
    case StmtKind::Store:
    case StmtKind::Reduce:
    case StmtKind::Scan:
    case StmtKind::Move:
    case StmtKind::For:
    case StmtKind::In:
    case StmtKind::LastBlock: return {};
  }
  return {};
}

/// Approximate forms are the hardware's: what they give is not computed here.
InvalidValues::Known InvalidValues::known_compute(const Stmt &stmt) const {
  Known known{kAllAxes, 0};
  std::vector<Literal> operands;
  for (ValueId v : stmt.operands) {
    known.axes &= known_[v].axes;
    operands.push_back({kernel_.values[v].dtype, known_[v].bits});
  }
  if (stmt.op == Op::Select) return known_select(stmt);
  if (known.axes == 0 || stmt.approximate) return {};
  known.bits = apply(stmt.op, kernel_.values[stmt.results[0]].dtype, operands);
  return known;
}

/// Two arms of one value need no condition.
InvalidValues::Known InvalidValues::known_select(const Stmt &stmt) const {
  const Known &condition = known_[stmt.operands[0]];
  const Known &yes = known_[stmt.operands[1]], &no = known_[stmt.operands[2]];
  if (yes.bits == no.bits) return {yes.axes & no.axes, yes.bits};
  const Known &chosen = condition.bits ? yes : no;
  return {condition.axes & chosen.axes, chosen.bits};
}

std::uint64_t InvalidValues::neutral_axes(const Stmt &reduce) const {
  const Known &x = known_[reduce.operands[0]];
  DType dtype = kernel_.values[reduce.operands[0]].dtype;
  bool is_identity = x.bits == identity(reduce.monoid, dtype)[0];
  switch (reduce.monoid) {
    case Monoid::Sum: return is_zero(dtype, x.bits) ? x.axes : 0;
    case Monoid::Prod:
    case Monoid::Max:
    case Monoid::Min:
    case Monoid::Any:
    case Monoid::All: return is_identity ? x.axes : 0;
    // exp(-inf) = 0, times a weight that must be finite.
    case Monoid::Online: {
      const Known &weight = known_[reduce.operands[1]];
      Literal w = {kernel_.values[reduce.operands[1]].dtype, weight.bits};
      bool is_finite = apply(Op::IsFinite, DType::Bool, {&w, 1}) != 0;
      return is_identity && is_finite ? x.axes & weight.axes : 0;
    }
    // The position and the count take part too.
    case Monoid::ArgMax:
    case Monoid::ArgMin:
    case Monoid::Welford: return 0;
  }
  return 0;
}

bool InvalidValues::is_neutral(const Stmt &reduce, std::uint32_t axis) const {
  return neutral_.at(&reduce) >> axis & 1;
}

}  // namespace fuse
