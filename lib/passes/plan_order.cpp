// Searches and reorders the ranks between two groups.
#include "passes/plan_order.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>

namespace fuse {

GroupOrder::GroupOrder(const PlanGraph &graph)
    : p_(graph),
      group_of_(graph.values.size()),
      members_(graph.values.size()),
      first_(graph.values.size()),
      rank_(graph.values.size()),
      at_(graph.values.size()),
      stamp_(graph.values.size()) {
  for (PlanId v = 0; v < graph.values.size(); ++v) {
    group_of_[v] = first_[v] = rank_[v] = at_[v] = v;
    members_[v] = {v};
  }
}

/// Collects in between_ what `from` reaches at ranks below that of `to`. True if any of it, `from`
/// itself left out, has an edge to `to`.
bool GroupOrder::reaches(GroupId from, GroupId to) {
  ++epoch_;
  between_.clear();
  std::vector<GroupId> stack = {from};
  bool found = false;
  while (!stack.empty() && !found) {
    GroupId g = stack.back();
    stack.pop_back();
    for (PlanId v : members_[g]) {
      for (PlanId user : p_.users(v)) {
        GroupId next = group_of_[user];
        if (next == to) found = found || g != from;
        if (rank_[next] >= rank_[to] || next == from || stamp_[next] == epoch_) continue;
        stamp_[next] = epoch_;
        between_.push_back(next);
        stack.push_back(next);
      }
    }
  }
  return found;
}

bool GroupOrder::closes_cycle(GroupId a, GroupId b) {
  if (rank_[a] > rank_[b]) std::swap(a, b);
  return reaches(a, b);
}

GroupId GroupOrder::contract(GroupId a, GroupId b) {
  if (rank_[a] > rank_[b]) std::swap(a, b);
  reaches(a, b);
  // What a reaches must follow; the rest of the region keeps its place before.
  std::sort(between_.begin(), between_.end(),
            [&](GroupId x, GroupId y) { return rank_[x] < rank_[y]; });
  std::uint32_t write = rank_[a];
  std::uint32_t last = rank_[b];
  for (std::uint32_t r = rank_[a] + 1; r < last; ++r) {
    GroupId g = at_[r];
    if (stamp_[g] == epoch_ && is_alive(g)) continue;
    at_[write] = g;
    rank_[g] = write++;
  }
  GroupId dead = members_[a].size() < members_[b].size() ? a : b;
  GroupId keep = dead == a ? b : a;
  at_[write] = keep;
  rank_[keep] = write++;
  for (GroupId g : between_) {
    at_[write] = g;
    rank_[g] = write++;
  }
  at_[write] = dead;
  rank_[dead] = write;

  std::vector<PlanId> merged;
  std::merge(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(),
             std::back_inserter(merged));
  for (PlanId v : members_[dead]) group_of_[v] = keep;
  members_[dead].clear();
  members_[keep] = std::move(merged);
  return keep;
}

void GroupOrder::transfer(const std::vector<PlanId> &values, GroupId from, GroupId to) {
  std::vector<PlanId> left, joined;
  std::set_difference(members_[from].begin(), members_[from].end(), values.begin(), values.end(),
                      std::back_inserter(left));
  std::merge(members_[to].begin(), members_[to].end(), values.begin(), values.end(),
             std::back_inserter(joined));
  for (PlanId v : values) group_of_[v] = to;
  members_[from] = std::move(left);
  members_[to] = std::move(joined);
}

bool GroupOrder::try_move(const std::vector<PlanId> &values, GroupId to) {
  GroupId from = group_of_[values[0]];
  transfer(values, from, to);
  if (rank_anew()) return true;
  transfer(values, to, from);
  return false;
}

/// Kahn's algorithm over the groups, least first value first; false, with the ranks as they were,
/// if there is a cycle.
bool GroupOrder::rank_anew() {
  std::vector<std::uint32_t> pending(members_.size());  // edges from groups not yet ranked
  for (PlanId v = 0; v < p_.values.size(); ++v)
    for (PlanId user : p_.users(v))
      if (group_of_[user] != group_of_[v]) ++pending[group_of_[user]];
  using Entry = std::pair<PlanId, GroupId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::size_t living = 0;
  for (GroupId g = 0; g < members_.size(); ++g) {
    if (!is_alive(g)) continue;
    ++living;
    if (pending[g] == 0) ready.emplace(members_[g][0], g);
  }
  std::vector<GroupId> order;
  while (!ready.empty()) {
    GroupId g = ready.top().second;
    ready.pop();
    order.push_back(g);
    for (PlanId v : members_[g])
      for (PlanId user : p_.users(v))
        if (GroupId next = group_of_[user]; next != g && --pending[next] == 0)
          ready.emplace(members_[next][0], next);
  }
  if (order.size() != living) return false;
  for (GroupId g = 0; g < members_.size(); ++g)
    if (!is_alive(g)) order.push_back(g);
  for (std::uint32_t r = 0; r < order.size(); ++r) rank_[order[r]] = r;
  at_ = std::move(order);
  return true;
}

std::vector<GroupId> GroupOrder::sorted() const {
  std::vector<GroupId> groups;
  for (GroupId g : at_)
    if (is_alive(g)) groups.push_back(g);
  return groups;
}

}  // namespace fuse
