// What kernels of sets of values would take: each set is priced once, however often a search comes
// by it.
#pragma once

#include "passes/plan_connect.h"
#include "passes/plan_group.h"
#include "passes/set_key.h"

#include <unordered_map>

namespace fuse {

class KernelPrices {
 public:
  struct Price {
    double seconds;
    bool legal;
  };

  KernelPrices(const PlanGraph &graph, GroupEvaluator &evaluator)
      : evaluator_(evaluator), connectivity_(graph) {}

  /// Of the values, ascending, that the key names and `list` makes.
  template <typename List>
  Price price(const SetKey &key, List list) {
    auto [it, is_new] = prices_.try_emplace(key);
    if (is_new) it->second = evaluate(list());
    return it->second;
  }
  Price price(std::span<const PlanId> values) {
    return price(key_of(values), [&] { return values; });
  }

  /// The parts of a set of values that hang together.
  std::vector<std::vector<PlanId>> connected_parts(std::span<const PlanId> values) {
    return connectivity_.parts(values);
  }

  /// Whether such values hang together.
  template <typename List>
  bool are_connected(const SetKey &key, List list) {
    auto [it, is_new] = connected_.try_emplace(key);
    if (is_new) it->second = connectivity_.is_connected(list());
    return it->second;
  }

 private:
  Price evaluate(std::span<const PlanId> values);

  GroupEvaluator &evaluator_;
  Connectivity connectivity_;
  std::unordered_map<SetKey, Price, SetKeyHash> prices_;
  std::unordered_map<SetKey, bool, SetKeyHash> connected_;
};

}  // namespace fuse
