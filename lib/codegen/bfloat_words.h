// Conversions between f32 and bf16, for ptxas.
//
// A bf16 is the upper half of an f32. What is rounded to bf16 and widened again, element by
// element, ptxas converts on the multi-function unit, at a quarter of the rate at which it packs
// two into a word. So roundings are written as packings here: of two neighbours, or of one element
// above a zero, which is the widened result itself. What stands in a word is widened by a shift or
// a mask.
#pragma once

#include "codegen/llvm.h"

namespace fuse {

/// Compute capabilities that pack bf16.
inline constexpr int kPackedBfloats = 80;

/// The same bits come of it.
void convert_bfloats_in_words(llvm::Module &module);

}  // namespace fuse
