// Which dims the reductions of a group fold, and whether one kernel can fold them all.
//
// A kernel holds rows on chip: the dims along which results are read again. Other reductions may
// fold the dims beside the rows (columns over all rows, or everything): each block accumulates
// while it passes over its rows, and the last block finishes.
#include "passes/plan_group_features.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace fuse {

namespace {

constexpr std::size_t kMaxFoldSets = 4;

// Columns are summed in the registers of one block that holds whole rows: elements of its threads.
constexpr double kMaxSummedRow = 16384;
constexpr double kMaxPassedRow = 32768;

AtomList without(const AtomList &a, const AtomList &b) {
  AtomList rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

std::size_t GroupEvaluator::fold_set(const PlanValue &value, Features &f) const {
  auto it = std::find_if(f.sets.begin(), f.sets.end(),
                         [&](const FoldSet &s) { return s.folded == value.folded; });
  if (it == f.sets.end()) it = f.sets.insert(it, {.folded = value.folded});
  it->inner = it->inner && value.inner;
  return static_cast<std::size_t>(it - f.sets.begin());
}

Reject GroupEvaluator::find_reductions(std::span<const PlanId> values, Features &f) {
  for (PlanId v : values) {
    const PlanValue &value = p_.values[v];
    Scratch &s = scratch_[v];
    for (const PlanEdge &e : p_.edges(v)) {
      if (!is_member(e.from)) continue;
      s.folds |= scratch_[e.from].folds;
      s.level = std::max(s.level, scratch_[e.from].level);
      s.scanned = s.scanned || scratch_[e.from].scanned;
    }
    for (std::size_t k = 0; k < f.sets.size(); ++k)
      if (s.folds >> k & 1)
        f.sets[k].reexpands = f.sets[k].reexpands || p_.intersects(value.domain, f.sets[k].folded);
    if (value.kind != ValueKind::Reduction && value.kind != ValueKind::Scan) continue;
    std::size_t set = fold_set(value, f);
    if (f.sets.size() > kMaxFoldSets) return Reject::MixedReductions;
    s.needs = s.folds;
    if (value.kind == ValueKind::Scan) {
      // Not the end of a pass over the rows: its results are there as the pass goes.
      f.sets[set].reexpands = true;
      f.scans_scans = f.scans_scans || s.scanned;
      s.scanned = true;
      s.folds |= 1u << set;
      if (Reject reject = agree_on_scan(v, f); reject != Reject::None) return reject;
      continue;
    }
    s.folds = 1u << set;
    f.levels = std::max(f.levels, ++s.level);
    f.results = std::max(f.results, results_of(value));
  }
  if (can_fold_online(values, f)) set_one_pass(values, f);
  return f.sets.size() < 2 ? choose_only_rows(f) : choose_rows(values, f);
}

/// Whether every sum of the second pass may rise with a maximum of the first, and nothing stored
/// asks for the elements again: the scheduler folds them in one pass (kernel_reductions.cpp; on
/// chip kernel_builder.cpp), unless a weight or a quotient stands against it.
bool GroupEvaluator::can_fold_online(std::span<const PlanId> values, const Features &f) const {
  if (f.sets.size() != 1 || f.levels != 2 || f.scans > 0) return false;
  return std::all_of(values.begin(), values.end(), [&](PlanId v) {
    const PlanValue &value = p_.values[v];
    const Scratch &s = scratch_[v];
    if (value.kind != ValueKind::Reduction)
      return !s.written || s.folds == 0 || !p_.intersects(value.domain, f.sets[0].folded);
    return s.level < 2 || (value.max != kNoPlan && is_member(value.max));
  });
}

void GroupEvaluator::set_one_pass(std::span<const PlanId> values, Features &f) {
  f.levels = 1;
  f.sets[0].reexpands = false;
  for (PlanId v : values) scratch_[v].level = std::min(scratch_[v].level, 1);
}

Reject GroupEvaluator::agree_on_scan(PlanId v, Features &f) const {
  const PlanValue &value = p_.values[v];
  const AtomList &order = p_.axes[v][value.axis];
  if (!f.scan) f.scan = &value, f.scan_order = &order;
  ++f.scans;
  bool agrees = *f.scan_order == order && f.scan->reverse == value.reverse;
  return agrees ? Reject::None : Reject::MixedScans;
}

double GroupEvaluator::results_of(const PlanValue &value) const {
  return p_.domains[value.domain].size / std::max(1.0, p_.domains[value.folded].size);
}

Reject GroupEvaluator::choose_only_rows(Features &f) const {
  if (f.sets.empty()) return Reject::None;
  f.folds.rows = p_.domains[f.folded()].atoms;
  f.folds.reexpands = f.sets[0].reexpands;
  f.row = p_.domains[f.folded()].size;
  return Reject::None;
}

/// The set that is read again, else the smallest that folds innermost axes.
Reject GroupEvaluator::choose_rows(std::span<const PlanId> values, Features &f) const {
  auto rank = [&](const FoldSet &s) {
    return std::pair(s.reexpands ? 0 : 1, s.inner ? p_.domains[s.folded].atoms.size() : 64);
  };
  auto best =
      std::min_element(f.sets.begin(), f.sets.end(),
                       [&](const FoldSet &a, const FoldSet &b) { return rank(a) < rank(b); });
  f.rows = static_cast<std::size_t>(best - f.sets.begin());
  f.folds.reexpands = best->reexpands;
  f.folds.rows = p_.domains[best->folded].atoms;
  f.row = p_.domains[best->folded].size;
  if (!best->inner) return Reject::MixedReductions;
  for (const FoldSet &s : f.sets)
    if (&s != &*best && !folds_beside_rows(s, f)) return Reject::MixedReductions;
  return count_columns(values, f);
}

/// Whether the set folds the rows whole or not at all, and beside them what the others fold.
bool GroupEvaluator::folds_beside_rows(const FoldSet &s, Features &f) const {
  const AtomList &folded = p_.domains[s.folded].atoms;
  AtomList columns = without(folded, f.folds.rows);
  std::size_t shared = folded.size() - columns.size();
  bool agrees = f.folds.columns.empty() || f.folds.columns == columns;
  if (s.reexpands || columns.empty() || !agrees || (shared != 0 && shared != f.folds.rows.size()))
    return false;
  f.folds.columns = std::move(columns);
  return true;
}

Reject GroupEvaluator::count_columns(std::span<const PlanId> values, Features &f) const {
  const unsigned row_bit = 1u << f.rows;
  for (PlanId v : values) {
    const PlanValue &value = p_.values[v];
    const Scratch &s = scratch_[v];
    // The results of columns are known at the end, when those of rows are gone: no reduction can
    // use them, and nobody both.
    bool is_scan = value.kind == ValueKind::Scan;
    if (is_scan && value.folded != f.folded()) return Reject::MixedReductions;
    bool is_reduction = value.kind == ValueKind::Reduction || is_scan;
    unsigned needs = is_reduction ? s.needs : s.folds;
    if ((needs & ~row_bit) && (is_reduction || (needs & row_bit))) return Reject::MixedReductions;
    if (!is_reduction || value.folded == f.folded()) continue;
    f.column_results += results_of(value);
    bool along_rows =
        p_.intersects(value.domain, f.folded()) && !p_.intersects(value.folded, f.folded());
    f.kept_columns += along_rows;
  }
  bool fits = f.row <= (f.kept_columns > 0 ? kMaxSummedRow : kMaxPassedRow);
  return fits ? Reject::None : Reject::LongRows;
}

}  // namespace fuse
