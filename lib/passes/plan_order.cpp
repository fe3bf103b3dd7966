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
      version_(graph.values.size()),
      stamp_(graph.values.size()) {
  for (PlanId v = 0; v < graph.values.size(); ++v) {
    group_of_[v] = first_[v] = rank_[v] = at_[v] = v;
    members_[v] = {v};
    version_[v] = ++last_version_;
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
  version_[keep] = ++last_version_;
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
  version_[from] = ++last_version_;
  version_[to] = ++last_version_;
}

bool GroupOrder::try_moves(const std::vector<Move> &moves) {
  std::vector<GroupId> from;
  std::uint32_t lowest = UINT32_MAX, highest = 0;
  for (const Move &m : moves) {
    from.push_back(group_of_[m.values[0]]);
    for (GroupId g : {from.back(), m.to}) {
      lowest = std::min(lowest, rank_[g]);
      highest = std::max(highest, rank_[g]);
    }
    transfer(m.values, from.back(), m.to);
  }
  if (rank_anew(lowest, highest)) return true;
  for (std::size_t i = moves.size(); i-- > 0;) transfer(moves[i].values, moves[i].to, from[i]);
  return false;
}

void GroupOrder::add_vacant(std::size_t n, std::vector<GroupId> &groups) const {
  // The nearest in rank, so that few are ranked anew.
  std::uint32_t start = rank_[groups[0]];
  for (std::uint32_t d = 1; d < at_.size() && n > 0; ++d) {
    for (std::uint32_t r : {start - d, start + d}) {
      if (r >= at_.size() || is_alive(at_[r]) || n == 0) continue;
      groups.push_back(at_[r]);
      --n;
    }
  }
}

/// Kahn's algorithm over the groups of these ranks, least first value first; false, with the ranks
/// as they were, if there is a cycle. One that moves close runs through the groups that they touch,
/// and so through no rank beyond theirs.
bool GroupOrder::rank_anew(std::uint32_t lowest, std::uint32_t highest) {
  auto inside = [&](GroupId g) { return rank_[g] >= lowest && rank_[g] <= highest; };
  pending_.resize(members_.size());  // edges from groups not yet ranked
  for (std::uint32_t r = lowest; r <= highest; ++r) pending_[at_[r]] = 0;
  auto for_users = [&](GroupId g, auto visit) {
    for (PlanId v : members_[g])
      for (PlanId user : p_.users(v))
        if (GroupId next = group_of_[user]; next != g && inside(next)) visit(next);
  };
  for (std::uint32_t r = lowest; r <= highest; ++r)
    for_users(at_[r], [&](GroupId next) { ++pending_[next]; });
  using Entry = std::pair<PlanId, GroupId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<GroupId> order, dead;
  for (std::uint32_t r = lowest; r <= highest; ++r) {
    GroupId g = at_[r];
    if (!is_alive(g))
      dead.push_back(g);
    else if (pending_[g] == 0)
      ready.emplace(members_[g][0], g);
  }
  while (!ready.empty()) {
    GroupId g = ready.top().second;
    ready.pop();
    order.push_back(g);
    for_users(g, [&](GroupId next) {
      if (--pending_[next] == 0) ready.emplace(members_[next][0], next);
    });
  }
  order.insert(order.end(), dead.begin(), dead.end());
  if (order.size() != highest - lowest + 1) return false;
  for (std::uint32_t r = lowest; r <= highest; ++r) {
    at_[r] = order[r - lowest];
    rank_[at_[r]] = r;
  }
  return true;
}

std::vector<GroupId> GroupOrder::sorted() const {
  std::vector<GroupId> groups;
  for (GroupId g : at_)
    if (is_alive(g)) groups.push_back(g);
  return groups;
}

}  // namespace fuse
