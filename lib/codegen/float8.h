// 8-bit floats <-> f32.
#pragma once

#include "codegen/llvm.h"

#include <fuse/dtype.h>

#include <vector>

namespace fuse {

/// By integer arithmetic: one element, on any target. Overflow is NaN in e4m3, infinity in e5m2.
llvm::Value *emit_f32_to_f8(llvm::IRBuilder<> &b, llvm::Value *x, DType to);
llvm::Value *emit_f8_to_f32(llvm::IRBuilder<> &b, llvm::Value *x, DType from);

/// The least sm that converts pairs by one instruction.
inline constexpr int kFloat8Instructions = 89;

/// Pairs of neighbours, an even number of them; `saturate`: beyond the finite range to its ends.
std::vector<llvm::Value *> emit_f32_to_f8_pairs(llvm::IRBuilder<> &b,
                                                const std::vector<llvm::Value *> &x, DType to,
                                                bool saturate);
std::vector<llvm::Value *> emit_e4m3_to_f32_pairs(llvm::IRBuilder<> &b,
                                                  const std::vector<llvm::Value *> &x);

/// What the instruction gives for one element: clamped to the finite range, one NaN.
llvm::Value *emit_f32_to_f8_saturating(llvm::IRBuilder<> &b, llvm::Value *x, DType to);

}  // namespace fuse
