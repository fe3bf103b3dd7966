// The greedy plan against the best partition into convex, connected, legal kernels, found by
// enumeration with the same cost.
#include "passes/passes.h"
#include "passes/plan_merge.h"

#include "graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

namespace {

using namespace fuse_test;

/// Pointwise operations and reductions over rows, columns and everything, at random.
Graph random_graph(std::mt19937 &random, int num_ops) {
  Graph g;
  auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Dim rows = Dim(std::int64_t(1) << (6 + pick(8))), columns = std::int64_t(1)
                                                                    << (6 + pick(8));
  std::vector<Value> values = {g.input("x", f32, {rows, columns}),
                               g.input("y", f32, {rows, columns})};
  std::vector<bool> used(2);
  for (int i = 0; i < num_ops; ++i) {
    std::size_t a = pick(values.size()), b = pick(values.size());
    used.resize(values.size());
    used[a] = true;
    Value x = values[a], y = values[b];
    switch (pick(6)) {
      case 0: values.push_back(exp(x)); break;
      case 1: values.push_back(sum(x, {1}, true)); break;
      case 2: values.push_back(sum(x, {0}, true)); break;
      default:
        used[b] = true;
        values.push_back(x + y * double(i + 2));
        break;
    }
  }
  used.resize(values.size());
  for (std::size_t i = 2; i < values.size(); ++i)
    if (!used[i]) g.output("o" + std::to_string(i), values[i]);
  return g;
}

class Optimum {
 public:
  Optimum(const PlanGraph &graph, GroupEvaluator &evaluator)
      : p_(graph), evaluator_(evaluator), connectivity_(graph) {
    for (PlanId v = 0; v < p_.values.size(); ++v)
      if (p_.is_computed(v)) computed_.push_back(v);
    preds_.resize(computed_.size());
    for (std::size_t i = 0; i < computed_.size(); ++i)
      for (const PlanEdge &e : p_.edges(computed_[i]))
        for (std::size_t j = 0; j < i; ++j)
          if (computed_[j] == e.from) preds_[i] |= 1u << j;
  }

  double best() { return best_from(0); }

 private:
  /// Least time of all values not in `done`, which is closed under operands.
  double best_from(unsigned done) {
    unsigned all = (1u << computed_.size()) - 1;
    if (done == all) return 0;
    auto [memo, is_new] = memo_.try_emplace(done, 1e9);
    if (!is_new) return memo->second;
    double best = 1e9;
    unsigned rest = all & ~done;
    for (unsigned set = rest; set != 0; set = (set - 1) & rest) {
      if (!is_closed(done | set)) continue;
      double here = seconds(set);
      if (here >= best) continue;
      best = std::min(best, here + best_from(done | set));
    }
    return memo_[done] = best;
  }

  bool is_closed(unsigned set) const {
    for (std::size_t i = 0; i < computed_.size(); ++i)
      if ((set >> i & 1) && (preds_[i] & ~set)) return false;
    return true;
  }

  double seconds(unsigned set) {
    auto [it, is_new] = seconds_.try_emplace(set, 1e9);
    if (!is_new) return it->second;
    std::vector<PlanId> values;
    for (std::size_t i = 0; i < computed_.size(); ++i)
      if (set >> i & 1) values.push_back(computed_[i]);
    if (!connectivity_.is_connected(values)) return 1e9;
    Evaluation e = evaluator_.evaluate(values);
    return it->second = e.legal() ? e.cost.seconds : 1e9;
  }

  const PlanGraph &p_;
  GroupEvaluator &evaluator_;
  Connectivity connectivity_;
  std::vector<PlanId> computed_;
  std::vector<unsigned> preds_;
  std::map<unsigned, double> seconds_, memo_;
};

/// FUSE_PROPERTY_GRAPHS is the number of graphs, for longer searches.
int num_graphs() {
  const char *text = std::getenv("FUSE_PROPERTY_GRAPHS");
  return text ? std::atoi(text) : 400;
}

TEST(PlanOptimum, AllAreWithinFivePercent) {
  std::mt19937 random(7);
  std::vector<double> ratios;
  for (int trial = 0; trial < num_graphs(); ++trial) {
    Graph g = random_graph(random, 3 + trial % 8);
    PlanGraph values = build_plan_graph(g.data(), {});
    GroupEvaluator evaluator(values, Target::named("h200"));
    GroupOrder order(values);
    partition(values, evaluator, order);
    double greedy = 0;
    for (GroupId group : order.sorted())
      if (values.is_computed(order.members(group)[0]))
        greedy += evaluator.evaluate(order.members(group)).cost.seconds;
    double best = Optimum(values, evaluator).best();
    ASSERT_LT(best, 1.0);
    EXPECT_GE(greedy, best * (1 - 1e-9));
    EXPECT_LE(greedy, best * 1.05) << "graph " << trial << ": " << to_string(g);
    ratios.push_back(greedy / best);
  }
  std::sort(ratios.begin(), ratios.end());
  EXPECT_LT(ratios[ratios.size() / 2], 1.0001);
  EXPECT_LT(ratios[ratios.size() * 95 / 100], 1.01);
}

}  // namespace
