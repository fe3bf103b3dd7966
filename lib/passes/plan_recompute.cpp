// Tries, for each stored value, its cone of unstored pointwise operations in every reader.
//
// The cone of a value lies in the group that owns the value, so recomputing it adds dependences on
// that group and its predecessors only: the order of groups stays valid.
#include "passes/plan_recompute.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace fuse {

namespace {

constexpr std::size_t kMaxReaders = 4;  // unless the cone is small
constexpr std::size_t kSmallCone = 4;   // operations
constexpr std::size_t kMaxCone = 40;
constexpr double kMaxGrowth = 2;  // of all statements
constexpr double kMinGainSeconds = 1e-8;

class Recompute {
 public:
  Recompute(const PlanGraph &graph, GroupEvaluator &evaluator, PlanGroups &groups)
      : p_(graph), evaluator_(evaluator), groups_(groups), used_(graph.values.size()) {
    for (PlanId v = 0; v < p_.values.size(); ++v)
      if (p_.is_computed(v)) budget_ += p_.values[v].cost.statements;
    budget_ *= kMaxGrowth - 1;
  }

  std::vector<RecomputeChoice> run();

 private:
  struct Copy {
    std::uint32_t reader;
    std::vector<PlanId> cone;  // ascending
  };
  using Saved = std::map<std::uint32_t, std::pair<std::vector<PlanId>, double>>;

  RecomputeChoice try_value(PlanId v);
  Saved save(PlanId v, const std::vector<Copy> &copies) const;
  void apply(PlanId v, const std::vector<Copy> &copies);
  bool find_cone(PlanId v, std::uint32_t reader, std::vector<PlanId> &cone) const;
  void set_members(std::uint32_t group, std::vector<PlanId> members);
  void prune(std::uint32_t group);
  double price(std::uint32_t group);

  const PlanGraph &p_;
  GroupEvaluator &evaluator_;
  PlanGroups &groups_;
  double budget_ = 0;                // statements that recomputation may still add
  std::vector<std::uint32_t> used_;  // by value: epoch in which a member of the group uses it
  std::uint32_t epoch_ = 0;
};

/// Operations that a reader must compute to have v; false where a value on the way cannot be.
bool Recompute::find_cone(PlanId v, std::uint32_t reader, std::vector<PlanId> &cone) const {
  std::vector<PlanId> stack = {v};
  while (!stack.empty()) {
    PlanId x = stack.back();
    stack.pop_back();
    if (groups_.holds(reader, x) || std::find(cone.begin(), cone.end(), x) != cone.end()) continue;
    if (p_.values[x].kind != ValueKind::Pointwise || (x != v && groups_.is_stored(p_, x))) continue;
    if (cone.size() == kMaxCone) return false;
    cone.push_back(x);
    for (const PlanEdge &e : p_.edges(x)) stack.push_back(e.from);
  }
  std::sort(cone.begin(), cone.end());
  return true;
}

void Recompute::set_members(std::uint32_t group, std::vector<PlanId> members) {
  for (PlanId v : groups_.members[group]) std::erase(groups_.groups_of[v], group);
  for (PlanId v : members) {
    auto &of = groups_.groups_of[v];
    of.insert(std::lower_bound(of.begin(), of.end(), group), group);
  }
  groups_.members[group] = std::move(members);
}

/// Drops what a group computes for nobody.
void Recompute::prune(std::uint32_t group) {
  ++epoch_;
  std::vector<PlanId> kept;
  const auto &members = groups_.members[group];
  for (std::size_t i = members.size(); i-- > 0;) {
    PlanId v = members[i];
    if (used_[v] != epoch_ && !groups_.writes(p_, group, v)) continue;
    kept.push_back(v);
    for (const PlanEdge &e : p_.edges(v)) used_[e.from] = epoch_;
  }
  std::reverse(kept.begin(), kept.end());
  if (kept.size() != members.size()) set_members(group, std::move(kept));
}

/// Seconds of a group as it stands; negative if it is not legal.
double Recompute::price(std::uint32_t group) {
  const auto &members = groups_.members[group];
  if (members.empty() || !p_.is_computed(members[0])) return 0;
  Evaluation e =
      evaluator_.evaluate(members, [&](PlanId v) { return groups_.writes(p_, group, v); });
  return e.legal() ? e.cost.seconds : -1;
}

RecomputeChoice Recompute::try_value(PlanId v) {
  std::vector<Copy> copies;
  double added = 0;
  std::vector<std::uint32_t> readers = groups_.readers(p_, v);
  for (std::uint32_t reader : readers) {
    Copy copy{reader, {}};
    bool small = find_cone(v, reader, copy.cone);
    bool asked = p_.values[v].recompute;
    if (!small || (!asked && readers.size() > kMaxReaders && copy.cone.size() > kSmallCone))
      return {v, false, 0, "too much would be computed again"};
    for (PlanId x : copy.cone) added += p_.values[x].cost.statements;
    copies.push_back(std::move(copy));
  }
  if (added > budget_ && !p_.values[v].recompute)
    return {
        v, false, 0,
        "computing it again would more than double the statements of all kernels together, where "
        "the planner stops; --recompute tries it all the same"};

  Saved before = save(v, copies);
  apply(v, copies);
  double old_seconds = 0, new_seconds = 0;
  bool legal = true;
  std::map<std::uint32_t, double> priced;
  for (const auto &[g, state] : before) {
    priced[g] = price(g);
    legal = legal && priced[g] >= 0;
    old_seconds += state.second;
    new_seconds += priced[g];
  }
  bool wins = new_seconds < old_seconds - kMinGainSeconds || p_.values[v].recompute;
  if (legal && wins) {
    for (const auto &[g, seconds] : priced) groups_.seconds[g] = seconds;
    budget_ -= added;
    return {v, true, old_seconds - new_seconds, {}};
  }
  for (auto &[g, state] : before) set_members(g, std::move(state.first));
  if (!legal) return {v, false, 0, "a reader cannot compute it"};
  return {v, false, new_seconds - old_seconds, {}};
}

/// All groups whose members or time the copies may change.
Recompute::Saved Recompute::save(PlanId v, const std::vector<Copy> &copies) const {
  Saved saved;
  auto add = [&](std::uint32_t g) { saved.try_emplace(g, groups_.members[g], groups_.seconds[g]); };
  add(groups_.owner[v]);
  for (const Copy &copy : copies) {
    add(copy.reader);
    for (PlanId x : copy.cone)
      for (const PlanEdge &e : p_.edges(x)) add(groups_.owner[e.from]);
  }
  return saved;
}

void Recompute::apply(PlanId v, const std::vector<Copy> &copies) {
  for (const Copy &copy : copies) {
    const auto &now = groups_.members[copy.reader];
    std::vector<PlanId> members;
    std::set_union(now.begin(), now.end(), copy.cone.begin(), copy.cone.end(),
                   std::back_inserter(members));
    set_members(copy.reader, std::move(members));
  }
  prune(groups_.owner[v]);
}

std::vector<RecomputeChoice> Recompute::run() {
  for (std::uint32_t g = 0; g < groups_.members.size(); ++g) groups_.seconds[g] = price(g);
  std::vector<PlanId> stored;
  for (PlanId v = 0; v < p_.values.size(); ++v)
    if (p_.values[v].kind == ValueKind::Pointwise && !p_.values[v].must_store &&
        groups_.is_stored(p_, v))
      stored.push_back(v);
  std::stable_sort(stored.begin(), stored.end(),
                   [&](PlanId a, PlanId b) { return p_.values[a].bytes > p_.values[b].bytes; });
  std::vector<RecomputeChoice> choices;
  for (PlanId v : stored)
    if (groups_.is_stored(p_, v)) choices.push_back(try_value(v));
  return choices;
}

}  // namespace

PlanGroups::PlanGroups(const PlanGraph &graph, const GroupOrder &order)
    : groups_of(graph.values.size()), owner(graph.values.size()) {
  for (GroupId g : order.sorted()) {
    auto index = static_cast<std::uint32_t>(members.size());
    members.push_back(order.members(g));
    for (PlanId v : members.back()) {
      groups_of[v] = {index};
      owner[v] = index;
    }
  }
  seconds.resize(members.size());
}

bool PlanGroups::holds(std::uint32_t group, PlanId v) const {
  return std::binary_search(groups_of[v].begin(), groups_of[v].end(), group);
}

std::vector<std::uint32_t> PlanGroups::readers(const PlanGraph &graph, PlanId v) const {
  std::vector<std::uint32_t> result;
  for (PlanId user : graph.users(v))
    for (std::uint32_t g : groups_of[user])
      if (!holds(g, v)) result.push_back(g);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool PlanGroups::is_stored(const PlanGraph &graph, PlanId v) const {
  if (!graph.is_computed(v)) return true;
  if (graph.values[v].must_store) return true;
  for (PlanId user : graph.users(v))
    for (std::uint32_t g : groups_of[user])
      if (!holds(g, v)) return true;
  return false;
}

std::vector<RecomputeChoice> choose_recomputation(const PlanGraph &graph, GroupEvaluator &evaluator,
                                                  PlanGroups &groups) {
  return Recompute(graph, evaluator, groups).run();
}

}  // namespace fuse
