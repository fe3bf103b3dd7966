// The functions that no single instruction computes: ours, as expressions over LLVM values.
//
// f32 within the max_ulp of ops.def; f64 likewise, by double-length arithmetic where it must be.
// The frequent f32 functions are emitted in place on the hardware's approximations, the others
// become functions of the module, computed in f64.
#pragma once

#include "codegen/ops.h"

#include <functional>
#include <string_view>

namespace fuse {

/// An inexact function of ops.def; the operands are f32 or f64, of one type.
llvm::Value *emit_math(Builder &b, Op op, const Values &x);

/// exp, exp2, sigmoid or div of f32 within a relative error of 2^-16, tails included; tanh within
/// 2^-10.98, erf within an absolute error of 2^-22.
llvm::Value *emit_approximate(Builder &b, Op op, const Values &x);

/// f32 quotients by one divisor, as exact as those of div.rn, without a function call.
Values emit_divisions(Builder &b, const Values &dividends, llvm::Value *divisor);

/// The same through the function that computes in f64.
llvm::Value *emit_math_in_f64(Builder &b, Op op, const Values &x);

/// The exact remainder with the dividend's sign.
llvm::Value *emit_fmod(Builder &b, llvm::Value *x, llvm::Value *y);

/// x^n of integers by repeated multiplication; n is unsigned.
llvm::Value *emit_int_power(Builder &b, llvm::Value *x, llvm::Value *n);

/// Calls the function of that name, of the operands' types; `body` writes it on first use.
llvm::Value *call_outlined(Builder &b, std::string_view name, const Values &operands,
                           const std::function<llvm::Value *(Builder &, const Values &)> &body);

}  // namespace fuse
