// Fills by trial, load after load: the identities of the monoids that are folded most.
#include "passes/schedule/choose_fills.h"

#include "ir/invalid_values.h"
#include "ir/scalar.h"

namespace fuse {

namespace {

constexpr Monoid kCandidates[] = {Monoid::Sum, Monoid::Max, Monoid::Min, Monoid::Prod};

/// The identity of one of the candidates. Where there is none, as for 8-bit floats, it is 0.
std::uint64_t candidate(Monoid monoid, DType dtype) {
  bool computes = !is_float8(dtype) && dtype != DType::Bool;
  return computes ? identity(monoid, dtype)[0] : 0;
}

std::size_t num_reductions(const std::vector<Stmt> &body) {
  std::size_t count = 0;
  for (const Stmt &s : body) count += (s.kind == StmtKind::Reduce) + num_reductions(s.body);
  return count;
}

void choose_fill(const Kernel &kernel, Stmt &load) {
  std::uint64_t best = 0;
  std::size_t most = 0;
  for (Monoid monoid : kCandidates) {
    std::uint64_t fill = load.fill = candidate(monoid, kernel.buffers[load.buffer].dtype);
    std::size_t count = InvalidValues(kernel).num_neutral();
    if (count > most) best = fill, most = count;
  }
  load.fill = best;
}

void choose_in(const Kernel &kernel, std::vector<Stmt> &body) {
  for (Stmt &s : body) {
    if (s.kind == StmtKind::Load && has_fill(kernel, s)) choose_fill(kernel, s);
    choose_in(kernel, s.body);
  }
}

}  // namespace

void choose_fills(Kernel &kernel) {
  if (InvalidValues(kernel).num_neutral() != num_reductions(kernel.body))
    choose_in(kernel, kernel.body);
}

}  // namespace fuse
