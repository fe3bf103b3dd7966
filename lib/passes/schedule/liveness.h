// What a flat body holds in registers at once.
#pragma once

#include "ir/domain.h"
#include "ir/kernel.h"

#include <vector>

namespace fuse {

/// Bytes of each element that threads hold where these are most: values that depend on folded
/// dims, made before and used behind what is not reordered: a reduction, a store, and a load
/// behind a store. Loads before the first reduction are in flight together.
int most_held_bytes(const Kernel &kernel, const Domain &domain, const std::vector<Stmt> &body);

/// Bytes of each element while loads behind the last reduction are in flight together.
int arriving_bytes(const Kernel &kernel, const Domain &domain, const std::vector<Stmt> &body);

/// Registers of functions of long code that are computed at every position (cost.h).
int registers_of_functions(const Kernel &kernel, const Domain &domain,
                           const std::vector<Stmt> &body);

/// Registers of values of one slot, where these are most.
std::int64_t most_live(const Kernel &kernel, const std::vector<Stmt> &body);

}  // namespace fuse
