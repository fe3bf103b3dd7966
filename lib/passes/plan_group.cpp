// Legality of a group of values, and the features that its Work is made from.
#include "passes/plan_group_features.h"

#include "ir/op.h"
#include "passes/row_limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fuse {

namespace {

constexpr double kPointerBytes = 8;

}  // namespace

std::string_view describe(Reject reject) {
  switch (reject) {
    case Reject::None: return "legal";
    case Reject::Domain: return "no iteration space holds both";
    case Reject::RemappedResult:
      return "a reduction or scan would be read at other positions than its own";
    case Reject::TooManyMaps: return "a value would be computed at more than 4 index maps";
    case Reject::MixedReductions: return "they reduce over different dims";
    case Reject::MixedScans: return "they scan in different orders";
    case Reject::LongRows: return "rows are too long to be held while columns are summed";
    case Reject::Statements: return "together they exceed 4096 statements";
    case Reject::Parameters: return "together they exceed the parameter space";
    case Reject::Apart: return "they were asked to be apart";
  }
  return "";
}

GroupEvaluator::GroupEvaluator(const PlanGraph &graph, const Target &target, bool batch_invariant)
    : p_(graph),
      target_(target),
      batch_invariant_(batch_invariant),
      stamp_(graph.values.size()),
      read_stamp_(graph.values.size()),
      read_bytes_(graph.values.size()),
      view_stamp_(graph.value_of.size()),
      scratch_(graph.values.size()),
      bytes_along_(graph.extents.size()) {}

Evaluation GroupEvaluator::evaluate(std::span<const PlanId> values, const Writes &writes) {
  ++epoch_;
  accesses_.clear();
  for (PlanId v : values) {
    stamp_[v] = epoch_;
    scratch_[v].clear();
  }
  Features f;
  Evaluation result;
  if (joins_values_apart()) {
    result.reject = Reject::Apart;
    return result;
  }
  find_writes(values, writes, f);
  result.reject = find_space(values, f);
  if (result.legal()) result.reject = find_reductions(values, f);
  if (result.legal()) result.reject = find_maps(values, f);
  if (!result.legal()) return result;
  count_reads(values, f);
  count_ops(values, f);
  count_across(f);
  count_statements(values, f);

  double parameters = kPointerBytes * static_cast<double>(f.reads + f.writes + p_.num_symbols);
  if (parameters > static_cast<double>(target_.parameter_bytes)) result.reject = Reject::Parameters;
  result.body = f.body;
  result.statements = f.body + f.row_body * (row_slots(f) - 1);
  if (result.statements > kMaxStatements && values.size() > 1) result.reject = Reject::Statements;
  result.space = f.space;
  result.num_reads = f.reads;
  result.num_writes = f.writes;
  result.cost = predict(lay_out(f), target_);
  result.folds = std::move(f.folds);
  return result;
}

bool GroupEvaluator::joins_values_apart() const {
  return std::any_of(p_.apart.begin(), p_.apart.end(), [&](const std::vector<PlanId> &set) {
    return std::count_if(set.begin(), set.end(), [&](PlanId v) { return is_member(v); }) > 1;
  });
}

void GroupEvaluator::find_writes(std::span<const PlanId> values, const Writes &writes,
                                 Features &f) {
  for (PlanId v : values) {
    const PlanValue &value = p_.values[v];
    bool written = value.must_store;
    if (writes) {
      written = writes(v);
    } else {
      auto users = p_.users(v);
      written = written ||
                !std::all_of(users.begin(), users.end(), [&](PlanId u) { return is_member(u); });
    }
    scratch_[v].written = written;
    if (!written) continue;
    ++f.writes;
    add_write(v);
    bool small = !value.must_store && stays_in_l2(v);
    (small ? f.l2 : f.hbm) += value.bytes;
  }
}

/// Stored values, reductions and scans span the kernel's space; everything else follows them.
Reject GroupEvaluator::find_space(std::span<const PlanId> values, Features &f) {
  auto anchors = [&](PlanId v) {
    return scratch_[v].written || p_.values[v].kind == ValueKind::Reduction ||
           p_.values[v].kind == ValueKind::Scan;
  };
  for (PlanId v : values) {
    DomainId d = p_.values[v].domain;
    if (!anchors(v) || p_.is_subset(d, f.space)) continue;
    // Of an empty space, too, the widest.
    if (p_.is_subset(f.space, d) || p_.domains[d].size > p_.domains[f.space].size) f.space = d;
  }
  for (PlanId v : values)
    if (anchors(v) && !p_.is_subset(p_.values[v].domain, f.space)) return Reject::Domain;
  return Reject::None;
}

void GroupEvaluator::count_reads(std::span<const PlanId> values, Features &f) {
  for (PlanId v : values) {
    for (const PlanEdge &e : p_.edges(v)) {
      if (is_member(e.from)) continue;
      const PlanValue &from = p_.values[e.from];
      if (read_stamp_[e.from] != epoch_) {
        read_stamp_[e.from] = epoch_;
        read_bytes_[e.from] = 0;
        ++f.reads;
      }
      if (view_stamp_[e.view] == epoch_) continue;
      view_stamp_[e.view] = epoch_;
      double bytes = std::min(e.bytes, from.bytes - read_bytes_[e.from]);
      read_bytes_[e.from] += bytes;
      add_read(v, e, bytes);
      bool cached =
          from.kind != ValueKind::Input && from.kind != ValueKind::Extern && stays_in_l2(e.from);
      (cached ? f.l2 : f.hbm) += bytes;
      if (f.folds.reexpands && p_.intersects(p_.values[v].domain, f.folded()) &&
          e.bytes >= p_.domains[f.space].size)
        f.row_reads += bytes;
    }
  }
}

/// Positions for which a thread computes once what is the same for all of them: of a row those that
/// fall to one of its threads; where columns are folded, vectors divide the innermost dim.
double GroupEvaluator::positions_per_thread(const Features &f) {
  double positions = kThreadElements;
  if (!f.has_reduction()) return positions;
  if (f.sets[f.rows].inner) {
    positions = std::max(positions, f.row / kBlockThreads);
    return f.folds.reexpands ? std::min<double>(positions, kMaxElementsPerThread) : positions;
  }
  AtomId inner = lanes_of(f);
  while (inner != kNoAtom && positions > 1 && std::fmod(p_.lengths[inner], positions) != 0)
    positions /= 2;
  return positions;
}

/// Where what is folded varies along a part of the space only, neighbouring threads hold the rest:
/// each of them computes it, at every position.
void GroupEvaluator::count_ops(std::span<const PlanId> values, Features &f) {
  double space = p_.domains[f.space].size;
  bool is_repeated =
      f.sets.size() == 1 && std::any_of(values.begin(), values.end(), [&](PlanId v) {
        const PlanValue &value = p_.values[v];
        return value.kind == ValueKind::Reduction && 2 * p_.domains[value.domain].size <= space;
      });
  double least = is_repeated ? space : space / positions_per_thread(f);
  for (PlanId v : values) {
    const Scratch &s = scratch_[v];
    double evaluated = std::max(s.maps.evaluated(), least);
    f.ops += p_.values[v].cost * evaluated;
    if (2 * evaluated >= space) f.functions |= p_.values[v].functions;
  }
}

}  // namespace fuse
