// Outputs that may be written over inputs.
#pragma once

#include "ir/program.h"

#include <optional>
#include <string>
#include <vector>

namespace fuse {

/// An input and an output of a program, by position, that one launch may pass the same memory for.
struct SharedMemory {
  std::size_t input = 0, output = 0;
};

/// Why the output may not be written over the input; none where it may: whatever reads the input
/// runs before the output is written, and where one kernel does both, each thread reads exactly the
/// elements that it writes, before it writes them.
std::optional<std::string> obstacle_to_sharing(const Program &program, SharedMemory pair);

/// Makes kernels that read and write one of the pairs treat both as memory that changes under them.
/// Throws Error{Unsupported} naming a pair that may not share.
void share_memory(Program &program, const std::vector<SharedMemory> &pairs);

}  // namespace fuse
