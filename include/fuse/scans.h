// Scans: running combinations along one axis, which may be negative, to count from the end. Element
// i of the result combines elements 0 to i of x and has their type: cumsum(x, 1) of bf16[B, 4096]
// is bf16[B, 4096]. They throw, at the caller's line, Error{InvalidArgument} for an axis that x
// does not have and Error{DType} for a dtype that they do not take.
//
//   Value offsets = cumsum(counts, -1, {.exclusive = true});   // of i32[B, 64]: where each starts
#pragma once

#include <fuse/graph.h>

FUSE_BEGIN_NAMESPACE

struct ScanOptions {
  bool exclusive = false;  ///< leaves out element i itself: the first is what nothing combines to
  bool reverse = false;    ///< combines elements i to the last
};

/// Running sum; exclusive: from 0. Floats and integers; 16-bit floats accumulate in f32 and round
/// each result once, integers wrap in their dtype.
FUSE_API Value cumsum(Operand x, int axis, ScanOptions options = {});
/// Running product; exclusive: from 1. Dtypes as cumsum.
FUSE_API Value cumprod(Operand x, int axis, ScanOptions options = {});
/// Largest element so far; NaN from the first NaN on, +0 above -0. Any dtype. Exclusive: from -inf,
/// or the least value of a dtype that has none.
FUSE_API Value cummax(Operand x, int axis, ScanOptions options = {});
/// Least element so far; NaN from the first NaN on, -0 below +0. Any dtype. Exclusive: from inf, or
/// the largest value of a dtype that has none.
FUSE_API Value cummin(Operand x, int axis, ScanOptions options = {});
/// Logarithm of the running sum of e^x, without overflow; exclusive: from -inf. Floats.
FUSE_API Value logcumsumexp(Operand x, int axis, ScanOptions options = {});

FUSE_END_NAMESPACE
