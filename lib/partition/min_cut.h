// The cheapest set of values to save where prices are additive: a minimum cut.
#pragma once

#include "ir/graph_data.h"

#include <vector>

namespace fuse {

/// What a value costs to save, and to compute again in backward. Both may be kNever.
struct CutPrice {
  double save = 0, repeat = 0;
};
inline constexpr double kNever = 1e300;

/// Values of a graph in an order in which operands come first, and which of them backward reads.
struct CutProblem {
  std::vector<CutPrice> prices;                    // by value
  std::vector<std::vector<std::size_t>> operands;  // by value
  std::vector<bool> needed;                        // by value
};

/// By value: to be saved. What is needed is saved or computed again, as are operands of what is
/// computed again; the sum of prices is least. A value without operands costs `repeat` like all
/// others.
std::vector<bool> min_cut(const CutProblem &problem);

}  // namespace fuse
