// Fills by trial: each load takes the value with which the most reductions need no tests.
#include "codegen/fill.h"

#include "ir/scalar.h"

#include <bit>

namespace fuse {

namespace {

constexpr std::uint64_t kAllAxes = ~UINT64_C(0);
constexpr Monoid kCandidates[] = {Monoid::Sum, Monoid::Max, Monoid::Min, Monoid::Prod};

bool is_scalar(const Kernel &kernel, const Stmt &load) {
  return kernel.buffers[load.buffer].role == BufferRole::Scalar;
}

/// The identity of one of the candidates. Where there is none, as for 8-bit floats, it is 0.
std::uint64_t candidate(Monoid monoid, DType dtype) {
  bool computes = !is_float8(dtype) && (dtype != DType::Bool);
  return computes ? identity(monoid, dtype)[0] : 0;
}

bool is_zero(DType dtype, std::uint64_t bits) {
  std::uint64_t sign = UINT64_C(1) << (8 * size_of(dtype) - 1);
  return bits == 0 || (is_float(dtype) && bits == sign);
}

}  // namespace

Fills::Fills(const Kernel &kernel) : kernel_(kernel), known_(kernel.values.size()) {
  collect(kernel.body, kNone);
  std::size_t reductions = 0;
  for (const auto &[stmt, layout] : stmts_) reductions += stmt->kind == StmtKind::Reduce;
  if (propagate() == reductions) return;
  for (const auto &[stmt, layout] : stmts_)
    if (stmt->kind == StmtKind::Load && stmt->guard == kNone && !is_scalar(kernel, *stmt))
      choose(*stmt);
  propagate();
}

void Fills::collect(const std::vector<Stmt> &body, LayoutId layout) {
  for (const Stmt &stmt : body) {
    stmts_.emplace_back(&stmt, layout);
    collect(stmt.body, stmt.kind == StmtKind::In ? stmt.layout : layout);
  }
}

void Fills::choose(const Stmt &load) {
  DType dtype = kernel_.buffers[load.buffer].dtype;
  std::uint64_t best = 0;
  std::size_t most = 0;
  for (Monoid monoid : kCandidates) {
    std::uint64_t fill = fills_[&load] = candidate(monoid, dtype);
    std::size_t count = propagate();
    if (count > most) best = fill, most = count;
  }
  fills_[&load] = best;
}

/// Values at invalid positions, in order; how many reductions need no tests.
std::size_t Fills::propagate() {
  std::size_t count = 0;
  for (const auto &[stmt, layout] : stmts_) {
    if (stmt->kind == StmtKind::Reduce) {
      std::uint64_t axes = neutral_[stmt] = neutral_axes(*stmt);
      bool all = true;
      for (std::uint32_t a : axes_of(kernel_.layouts[layout], stmt->axes)) all &= axes >> a & 1;
      count += all;
    }
    for (ValueId v : stmt->results) known_[v] = known_result(*stmt, layout);
  }
  return count;
}

Fills::Known Fills::known_result(const Stmt &stmt, LayoutId layout) const {
  switch (stmt.kind) {
    case StmtKind::Constant: return {kAllAxes, stmt.literal.bits};
    case StmtKind::Compute: return known_compute(stmt);
    case StmtKind::Keep: return known_[stmt.operands[0]];
    case StmtKind::Load: {
      if (layout == kNone || stmt.guard != kNone || stmt.bulk || is_scalar(kernel_, stmt))
        return {};
      Known known{0, of(stmt)};
      for (std::uint32_t a : axes_of(kernel_.layouts[layout], kernel_.values[stmt.results[0]].dims))
        known.axes |= UINT64_C(1) << a;
      return known;
    }
    case StmtKind::Position:
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
Fills::Known Fills::known_compute(const Stmt &stmt) const {
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
Fills::Known Fills::known_select(const Stmt &stmt) const {
  const Known &condition = known_[stmt.operands[0]];
  const Known &yes = known_[stmt.operands[1]], &no = known_[stmt.operands[2]];
  if (yes.bits == no.bits) return {yes.axes & no.axes, yes.bits};
  const Known &chosen = condition.bits ? yes : no;
  return {condition.axes & chosen.axes, chosen.bits};
}

std::uint64_t Fills::neutral_axes(const Stmt &reduce) const {
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

std::uint64_t Fills::of(const Stmt &load) const {
  auto it = fills_.find(&load);
  return it == fills_.end() ? 0 : it->second;
}

bool Fills::is_neutral(const Stmt &reduce, std::uint32_t axis) const {
  return neutral_.at(&reduce) >> axis & 1;
}

}  // namespace fuse
