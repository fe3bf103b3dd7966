// Prices and connectivity of sets that were not met before.
#include "passes/plan_prices.h"

#include "passes/plan_merge.h"

namespace fuse {

KernelPrices::Price KernelPrices::evaluate(std::span<const PlanId> values) {
  Evaluation e = evaluator_.evaluate(values);
  return {e.cost.seconds, e.legal()};
}

bool KernelPrices::find_connected(std::span<const PlanId> values) const {
  return fuse::are_connected(p_, values);
}

}  // namespace fuse
