// One order for what a body may do in any order.
#pragma once

#include "ir/kernel.h"

namespace fuse {

/// A body without reductions, loops and moves with its statements in the order in which its stores
/// need them, and with the operands of commutative operations in an order of their own: numbers of
/// graph nodes, which the schedule follows, show no more. Other bodies stay as they are.
void canonicalize_body(Kernel &kernel);

}  // namespace fuse
