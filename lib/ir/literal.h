// A constant: its dtype and its bits.
#pragma once

#include <fuse/dtype.h>

#include <cstdint>

FUSE_BEGIN_NAMESPACE

/// Bits of one element, in the low bytes; integers sign- or zero-extended to 64 bits.
/// A literal of a 16- or 8-bit float operation is an f32 (docs/numerics.md): only results are
/// rounded. The Constant node then has dtype f32 and stands where a 16-bit operand is expected.
struct Literal {
  DType dtype = DType::F32;
  std::uint64_t bits = 0;
  bool operator==(const Literal &) const = default;
};

FUSE_END_NAMESPACE
