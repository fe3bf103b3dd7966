// Branches and loops in the middle of an expression.
#pragma once

#include "codegen/num.h"

#include <functional>

namespace fuse {

/// What one of two branches gives.
Values emit_branch(Builder &b, Cond condition, const std::function<Values()> &then,
                   const std::function<Values()> &otherwise);

/// A loop over values: `step` maps them to the next ones while `more` holds.
Values emit_while(Builder &b, const Values &start,
                  const std::function<llvm::Value *(const Values &)> &more,
                  const std::function<Values(const Values &)> &step);

/// A loop of so many turns, at least one: `step` maps the values of a turn to those of the next.
/// Its code is there once: the assembler does not unroll it.
Values emit_repeat(Builder &b, std::uint32_t count, const Values &start,
                   const std::function<Values(const Values &)> &step);

}  // namespace fuse
