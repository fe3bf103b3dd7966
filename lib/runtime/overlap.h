// Which arguments of a launch share memory.
#pragma once

#include "runtime/arguments.h"
#include "runtime/in_place.h"

#include <vector>

namespace fuse {

/// Shows that no byte belongs to both. Tensors that interleave, as even and odd columns or two
/// slices of rows do, are told apart by what all their larger steps divide.
bool are_apart(const ArgumentFacts &a, const ArgumentFacts &b);

/// Throws InvalidArgument where an output may share memory with another argument, but for a
/// declared pair at one address.
void check_overlap(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs,
                   const std::vector<SharedMemory> &in_place, const ArgumentFacts *facts);

}  // namespace fuse
