// 16-bit floats on the host: every operation written out in integer and f32 arithmetic.
//
// After the pass no instruction but moves (loads, stores, phis, selects, bitcasts, vector
// shuffles) has an operand or a result of type half or bfloat. So results do not depend on which
// 16-bit instructions this CPU has, nor on the compiler's run-time library.
#pragma once

#include "codegen/llvm.h"

namespace fuse {

/// half, bfloat, and vectors of them.
inline bool is_16bit(llvm::Type *type) {
  type = type->getScalarType();
  return type->isHalfTy() || type->isBFloatTy();
}

void expand_16bit_floats(llvm::Function &function);

/// Turns the moves that are left into moves of i16: without instructions for bfloat, x86 code
/// generation would widen and round values that cross blocks, through a library function.
void move_16bit_floats_as_integers(llvm::Function &function);

}  // namespace fuse
