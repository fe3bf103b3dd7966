// Monoids on bits: combinations are written with the elementwise operations, so they round as a
// kernel that uses these would.
#include "ir/float_bits.h"
#include "ir/scalar.h"

#include <limits>

namespace fuse {

namespace {

std::uint64_t binary(Op op, DType type, std::uint64_t a, std::uint64_t b) {
  const Literal operands[] = {{type, a}, {type, b}};
  return apply(op, type, operands);
}

bool holds(Op op, DType type, std::uint64_t a, std::uint64_t b = 0) {
  const Literal operands[] = {{type, a}, {type, b}};
  return apply(op, DType::Bool, operands) != 0;
}

std::uint64_t number(DType type, double value) {
  return is_float(type) ? encode_float(type, value)
                        : wrap_int(type, std::uint64_t(static_cast<std::int64_t>(value)));
}

/// The value below (sign -1) or above (1) all others.
std::uint64_t extreme(DType type, int sign) {
  if (is_float(type) && type != DType::F8E4M3)
    return encode_float(type, sign * std::numeric_limits<double>::infinity());
  if (is_float(type)) return encode_float(type, sign * largest_finite(type));
  if (is_bool(type)) return sign > 0;
  if (!is_signed_int(type)) return sign > 0 ? wrap_int(type, ~std::uint64_t{0}) : 0;
  std::int64_t least = std::int64_t(-1) << (8 * size_of(type) - 1);
  return std::uint64_t(sign > 0 ? ~least : least);
}

/// Whether element b replaces element a: a better value, the first NaN, or the earlier position.
bool replaces(Op better, DType type, const MonoidState &a, const MonoidState &b) {
  bool a_nan = holds(Op::IsNan, type, a[0]), b_nan = holds(Op::IsNan, type, b[0]);
  bool earlier = std::int64_t(b[1]) < std::int64_t(a[1]);
  if (a_nan || b_nan) return b_nan && (!a_nan || earlier);
  return holds(better, type, b[0], a[0]) || (earlier && holds(Op::Eq, type, a[0], b[0]));
}

MonoidState combine_welford(DType t, const MonoidState &a, const MonoidState &b) {
  if (b[2] == 0) return a;
  if (a[2] == 0) return b;
  std::uint64_t count = binary(Op::Add, t, a[2], b[2]);
  std::uint64_t share = binary(Op::Div, t, b[2], count);
  std::uint64_t delta = binary(Op::Sub, t, b[0], a[0]);
  std::uint64_t shift = binary(Op::Mul, t, delta, share);
  std::uint64_t mean = binary(Op::Add, t, a[0], shift);
  std::uint64_t between = binary(Op::Mul, t, binary(Op::Mul, t, delta, shift), a[2]);
  std::uint64_t m2 = binary(Op::Add, t, binary(Op::Add, t, a[1], b[1]), between);
  return {mean, m2, count};
}

/// sum * exp(old - now); exactly sum where the maximum did not change.
std::uint64_t rescale(DType t, std::uint64_t sum, std::uint64_t old, std::uint64_t now) {
  if (old == now) return sum;
  const Literal distance[] = {{t, binary(Op::Sub, t, old, now)}};
  return binary(Op::Mul, t, sum, apply(Op::Exp, t, distance));
}

MonoidState combine_online(DType t, const MonoidState &a, const MonoidState &b) {
  std::uint64_t m = binary(Op::Max, t, a[0], b[0]);
  return {m, binary(Op::Add, t, rescale(t, a[1], a[0], m), rescale(t, b[1], b[0], m)), 0};
}

}  // namespace

MonoidState identity(Monoid monoid, DType type) {
  constexpr std::uint64_t kNowhere = std::numeric_limits<std::int64_t>::max();
  switch (monoid) {
    case Monoid::Sum: return {number(type, 0), 0, 0};
    case Monoid::Prod: return {number(type, 1), 0, 0};
    case Monoid::Max: return {extreme(type, -1), 0, 0};
    case Monoid::Min: return {extreme(type, 1), 0, 0};
    case Monoid::Any: return {0, 0, 0};
    case Monoid::All: return {1, 0, 0};
    case Monoid::ArgMax: return {extreme(type, -1), kNowhere, 0};
    case Monoid::ArgMin: return {extreme(type, 1), kNowhere, 0};
    case Monoid::Welford: return {0, 0, 0};
    case Monoid::Online: return {extreme(type, -1), 0, 0};
  }
  return {};
}

MonoidState lift(Monoid monoid, DType type, std::span<const std::uint64_t> operands) {
  if (monoid == Monoid::Welford) return {operands[0], 0, number(type, 1)};
  return {operands[0], operands.size() > 1 ? operands[1] : 0, 0};
}

MonoidState combine(Monoid monoid, DType type, const MonoidState &a, const MonoidState &b) {
  switch (monoid) {
    case Monoid::Sum: return {binary(Op::Add, type, a[0], b[0]), 0, 0};
    case Monoid::Prod: return {binary(Op::Mul, type, a[0], b[0]), 0, 0};
    case Monoid::Max: return {binary(Op::Max, type, a[0], b[0]), 0, 0};
    case Monoid::Min: return {binary(Op::Min, type, a[0], b[0]), 0, 0};
    case Monoid::Any: return {a[0] | b[0], 0, 0};
    case Monoid::All: return {a[0] & b[0], 0, 0};
    case Monoid::ArgMax: return replaces(Op::Gt, type, a, b) ? b : a;
    case Monoid::ArgMin: return replaces(Op::Lt, type, a, b) ? b : a;
    case Monoid::Welford: return combine_welford(type, a, b);
    case Monoid::Online: return combine_online(type, a, b);
  }
  return {};
}

}  // namespace fuse
