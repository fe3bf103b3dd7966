// Scalar operations: Op -> LLVM IR for every dtype, one function for each row family of ops.def.
//
// Values of f16 and bf16 are held as half and bfloat, f8 as i8, bool as i1. 16-bit floats compute
// in f32 and round once. No instruction carries a fast-math flag.
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
  /// Elementwise on every slot; neighbours of a cast are converted in pairs.
  Values emit_slots(Op op, DType result, const std::vector<Values> &operands,
                    std::span<const DType> dtypes);

  llvm::Value *cast(const Scalar &x, DType to);          // ops_cast.cpp
  llvm::Value *cast_saturating(const Scalar &x, DType to);
  llvm::Value *constant(DType dtype, double value);
  llvm::Value *least(DType dtype);     // -inf or the smallest value
  llvm::Value *greatest(DType dtype);  // inf or the largest value
  llvm::Value *exp2(llvm::Value *x);  // f32, the hardware's approximation

 private:
  llvm::Value *emit_float(Op op, DType dtype, const Values &x);    // ops.cpp: f32, f64
  llvm::Value *emit_int(Op op, DType dtype, const Values &x);      // ops_int.cpp
  llvm::Value *emit_bool(Op op, const Values &x);
  llvm::Value *emit_compare(Op op, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_test(Op op, DType dtype, llvm::Value *x);
  llvm::Value *emit_select(DType result, std::span<const Scalar> operands);
  llvm::Value *emit_fma_16(DType result, std::span<const Scalar> operands);
  llvm::Value *emit_convert(Op op, DType result, const Scalar &x);
  llvm::Value *emit_min_max(bool is_max, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_float_mod(Op op, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_int_divide(Op op, DType dtype, llvm::Value *x, llvm::Value *y);
  llvm::Value *emit_int_pow(DType dtype, llvm::Value *x, llvm::Value *y);

  llvm::Value *to_f32_odd(llvm::Value *f64);
  llvm::Value *int_to_f64_odd(const Scalar &x);
  llvm::Value *f32_to_f8(llvm::Value *x, DType to, bool saturate);
  llvm::Value *f8_to_f32(llvm::Value *x, DType from);
  llvm::Value *float_to(llvm::Value *x, DType from, DType to);
  llvm::Value *int_to(const Scalar &x, DType to);

  Builder &b_;
  const Target &target_;
};

/// The inexact functions (math.cpp): f32 or f64 operands of one type, within ops.def's max_ulp.
llvm::Value *emit_math(Builder &b, const Target &target, Op op, llvm::ArrayRef<llvm::Value *> x);

}  // namespace fuse
