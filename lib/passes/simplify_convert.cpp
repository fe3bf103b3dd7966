// Rules of casts and bitcasts. A cast is a function of the value, so casts that lose nothing can be
// skipped; f32 -> f16 -> f32 loses bits and stays.
#include "passes/simplify.h"

namespace fuse {

namespace {

struct FloatFormat {
  int significand,
      max_exponent;  // bits with the hidden one; finite values are below 2^max_exponent
};

FloatFormat float_format(DType t) {
  if (t == DType::F8E4M3) return {4, 9};
  if (t == DType::F8E5M2) return {3, 16};
  if (t == DType::F16) return {11, 16};
  if (t == DType::BF16) return {8, 128};
  if (t == DType::F32) return {24, 128};
  return {53, 1024};
}

/// Bits of magnitude of an integer type; bool has one.
int magnitude_bits(DType t) {
  if (is_bool(t)) return 1;
  int bits = 8 * static_cast<int>(size_of(t));
  return is_signed_int(t) ? bits - 1 : bits;
}

/// Every value of `from`, NaN and infinities included, is a value of `to`.
bool contains(DType to, DType from) {
  if (from == to) return true;
  if (is_bool(to)) return false;
  if (!is_float(from) && !is_float(to))
    return magnitude_bits(from) <= magnitude_bits(to) &&
           (!is_signed_int(from) || is_signed_int(to));
  if (!is_float(to)) return false;
  FloatFormat t = float_format(to);
  // 2^bits itself is the magnitude of the lowest signed value; e4m3 has no infinity.
  if (!is_float(from))
    return magnitude_bits(from) <= t.significand && magnitude_bits(from) < t.max_exponent;
  FloatFormat f = float_format(from);
  return to != DType::F8E4M3 && f.significand <= t.significand && f.max_exponent <= t.max_exponent;
}

/// cast(cast(x : b) : c) = cast(x : c) where b holds every value of x. Integers wrap into integers
/// while floats saturate, so through a float the last type must hold the first too.
NodeId cast_of_cast(Simplifier &s, NodeId n) {
  NodeId inner = s.arg(n, 0);
  if (!s.is(inner, Op::Cast)) return kNoNode;
  NodeId x = s.arg(inner, 0);
  DType a = s.dtype(x), b = s.dtype(inner), c = s.dtype(n);
  if (!contains(b, a)) return kNoNode;
  if (!is_float(a) && is_float(b) && !is_float(c) && !contains(c, a) && !is_bool(c)) return kNoNode;
  // cast_sat within a float type clamps infinities: that is no cast between types.
  if (a == c) return s.op(n) == Op::Cast || !is_float(a) ? x : kNoNode;
  return s.make(n, s.op(n), {x});
}

constexpr Rule kRules[] = {
    {Op::Cast, "cast to the same dtype",
     [](Simplifier &s, NodeId n) {
       return s.dtype(s.arg(n, 0)) == s.dtype(n) ? s.arg(n, 0) : kNoNode;
     }},
    {Op::Cast, "cast of a cast that loses nothing", cast_of_cast},
    {Op::CastSat, "cast_sat of a cast that loses nothing", cast_of_cast},
    {Op::Bitcast, "bitcast of a bitcast",
     [](Simplifier &s, NodeId n) {
       NodeId inner = s.arg(n, 0);
       if (!s.is(inner, Op::Bitcast)) return kNoNode;
       NodeId x = s.arg(inner, 0);
       return s.dtype(x) == s.dtype(n) ? x : s.make(n, Op::Bitcast, {x});
     }},
};

}  // namespace

std::span<const Rule> convert_rules() { return kRules; }

}  // namespace fuse
