// Kernels that differ in sizes alone, as one kernel with a table of the sizes.
#pragma once

#include "ir/kernel.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fuse {

/// The kernel's text without its sizes, and with names by number. Kernels of one skeleton differ in
/// sizes alone: extents, blocks, iterations, offsets.
std::string skeleton_of(Kernel kernel);

/// The text of its body alone: what the layout says is left out too, and the width of offsets.
std::string body_skeleton_of(const Kernel &kernel);

/// The kernel whose instance t is kernels[t], of which there are at least two, all of one skeleton:
/// a size that differs between them is in its table, the factor that all have in common is not.
/// Names are those of the first. Nullopt where the sizes differ in sign, or the blocks of a layout
/// cannot be shown to nest.
std::optional<Kernel> generalize(std::span<const Kernel *const> kernels);

/// Whether positions of the generalized kernel are divided by sizes of its table: where they were
/// constants, that was a multiplication.
bool divides_by_sizes(const Kernel &kernel);

}  // namespace fuse
