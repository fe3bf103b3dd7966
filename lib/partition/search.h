// Which values to save: minimum cuts propose, plans decide.
#pragma once

#include "partition/min_cut.h"
#include "partition/price.h"

#include <optional>
#include <vector>

namespace fuse {

/// Times this much apart, of both, count as equal: less memory is better then.
inline constexpr double kEqualTime = 1e-3;

class Search {
 public:
  Search(const Joint &joint, Pricer &pricer, std::optional<std::int64_t> budget);

  /// The fastest within the budget that the search meets, without what is saved for next to
  /// nothing. Throws Error{InvalidArgument} where none keeps to the budget.
  const PricedDivision &find();
  /// Finds the division that saves these, which have the names that saved_names() gives. Throws
  /// Error{InvalidArgument} for others, and where that does not keep to the budget.
  void take(const std::vector<std::string> &names);

  /// Every value of forward that backward reads is saved.
  const PricedDivision &store_all();
  /// The same, but outputs are computed again.
  const PricedDivision &outputs_again();
  const PricedDivision &least_memory();
  /// Nothing is saved but what may not be computed again.
  const PricedDivision &recompute_all();
  /// All sets of at most 14 candidates; Error{InvalidArgument} for more.
  const PricedDivision &exhaustive();

  /// Values that may be saved and are not constants, ascending.
  const std::vector<NodeId> &candidates() const { return candidates_; }
  /// The largest of those that are saved, or would be if nothing were computed again. After find().
  std::vector<NodeId> weighty_values();
  /// Whether forward writes the value whatever is saved.
  bool is_written(NodeId id) const { return in_memory_[id]; }

 private:
  std::vector<bool> values_of_forward() const;
  CutProblem empty_problem() const;
  std::vector<bool> cut(const std::vector<CutPrice> &prices) const;
  std::vector<CutPrice> memory_prices() const;
  std::vector<CutPrice> additive_prices(double instructions, double memory) const;
  std::vector<CutPrice> prices_within(const PricedDivision &priced) const;
  CutPrice allowed(NodeId id, CutPrice price) const;
  bool lies_in_memory(NodeId id) const;

  void require_budget(double least) const;
  void consider(const std::vector<bool> &save);
  bool is_better(const PricedDivision &a, const PricedDivision &b) const;
  void propose();
  void propose_checkpoints();
  void save_what_backward_stores(const PricedDivision *priced);
  void reprice(const PricedDivision *last);
  void improve();
  void settle();
  void shed();
  bool improve_at(NodeId id);
  bool improve_one(const std::vector<NodeId> &order);
  bool improve_two(const std::vector<NodeId> &order);
  bool may_continue() const { return pricer_.all().size() < most_plans_; }

  const Joint &joint_;
  Pricer &pricer_;
  const std::optional<std::int64_t> budget_;
  std::size_t most_plans_;
  std::vector<NodeId> nodes_;          // that a cut may go through, ascending
  std::vector<std::size_t> position_;  // by node: in nodes_
  std::vector<bool> in_memory_;        // by node: forward writes it anyway
  std::vector<NodeId> candidates_;
  const PricedDivision *best_ = nullptr;
};

}  // namespace fuse
