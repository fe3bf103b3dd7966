// Local search over a partition: values change groups where both groups together become faster.
#include "passes/plan_merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace fuse {

namespace {

constexpr std::size_t kMaxValues = 128;  // of both groups: keeps the search linear in the graph
constexpr double kMinGainSeconds = 1e-9;

class Refiner {
 public:
  Refiner(const PlanGraph &graph, GroupEvaluator &evaluator, GroupOrder &order)
      : p_(graph), evaluator_(evaluator), order_(order) {}

  bool run() {
    bool moved = false;
    for (PlanId v = 0; v < p_.values.size(); ++v)
      if (p_.is_computed(v)) moved = improve(v) || moved;
    return moved;
  }

 private:
  enum class Reach { Alone, WithUsers, WithOperands };

  bool improve(PlanId v);
  bool try_move(std::vector<PlanId> values, GroupId to);
  std::vector<PlanId> closure(PlanId v, Reach reach) const;
  std::set<GroupId> neighbours(const std::vector<PlanId> &values) const;
  double seconds(const std::vector<PlanId> &values);

  const PlanGraph &p_;
  GroupEvaluator &evaluator_;
  GroupOrder &order_;
};

/// The value, and all it feeds or needs within its group.
std::vector<PlanId> Refiner::closure(PlanId v, Reach reach) const {
  GroupId group = order_.group_of(v);
  std::set<PlanId> values = {v};
  std::vector<PlanId> stack = {v};
  auto add = [&](PlanId next) {
    if (order_.group_of(next) == group && values.insert(next).second) stack.push_back(next);
  };
  while (!stack.empty() && reach != Reach::Alone) {
    PlanId x = stack.back();
    stack.pop_back();
    if (reach == Reach::WithUsers)
      for (PlanId user : p_.users(x)) add(user);
    else
      for (const PlanEdge &e : p_.edges(x)) add(e.from);
  }
  return {values.begin(), values.end()};
}

/// Groups that use, feed or read beside one of the values.
std::set<GroupId> Refiner::neighbours(const std::vector<PlanId> &values) const {
  constexpr std::size_t kMaxReaders = 24;
  std::set<GroupId> groups;
  auto add = [&](PlanId v) {
    if (p_.is_computed(v)) groups.insert(order_.group_of(v));
  };
  for (PlanId v : values) {
    for (PlanId user : p_.users(v)) add(user);
    for (const PlanEdge &e : p_.edges(v)) {
      add(e.from);
      if (p_.users(e.from).size() > kMaxReaders) continue;
      for (PlanId reader : p_.users(e.from)) add(reader);
    }
  }
  groups.erase(order_.group_of(values[0]));
  return groups;
}

double Refiner::seconds(const std::vector<PlanId> &values) {
  if (values.empty()) return 0;
  Evaluation e = evaluator_.evaluate(values);
  return e.legal() ? e.cost.seconds : 1e9;
}

bool Refiner::try_move(std::vector<PlanId> values, GroupId to) {
  const auto &from = order_.members(order_.group_of(values[0])), &target = order_.members(to);
  std::vector<PlanId> left, joined;
  std::set_difference(from.begin(), from.end(), values.begin(), values.end(),
                      std::back_inserter(left));
  std::merge(target.begin(), target.end(), values.begin(), values.end(),
             std::back_inserter(joined));
  double before = seconds(from) + seconds(target);
  double after = seconds(left) + seconds(joined);
  return after < before - kMinGainSeconds && are_connected(p_, left) && are_connected(p_, joined) &&
         order_.try_move(values, to);
}

bool Refiner::improve(PlanId v) {
  std::size_t size = order_.members(order_.group_of(v)).size();
  if (size > kMaxValues) return false;
  for (Reach reach : {Reach::Alone, Reach::WithUsers, Reach::WithOperands}) {
    std::vector<PlanId> values = closure(v, reach);
    if (reach != Reach::Alone && values.size() == 1) continue;
    for (GroupId to : neighbours(values))
      if (size + order_.members(to).size() <= kMaxValues && try_move(values, to)) return true;
  }
  return false;
}

}  // namespace

bool are_connected(const PlanGraph &graph, std::span<const PlanId> values) {
  std::map<PlanId, PlanId> parent;  // of values and of large operands that they share
  auto root = [&](PlanId v) {
    while (parent.at(v) != v) v = parent[v] = parent.at(parent.at(v));
    return v;
  };
  for (PlanId v : values) parent.emplace(v, v);
  std::size_t parts = values.size();
  for (PlanId v : values) {
    for (const PlanEdge &e : graph.edges(v)) {
      bool is_member = std::binary_search(values.begin(), values.end(), e.from);
      if (!is_member && graph.values[e.from].bytes < kMinSharedBytes) continue;
      if (parent.emplace(e.from, e.from).second) ++parts;
      PlanId a = root(v), b = root(e.from);
      if (a == b) continue;
      parent[a] = b;
      --parts;
    }
  }
  return parts <= 1;
}

bool refine_groups(const PlanGraph &graph, GroupEvaluator &evaluator, GroupOrder &order) {
  return Refiner(graph, evaluator, order).run();
}

}  // namespace fuse
