// Accesses that run across the lanes of a group: neighbouring threads are neighbours along one
// axis, and what is contiguous along another is loaded and stored an element and a sector at a
// time.
//
// What is loaded of a tensor that stays in the L2 cache meets there, unless other blocks have the
// neighbours: sums over all but the channels of what lies channels last take 46 us for 2.4 M
// elements of two tensors, 77 for 4.8 M. Stores cost as much as those of larger ones: a layer norm
// over channels that stores channels last takes 43 us on an H200 for 1.2 MB, 55 for 4.8 and 93
// for 9.6 (bench/results, convnext), and 12 for 2.4 MB where it is parted in two. Where threads
// meet for no reduction tensors pass through tiles in shared memory (schedule/tiles.h), which costs
// nothing that the model would see.
#include "ir/index.h"
#include "passes/plan_group_features.h"
#include "passes/row_limits.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr double kLeastExtent = 8;  // shorter axes leave whole sectors to each thread
constexpr double kLeastStored = 1 << 20;

bool holds(const std::vector<AtomList> &axes, AtomId atom) {
  return std::any_of(axes.begin(), axes.end(), [&](const AtomList &axis) {
    return std::find(axis.begin(), axis.end(), atom) != axis.end();
  });
}

AtomId innermost(const std::vector<AtomList> &axes) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
    if (!axis->empty()) return axis->back();
  return kNoAtom;
}

}  // namespace

void GroupEvaluator::add_write(PlanId v) {
  const PlanValue &value = p_.values[v];
  accesses_.push_back({v, 0, innermost(p_.axes[v]), num_elements(v), value.bytes, true});
}

double GroupEvaluator::num_elements(PlanId v) const {
  const PlanValue &value = p_.values[v];
  return value.kind == ValueKind::Reduction ? results_of(value) : value.elements;
}

/// What spans its user runs along all that it does, whatever index maps make of its own axes.
void GroupEvaluator::add_read(PlanId user, const PlanEdge &e, double bytes) {
  DomainId all = p_.values[user].domain;
  bool spans_user = std::min(e.elements, num_elements(e.from)) >= p_.domains[all].size;
  accesses_.push_back({e.from, spans_user ? all : 0, p_.along(e), e.elements, bytes, false});
}

bool GroupEvaluator::runs_along(const Access &a, AtomId atom) const {
  const AtomList &user = p_.domains[a.domain].atoms;
  return std::binary_search(user.begin(), user.end(), atom) || holds(p_.axes[a.value], atom);
}

bool GroupEvaluator::stays_in_l2(PlanId v) const {
  return p_.values[v].bytes <= kL2Share * static_cast<double>(target_.l2_capacity);
}

bool GroupEvaluator::is_near(const Access &a) const {
  return a.store ? p_.values[a.value].bytes < kLeastStored : stays_in_l2(a.value);
}

/// The atom that most bytes lie along; of rows beside columns, one of theirs.
AtomId GroupEvaluator::lanes_of(const Features &f) {
  const AtomList &rows = f.folds.rows;
  auto counts = [&](const Access &a) {
    return a.along != kNoAtom &&
           (!f.has_columns() || std::binary_search(rows.begin(), rows.end(), a.along));
  };
  for (const Access &a : accesses_)
    if (counts(a)) bytes_along_[a.along] = 0;
  AtomId best = kNoAtom;
  for (const Access &a : accesses_)
    if (counts(a)) bytes_along_[a.along] += a.bytes;
  for (const Access &a : accesses_)
    if (counts(a) && (best == kNoAtom || bytes_along_[a.along] > bytes_along_[best]))
      best = a.along;
  return best;
}

/// Whether the scheduler lets each thread fold alone.
bool GroupEvaluator::folds_in_thread(const Features &f) {
  if (f.sets.size() != 1 || f.scans > 0 || f.row > kMaxThreadFold) return false;
  const AtomList &folded = f.folds.rows;
  auto is_known = [&](AtomId a) { return Index(p_.extents[a]).constant().has_value(); };
  AtomId lanes = lanes_of(f);
  bool outside = lanes == kNoAtom ? !f.sets[0].inner
                                  : !std::binary_search(folded.begin(), folded.end(), lanes);
  return outside && std::all_of(folded.begin(), folded.end(), is_known);
}

void GroupEvaluator::count_across(Features &f) {
  AtomId lanes = f.has_reduction() && f.scans == 0 ? lanes_of(f) : kNoAtom;
  if (lanes == kNoAtom || p_.lengths[lanes] < kLeastExtent) return;
  bool may_tile = folds_in_thread(f);
  auto folds = [&](AtomId atom) {
    return std::binary_search(f.folds.rows.begin(), f.folds.rows.end(), atom);
  };
  for (const Access &a : accesses_) {
    if (a.along == lanes || a.along == kNoAtom) continue;
    // Blocks that fold rows have one position each of what is not folded.
    bool has_no_reuse = !a.store && folds(lanes) && !folds(a.along);
    if (!has_no_reuse && is_near(a)) continue;
    if (p_.lengths[a.along] < kLeastExtent || !runs_along(a, lanes)) continue;
    bool is_folded = std::any_of(f.folds.rows.begin(), f.folds.rows.end(),
                                 [&](AtomId atom) { return runs_along(a, atom); });
    if (may_tile && !is_folded) continue;
    if (a.store)
      f.stores_across += a.elements;
    else
      (has_no_reuse ? f.loads_without_reuse : f.loads_across) += a.elements;
  }
}

}  // namespace fuse
