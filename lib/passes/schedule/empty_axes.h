// Sizes of 0 that a symbolic kernel is not right for.
#pragma once

#include "ir/program.h"

#include <vector>

namespace fuse {

/// A launch over an empty axis has no blocks, not even for what does not depend on that axis, and
/// offsets that divide by an extent of 0 are nowhere: limits that keep such sizes out. A program
/// where they are literals serves them.
std::vector<Limit> limits_of_empty_axes(const Kernel &kernel, const std::vector<Symbol> &symbols);

}  // namespace fuse
