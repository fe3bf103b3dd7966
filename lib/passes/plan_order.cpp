// Searches and reorders the ranks between two groups.
#include "passes/plan_order.h"

#include "ir/format.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>

namespace fuse {

GroupOrder::GroupOrder(const PlanGraph &graph)
    : p_(graph),
      group_of_(graph.values.size()),
      members_(graph.values.size()),
      key_(graph.values.size()),
      first_(graph.values.size()),
      rank_(graph.values.size()),
      at_(graph.values.size()),
      version_(graph.values.size()),
      stamp_(graph.values.size()) {
  for (PlanId v = 0; v < graph.values.size(); ++v) {
    group_of_[v] = first_[v] = rank_[v] = at_[v] = v;
    members_[v] = {v};
    key_[v] = key_of(v);
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
  key_[keep] += key_[dead];
  key_[dead] = {};
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
  SetKey moved = key_of(values);
  key_[from] -= moved;
  key_[to] += moved;
  version_[from] = ++last_version_;
  version_[to] = ++last_version_;
}

/// Whether a path leads from a group, as it will be, back into it. Above the highest rank of those
/// that change none does.
bool GroupOrder::returns_to(GroupId start, const std::vector<Move> &moves, std::uint32_t highest) {
  ++epoch_;
  bool found = false;
  auto visit = [&](GroupId g, const std::vector<PlanId> &values) {
    for (PlanId v : values) {
      if (group_of_[v] != g) continue;
      for (PlanId user : p_.users(v)) {
        GroupId next = group_of_[user];
        if (next == g || stamp_[next] == epoch_ || rank_[next] > highest) continue;
        found = found || next == start;
        stamp_[next] = epoch_;
        between_.push_back(next);
      }
    }
  };
  between_.assign(1, start);
  while (!between_.empty() && !found) {
    GroupId g = between_.back();
    between_.pop_back();
    visit(g, members_[g]);
    for (const Move &m : moves)
      if (m.to == g) visit(g, m.values);
  }
  return found;
}

/// Nearly all that a search proposes do: groups only learn of their new members where none does.
bool GroupOrder::close_cycle(const std::vector<Move> &moves, std::uint32_t highest) {
  std::vector<GroupId> from;
  for (const Move &m : moves) {
    from.push_back(group_of_[m.values[0]]);
    for (PlanId v : m.values) group_of_[v] = m.to;
  }
  bool closed = std::any_of(moves.begin(), moves.end(),
                            [&](const Move &m) { return returns_to(m.to, moves, highest); });
  for (std::size_t i = 0; i < moves.size(); ++i)
    for (PlanId v : moves[i].values) group_of_[v] = from[i];
  return closed;
}

bool GroupOrder::try_moves(const std::vector<Move> &moves) {
  std::uint32_t lowest = UINT32_MAX, highest = 0;
  for (const Move &m : moves) {
    for (GroupId g : {group_of_[m.values[0]], m.to}) {
      lowest = std::min(lowest, rank_[g]);
      highest = std::max(highest, rank_[g]);
    }
  }
  if (close_cycle(moves, highest)) return false;
  for (const Move &m : moves) transfer(m.values, group_of_[m.values[0]], m.to);
  rank_anew(lowest, highest);
  return true;
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

/// Kahn's algorithm over the groups of these ranks, least first value first.
void GroupOrder::rank_anew(std::uint32_t lowest, std::uint32_t highest) {
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
  FUSE_CHECK(order.size() == highest - lowest + 1, "moves closed a cycle of groups");
  for (std::uint32_t r = lowest; r <= highest; ++r) {
    at_[r] = order[r - lowest];
    rank_[at_[r]] = r;
  }
}

std::vector<GroupId> GroupOrder::sorted() const {
  std::vector<GroupId> groups;
  for (GroupId g : at_)
    if (is_alive(g)) groups.push_back(g);
  return groups;
}

}  // namespace fuse
