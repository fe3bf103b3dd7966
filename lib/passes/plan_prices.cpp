// Prices of sets that were not met before.
#include "passes/plan_prices.h"

namespace fuse {

KernelPrices::Price KernelPrices::evaluate(std::span<const PlanId> values) {
  Evaluation e = evaluator_.evaluate(values);
  return {e.cost.seconds, e.legal()};
}

}  // namespace fuse
