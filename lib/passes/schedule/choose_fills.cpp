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

/// Reductions that need no tests with the best fill for the load, one of the kernel's.
std::size_t choose_fill(Kernel &kernel, Stmt &load, std::size_t reductions) {
  std::uint64_t best = 0;
  std::size_t most = 0;
  for (Monoid monoid : kCandidates) {
    std::uint64_t fill = load.fill = candidate(monoid, kernel.buffers[load.buffer].dtype);
    std::size_t count = InvalidValues(kernel).num_neutral();
    if (count > most) best = fill, most = count;
    if (most == reductions) break;  // each trial looks at the whole kernel
  }
  load.fill = best;
  return most;
}

/// Whether no reduction needs a test: then the loads that are left keep their fills.
bool choose_in(Kernel &kernel, std::vector<Stmt> &body, std::size_t reductions) {
  for (Stmt &s : body) {
    bool is_load = s.kind == StmtKind::Load && has_fill(kernel, s);
    if (is_load && choose_fill(kernel, s, reductions) == reductions) return true;
    if (choose_in(kernel, s.body, reductions)) return true;
  }
  return false;
}

}  // namespace

void choose_fills(Kernel &kernel) {
  std::size_t reductions = num_reductions(kernel.body);
  if (InvalidValues(kernel).num_neutral() != reductions) choose_in(kernel, kernel.body, reductions);
}

}  // namespace fuse
