// The index maps at which a group computes its values, and the statements that this takes.
//
// The scheduler emits a value once for each position and guard that users want it at, and again
// behind a reduction where that is cheaper than to hold it. Here each position is the chain of
// edges that leads to it: chains that differ may meet in one position, so this is a bound.
#include "passes/plan_group_features.h"
#include "passes/row_limits.h"

#include <algorithm>
#include <cmath>

namespace fuse {

namespace {

constexpr int kMaxPhases = 31;  // bits

unsigned phase(int n) { return 1u << std::min(n, kMaxPhases); }

/// Of one bit or a few: a call of std::popcount costs more.
int num_phases(unsigned phases) {
  int n = 0;
  for (; phases != 0; phases &= phases - 1) ++n;
  return std::max(1, n);
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}

/// Adds to a sorted list what it lacks of another.
void add_all(AtomList &to, const AtomList &from) {
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

}  // namespace

// Inline, so that compilers place it in the loops below although others could replace it.
inline bool MapSet::add(Id id, double elements) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (entries_[i].id != id) continue;
    entries_[i].elements = std::max(entries_[i].elements, elements);
    return true;
  }
  if (count_ == entries_.size()) return false;
  entries_[count_++] = {id, elements};
  return true;
}

inline MapSet::Id MapSet::through(Id user, const PlanEdge &e, std::uint32_t n) {
  if (!e.guarded && e.changed == 0) return user;
  std::uint64_t name =
      e.guarded ? (std::uint64_t{1} << 63) | n : (std::uint64_t{e.changed} << 32 | e.view);
  return mix(user * 3 + mix(name)) | 1;
}

/// A value that is stored or folded has a place of its own. A reduction has no other.
inline Reject GroupEvaluator::take_own_map(PlanId v, const Features &f) {
  Scratch &s = scratch_[v];
  const PlanValue &value = p_.values[v];
  bool is_scan = value.kind == ValueKind::Scan;
  bool is_reduction = value.kind == ValueKind::Reduction || is_scan;
  if (s.written) s.phases |= phase(f.levels) | (s.level == 0 ? 1 : 0);
  if (is_reduction) {
    const AtomList &folded = p_.domains[value.folded].atoms, &all = p_.domains[value.domain].atoms;
    for (AtomId a : s.changed)
      if ((is_scan || !std::binary_search(folded.begin(), folded.end(), a)) &&
          std::binary_search(all.begin(), all.end(), a))
        return Reject::RemappedResult;
    s.maps.clear();
    s.changed.clear();
  }
  if ((s.written || is_reduction) && !s.maps.add(MapSet::kOwn, value.elements))
    return Reject::TooManyMaps;
  return Reject::None;
}

/// Tells one operand at which maps its user reads it; false if these are too many to compute it at.
inline bool GroupEvaluator::pass_maps(const PlanValue &user, const Scratch &s, std::uint32_t edge) {
  const PlanEdge &e = p_.edge_pool[edge];
  bool is_reduction = user.kind == ValueKind::Reduction;
  unsigned phases = is_reduction ? phase(s.level - 1) : s.phases;
  if (!is_member(e.from)) {
    for (const MapSet::Entry &m : s.maps.entries())
      loads_.push_back({e.from, MapSet::through(m.id, e, edge), user.domain, phases});
    return true;
  }
  Scratch &from = scratch_[e.from];
  from.phases |= phases;
  double most = e.changed == 0 ? p_.values[e.from].elements : e.elements;
  for (const MapSet::Entry &m : s.maps.entries())
    if (!from.maps.add(MapSet::through(m.id, e, edge), most)) return false;
  if (e.changed != 0 || !s.changed.empty()) {
    add_all(from.changed, p_.domains[e.changed].atoms);
    add_all(from.changed, s.changed);
  }
  return true;
}

inline Reject GroupEvaluator::pass_maps(PlanId v) {
  const PlanValue &value = p_.values[v];
  for (std::uint32_t k = 0; k < value.num_edges; ++k)
    if (!pass_maps(value, scratch_[v], value.first_edge + k)) return Reject::TooManyMaps;
  return Reject::None;
}

/// From users to operands: a value that is read through a map which replaces atoms, or under a
/// guard, is computed once more at that map; a reduction cannot be.
Reject GroupEvaluator::find_maps(std::span<const PlanId> values, const Features &f) {
  loads_.clear();
  for (std::size_t i = values.size(); i-- > 0;) {
    Reject reject = take_own_map(values[i], f);
    if (reject == Reject::None) reject = pass_maps(values[i]);
    if (reject != Reject::None) return reject;
  }
  return Reject::None;
}

/// Elements of a row that a thread must hold. Rows beside columns stay in a block, others in a
/// cluster; those that fit in none, and rows of columns, are passed over in loops.
double GroupEvaluator::row_slots(const Features &f) const {
  if (f.has_columns()) return std::ceil(f.row / target_.max_threads_per_block);
  bool is_held = f.folds.reexpands && f.sets[f.rows].inner;
  auto threads = static_cast<double>(max_row_threads(target_));
  return is_held && f.row <= threads * kMaxElementsPerThread ? std::ceil(f.row / threads) : 1;
}

/// In each phase a value may be emitted anew; what is loaded is held, and unpacked anew.
void GroupEvaluator::count_statements(std::span<const PlanId> values, Features &f) {
  for (PlanId v : values) {
    const PlanValue &value = p_.values[v];
    const Scratch &s = scratch_[v];
    auto maps = static_cast<double>(std::max<std::size_t>(1, s.maps.entries().size()));
    double n = value.statements * maps * num_phases(s.phases);
    if (s.written) n += value.tensors + 1;  // stores, and a cast for all
    f.body += n + value.fixed;
    if (p_.intersects(value.domain, f.folded())) f.row_body += n;
  }
  count_loads(f);
}

void GroupEvaluator::count_loads(Features &f) {
  auto place = [](const Load &x) { return std::pair(x.from, x.map); };
  std::sort(loads_.begin(), loads_.end(),
            [&](const Load &a, const Load &b) { return place(a) < place(b); });
  for (std::size_t i = 0, first = 0; i < loads_.size(); first = i) {
    unsigned phases = 0;
    bool along_rows = false;
    for (; i < loads_.size() && place(loads_[i]) == place(loads_[first]); ++i) {
      phases |= loads_[i].phases;
      along_rows = along_rows || p_.intersects(loads_[i].domain, f.folded());
    }
    int n = num_phases(phases);
    f.body += n;
    if (along_rows) f.row_body += n;
  }
}

}  // namespace fuse
