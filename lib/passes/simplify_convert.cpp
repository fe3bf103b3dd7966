// Rules of casts, of what compares them, and of bitcasts. A cast is a function of the value, so
// casts that lose nothing can be skipped; f32 -> f16 -> f32 loses bits and stays.
#include "passes/simplify.h"

#include "ir/float_bits.h"

#include <cmath>
#include <optional>

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

/// cast(word >> shift) * scale, which is exact: how random words become numbers in [0, 1).
struct ScaledWord {
  NodeId word = kNoNode;
  int shift = 0, bits = 0;  // of what is left
  double scale = 0;
};

/// Whether all integers of so many bits, times the scale, are normal numbers of the dtype.
bool holds_scaled(DType t, int bits, double scale) {
  int exponent = 0;
  if (!is_float(t) || size_of(t) < 2 || std::frexp(scale, &exponent) != 0.5) return false;
  FloatFormat f = float_format(t);
  return bits <= f.significand && exponent - 1 + bits <= f.max_exponent &&
         exponent - 1 >= 2 - f.max_exponent;
}

std::optional<ScaledWord> scaled_word(Simplifier &s, NodeId id) {
  if (!s.is(id, Op::Mul) || !s.single_use(id) || !s.is_constant(s.arg(id, 1))) return std::nullopt;
  NodeId number = s.arg(id, 0);
  if (!s.is(number, Op::Cast)) return std::nullopt;
  NodeId shifted = s.arg(number, 0);
  if (!s.is(shifted, Op::Shr) || s.dtype(shifted) != DType::U32) return std::nullopt;
  NodeId count = s.arg(shifted, 1);
  if (!s.is_constant(count) || s.literal(count).bits >= 32) return std::nullopt;
  int shift = static_cast<int>(s.literal(count).bits);
  ScaledWord found{s.arg(shifted, 0), shift, 32 - shift, as_double(s.literal(s.arg(id, 1)))};
  if (!holds_scaled(s.dtype(id), found.bits, found.scale)) return std::nullopt;
  return found;
}

/// Of the integers below 2^bits those from a least one on are not below the bound, and those from
/// a least one on are above it; so of words that have further digits.
NodeId compare_word(Simplifier &s, NodeId n) {
  NodeId limit = s.arg(n, 1);
  std::optional<ScaledWord> x = scaled_word(s, s.arg(n, 0));
  if (!x || !s.is_constant(limit) || std::isnan(as_double(s.literal(limit)))) return kNoNode;
  double bound = as_double(s.literal(limit)) / x->scale;
  bool above = s.op(n) == Op::Gt || s.op(n) == Op::Le;
  double least = above ? std::floor(bound) + 1 : std::ceil(bound);
  bool wants_high = s.op(n) == Op::Gt || s.op(n) == Op::Ge;
  if (least <= 0) return s.constant(n, wants_high ? 1.0 : 0.0);
  if (least >= std::ldexp(1, x->bits)) return s.constant(n, wants_high ? 0.0 : 1.0);
  auto from = static_cast<std::int64_t>(std::ldexp(least, x->shift));
  NodeId word = s.constant(x->word, int_literal(DType::U32, from));
  return s.make(n, wants_high ? Op::Ge : Op::Lt, {x->word, word});
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
    {Op::Lt, "cast(w >> k) * 2^p < c = w < c'", compare_word},
    {Op::Le, "cast(w >> k) * 2^p <= c = w < c'", compare_word},
    {Op::Gt, "cast(w >> k) * 2^p > c = w >= c'", compare_word},
    {Op::Ge, "cast(w >> k) * 2^p >= c = w >= c'", compare_word},
};

}  // namespace

std::span<const Rule> convert_rules() { return kRules; }

}  // namespace fuse
