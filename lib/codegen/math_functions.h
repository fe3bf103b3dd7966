// The inexact functions by precision.
#pragma once

#include "codegen/num.h"

#include <optional>
#include <vector>

namespace fuse {

/// An f32 function emitted in place; nullopt: the function is computed in f64 instead.
std::optional<Num> math_f32(Op op, const std::vector<Num> &x);

/// An f64 function.
Num math_f64(Op op, const std::vector<Num> &x);

}  // namespace fuse
