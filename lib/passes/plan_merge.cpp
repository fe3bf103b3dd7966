// A priority queue of pairs by the time that one kernel saves over two.
//
// After a contraction the nearest neighbours are priced again at once, as many as a budget of
// visited values allows; entries of the others are stale and are priced when they come up. So a
// graph of n values costs near-linear time while the statement cap bounds the groups.
#include "passes/plan_merge.h"

#include <algorithm>
#include <iterator>
#include <queue>
#include <set>
#include <tuple>

namespace fuse {

namespace {

constexpr std::size_t kMaxSiblings = 24;
constexpr std::size_t kEagerVisits = 8192;  // values visited to price the neighbours of a new group
constexpr std::size_t kMinEager = 2, kMaxEager = 64;

struct Candidate {
  double gain;
  std::uint64_t sequence;
  GroupId a, b;
  std::size_t size_a, size_b;  // when priced
  double seconds;              // of both as one
};

struct Worse {
  bool operator()(const Candidate &x, const Candidate &y) const {
    return x.gain != y.gain ? x.gain < y.gain : x.sequence > y.sequence;
  }
};

class Merger {
 public:
  Merger(const PlanGraph &graph, KernelPrices &prices, GroupOrder &order)
      : p_(graph), prices_(prices), order_(order), seconds_(graph.values.size()) {}

  void run() {
    for (GroupId g : order_.sorted())
      if (p_.is_computed(order_.members(g)[0]))
        seconds_[g] = prices_.price(order_.members(g)).seconds;
    // A pair that was refused may be legal once other groups have grown: until nothing moves.
    bool moved = true;
    while (moved) {
      moved = false;
      push_all();
      while (!queue_.empty()) {
        Candidate top = queue_.top();
        queue_.pop();
        moved = consider(top) || moved;
      }
    }
  }

 private:
  std::vector<GroupId> neighbours(GroupId g, std::size_t limit) const;
  void push_all();
  void push(GroupId a, GroupId b);
  bool consider(const Candidate &c);

  const PlanGraph &p_;
  KernelPrices &prices_;
  GroupOrder &order_;
  std::vector<double> seconds_;  // by living group
  std::priority_queue<Candidate, std::vector<Candidate>, Worse> queue_;
  std::uint64_t sequence_ = 0;
  std::set<std::tuple<GroupId, GroupId, std::size_t, std::size_t>> priced_;
};

/// Groups that share an edge or a large operand with g, nearest in rank first.
std::vector<GroupId> Merger::neighbours(GroupId g, std::size_t limit) const {
  std::set<std::pair<std::uint32_t, GroupId>> by_distance;
  auto add = [&](PlanId v) {
    GroupId other = order_.group_of(v);
    if (other == g || !p_.is_computed(v)) return;
    std::uint32_t x = order_.rank(g), y = order_.rank(other);
    by_distance.emplace(x < y ? y - x : x - y, other);
  };
  for (PlanId v : order_.members(g)) {
    for (PlanId user : p_.users(v)) add(user);
    for (const PlanEdge &e : p_.edges(v)) {
      add(e.from);
      auto readers = p_.users(e.from);
      if (p_.values[e.from].bytes < kMinSharedBytes) continue;
      auto here = std::lower_bound(readers.begin(), readers.end(), v) - readers.begin();
      auto first =
          std::max<std::ptrdiff_t>(0, here - static_cast<std::ptrdiff_t>(kMaxSiblings / 2));
      auto last = std::min<std::ptrdiff_t>(std::ssize(readers), first + kMaxSiblings + 1);
      for (auto i = first; i < last; ++i) add(readers[static_cast<std::size_t>(i)]);
    }
  }
  std::vector<GroupId> result;
  for (const auto &[distance, other] : by_distance) {
    if (result.size() == limit) break;
    result.push_back(other);
  }
  return result;
}

void Merger::push_all() {
  for (GroupId g : order_.sorted()) {
    if (!p_.is_computed(order_.members(g)[0])) continue;
    for (GroupId n : neighbours(g, kMaxEager)) push(g, n);
  }
}

void Merger::push(GroupId a, GroupId b) {
  if (a > b) std::swap(a, b);
  if (!priced_.emplace(a, b, order_.members(a).size(), order_.members(b).size()).second) return;
  SetKey key = order_.key(a);
  key += order_.key(b);
  KernelPrices::Price both = prices_.price(key, [&] { return merged_members(order_, a, b); });
  if (!both.legal) return;
  double gain = seconds_[a] + seconds_[b] - both.seconds;
  if (gain <= 0) return;
  queue_.push(
      {gain, sequence_++, a, b, order_.members(a).size(), order_.members(b).size(), both.seconds});
}

/// True if it contracted the pair.
bool Merger::consider(const Candidate &c) {
  GroupId a = order_.find(c.a), b = order_.find(c.b);
  if (a == b) return false;
  bool stale = a != c.a || b != c.b || order_.members(a).size() != c.size_a ||
               order_.members(b).size() != c.size_b;
  if (stale) {
    push(a, b);
    return false;
  }
  if (order_.closes_cycle(a, b)) return false;
  GroupId merged = order_.contract(a, b);
  seconds_[merged] = c.seconds;
  std::size_t budget = kEagerVisits / order_.members(merged).size();
  for (GroupId n : neighbours(merged, std::clamp(budget, kMinEager, kMaxEager))) push(merged, n);
  return true;
}

}  // namespace

std::vector<PlanId> merged_members(const GroupOrder &order, GroupId a, GroupId b) {
  std::vector<PlanId> values;
  const auto &x = order.members(a), &y = order.members(b);
  std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(values));
  return values;
}

void merge_groups(const PlanGraph &graph, KernelPrices &prices, GroupOrder &order) {
  Merger(graph, prices, order).run();
}

void partition(const PlanGraph &graph, GroupEvaluator &evaluator, GroupOrder &order) {
  constexpr int kMaxRounds = 4;
  std::vector<std::uint64_t> tried(graph.values.size());
  KernelPrices prices(graph, evaluator);
  merge_groups(graph, prices, order);
  for (int round = 0; round < kMaxRounds && refine_groups(graph, prices, order, tried); ++round)
    merge_groups(graph, prices, order);
}

}  // namespace fuse
