// Closures, neighbourhoods, cores.
#include "passes/plan_parts.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr double kCoreShare = 8;  // times smaller than a kernel's space: beside its core

}  // namespace

std::vector<PlanId> Vicinity::closure(PlanId v, Reach reach, std::size_t most) {
  ++epoch_;
  GroupId group = order_.group_of(v);
  bool anywhere = reach == Reach::AllUsers || reach == Reach::AllOperands;
  std::vector<PlanId> values = {v};
  stamp_[v] = epoch_;
  auto add = [&](PlanId next) {
    bool inside = anywhere ? p_.is_computed(next) : order_.group_of(next) == group;
    if (!inside || stamp_[next] == epoch_) return;
    stamp_[next] = epoch_;
    values.push_back(next);
  };
  for (std::size_t i = 0; i < values.size() && reach != Reach::Alone && values.size() <= most;
       ++i) {
    if (reach == Reach::WithUsers || reach == Reach::AllUsers)
      for (PlanId user : p_.users(values[i])) add(user);
    else
      for (const PlanEdge &e : p_.edges(values[i])) add(e.from);
  }
  std::sort(values.begin(), values.end());
  return values;
}

void Vicinity::add(GroupId g, std::vector<GroupId> &groups) {
  if (group_stamp_[g] == epoch_) return;
  group_stamp_[g] = epoch_;
  groups.push_back(g);
}

std::vector<GroupId> Vicinity::groups_of(std::span<const PlanId> values) {
  ++epoch_;
  std::vector<GroupId> groups;
  for (PlanId v : values) add(order_.group_of(v), groups);
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<GroupId> Vicinity::neighbours(std::span<const PlanId> values,
                                          std::span<const GroupId> without) {
  constexpr std::size_t kMaxReaders = 24;
  ++epoch_;
  for (GroupId g : without) group_stamp_[g] = epoch_;
  std::vector<GroupId> groups;
  auto meet = [&](PlanId v) {
    if (p_.is_computed(v)) add(order_.group_of(v), groups);
  };
  for (PlanId v : values) {
    for (PlanId user : p_.users(v)) meet(user);
    for (const PlanEdge &e : p_.edges(v)) {
      if (stamp_[e.from] == epoch_) continue;
      stamp_[e.from] = epoch_;
      meet(e.from);
      if (p_.users(e.from).size() > kMaxReaders) continue;
      for (PlanId reader : p_.users(e.from)) meet(reader);
    }
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<std::vector<PlanId>> core_and_ends(const PlanGraph &graph,
                                               const std::vector<PlanId> &values) {
  auto size = [&](PlanId v) { return graph.domains[graph.values[v].domain].size; };
  double space = 0;
  for (PlanId v : values) space = std::max(space, size(v));
  auto at = [&](PlanId v) {
    auto it = std::lower_bound(values.begin(), values.end(), v);
    return it != values.end() && *it == v ? it - values.begin() : -1;
  };
  std::vector<char> is_core(values.size()), follows(values.size()), leads(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    is_core[i] = size(values[i]) * kCoreShare >= space;
    for (const PlanEdge &e : graph.edges(values[i]))
      if (auto k = at(e.from); k >= 0) follows[i] |= is_core[k] | follows[k];
  }
  for (std::size_t i = values.size(); i-- > 0;)
    for (PlanId user : graph.users(values[i]))
      if (auto k = at(user); k >= 0) leads[i] |= is_core[k] | leads[k];
  std::vector<std::vector<PlanId>> parts(3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool stays = is_core[i] || (follows[i] && leads[i]);
    parts[stays ? 0 : follows[i] ? 2 : 1].push_back(values[i]);
  }
  std::erase_if(parts, [](const auto &part) { return part.empty(); });
  return parts;
}

}  // namespace fuse
