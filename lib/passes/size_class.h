// Classes of sizes: what programs are laid out for.
#pragma once

#include "ir/graph_data.h"
#include "ir/index.h"

#include <cstdint>
#include <vector>

namespace fuse {

/// Ranges in which symbols are at least what the graph declares.
Ranges ranges_of(const std::vector<Symbol> &symbols);

/// Powers of two, at most 16, that divide the sizes: what their class says of them.
Bindings divisors_of(const Bindings &sizes);

/// Values of all symbols for predictions: as given, else 4,096 within the symbol's bounds.
Bindings expected_sizes(const std::vector<Symbol> &symbols, const Bindings &given);

/// Lengths of rows that share a layout; a kernel holds rows of up to `max` elements on chip, or
/// streams them where `max` is no bound. 16, 64, powers of two to 1,024, with a step between two of
/// them to 131,072, and all beyond.
struct Tier {
  std::int64_t min = 0, max = 0;
};
Tier tier_of(std::int64_t length);

/// The length that stands for those of its tier.
std::int64_t tier_length(std::int64_t length);

}  // namespace fuse
