// Exchange of states between the lanes of a warp.
#pragma once

#include "codegen/monoid.h"

#include <cstdint>

namespace fuse {

inline constexpr std::int64_t kWarp = 32;

enum class Shuffle : std::uint8_t { Butterfly, Up, Index };

/// The state of another lane: own lane xor `lane`, own minus `lane` (own where there is none), or
/// `lane` itself. Constants are the same in every lane. `members` is the mask of running lanes.
State shuffle(Builder &b, Shuffle mode, const State &state, llvm::Value *lane,
              std::uint32_t members);

State select_state(Builder &b, llvm::Value *condition, const State &yes, const State &no);

}  // namespace fuse
