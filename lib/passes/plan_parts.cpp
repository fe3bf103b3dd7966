// Closures, neighbourhoods, cores.
#include "passes/plan_parts.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr double kCoreShare = 8;  // times smaller than a kernel's space: beside its core

}  // namespace

std::vector<PlanId> closure(const PlanGraph &graph, const GroupOrder &order, PlanId v,
                            Reach reach) {
  GroupId group = order.group_of(v);
  bool anywhere = reach == Reach::AllUsers || reach == Reach::AllOperands;
  std::set<PlanId> values = {v};
  std::vector<PlanId> stack = {v};
  auto add = [&](PlanId next) {
    bool inside = anywhere ? graph.is_computed(next) : order.group_of(next) == group;
    if (inside && values.insert(next).second) stack.push_back(next);
  };
  while (!stack.empty() && reach != Reach::Alone && values.size() <= kMaxValues) {
    PlanId x = stack.back();
    stack.pop_back();
    if (reach == Reach::WithUsers || reach == Reach::AllUsers)
      for (PlanId user : graph.users(x)) add(user);
    else
      for (const PlanEdge &e : graph.edges(x)) add(e.from);
  }
  return {values.begin(), values.end()};
}

std::set<GroupId> neighbours(const PlanGraph &graph, const GroupOrder &order,
                             const std::vector<PlanId> &values, const std::set<GroupId> &without) {
  constexpr std::size_t kMaxReaders = 24;
  std::set<GroupId> groups;
  auto add = [&](PlanId v) {
    if (graph.is_computed(v) && !without.contains(order.group_of(v)))
      groups.insert(order.group_of(v));
  };
  for (PlanId v : values) {
    for (PlanId user : graph.users(v)) add(user);
    for (const PlanEdge &e : graph.edges(v)) {
      add(e.from);
      if (graph.users(e.from).size() > kMaxReaders) continue;
      for (PlanId reader : graph.users(e.from)) add(reader);
    }
  }
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
