// Scalar operations: Op -> LLVM IR for every dtype.
//
// Values of f16 and bf16 are held as half and bfloat, f8 as i8, bool as i1. 16- and 8-bit floats
// compute in f32 and round once. No instruction carries a fast-math flag.
#pragma once

#include "codegen/llvm.h"

#include <fuse/dtype.h>
#include <fuse/graph.h>
#include <fuse/target.h>

#include <span>
#include <vector>

namespace fuse {

using Builder = llvm::IRBuilder<>;
using Values = std::vector<llvm::Value *>;

llvm::Type *type_of(DType dtype, llvm::LLVMContext &context);
/// Of an element in memory: bool takes a byte.
llvm::Type *memory_type_of(DType dtype, llvm::LLVMContext &context);

/// A scalar with its dtype.
struct Scalar {
  llvm::Value *value = nullptr;
  DType dtype = DType::F32;
};

class Ops {
 public:
  Ops(Builder &builder, const Target &target) : b_(builder), target_(target) {}

  /// An elementwise operation of ops.def with the given result dtype.
  llvm::Value *emit(Op op, DType result, std::span<const Scalar> operands);
  /// The operation on every slot of the operands; neighbours are rounded in pairs. `approximate`:
  /// of an f32 result a relative error of 2^-16 will do.
  Values emit_slots(Op op, DType result, const std::vector<Values> &operands,
                    std::span<const DType> dtypes, bool approximate);

  llvm::Value *cast(const Scalar &x, DType to);
  llvm::Value *cast_saturating(const Scalar &x, DType to);
  llvm::Value *constant(DType dtype, double value);
  llvm::Value *least(DType dtype);     // -inf or the smallest value
  llvm::Value *greatest(DType dtype);  // inf or the largest value
  /// f32, the hardware's approximation; results below the smallest normal number may become 0.
  llvm::Value *exp2(llvm::Value *x, bool flushes);

 private:
  // ops.cpp
  Scalar compute(Op op, DType result, std::span<const Scalar> operands, bool approximate = false);
  Values to_float8(const Values &x, DType from, DType to, bool saturate);
  Values bytes_to_floats(const Values &bytes, bool are_signed);
  Values round_slots(const std::vector<Scalar> &slots, DType to);
  llvm::Value *emit_float(Op op, DType dtype, const Values &x);
  llvm::Value *emit_compare(Op op, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_test(Op op, DType dtype, llvm::Value *x);
  Scalar emit_select(DType result, std::span<const Scalar> operands);
  Scalar emit_fma_16(std::span<const Scalar> operands);
  llvm::Value *emit_min_max(bool is_max, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_floor_divide(llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_float_mod(llvm::Value *x, llvm::Value *y);

  // ops_int.cpp
  llvm::Value *emit_int(Op op, DType dtype, const Values &x);
  llvm::Value *emit_divide(DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_remainder(Op op, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_shift(Op op, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_power(DType dtype, llvm::Value *x, llvm::Value *y);

  // ops_cast.cpp
  Scalar convert(Op op, DType to, const Scalar &x);
  llvm::Value *float_to_float(llvm::Value *x, DType from, DType to);
  Scalar int_to_float(const Scalar &x, DType to);
  llvm::Value *float_to_int(llvm::Value *x, DType from, DType to);
  llvm::Value *int_to_int(const Scalar &x, DType to);
  llvm::Value *clamp_int(const Scalar &x, DType to);
  llvm::Value *clamp_float(llvm::Value *x, DType to);
  llvm::Value *to_f32_odd(llvm::Value *x);
  llvm::Value *int64_to_f64_odd(llvm::Value *x, bool is_signed);

  Builder &b_;
  const Target &target_;
};

}  // namespace fuse
