// NumPair: an unevaluated sum of two numbers, for what must be known beyond one's precision.
#pragma once

#include "codegen/num.h"

namespace fuse {

/// `low` is small against `high`, at most a few units in its last place.
struct NumPair {
  Num high, low;
};

/// a + b exactly, where |a| >= |b| or a is 0.
inline NumPair fast_two_sum(Num a, Num b) {
  Num sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly.
inline NumPair two_sum(Num a, Num b) {
  Num sum = a + b, shadow = sum - a;
  return {sum, (a - (sum - shadow)) + (b - shadow)};
}

/// a * b exactly, but for underflow.
inline NumPair two_product(Num a, Num b) {
  Num product = a * b;
  return {product, fma(a, b, -product)};
}

/// x times the constant high + low.
inline NumPair times(NumPair x, double high, double low) {
  NumPair product = two_product(x.high, x.high.number(high));
  return fast_two_sum(product.high, fma(x.low, high, fma(x.high, low, product.low)));
}

/// a / b; 1 / b must be in range.
inline NumPair divide(NumPair a, NumPair b) {
  Num inverse = 1 / b.high, quotient = a.high * inverse;
  Num rest = fma(-quotient, b.high, a.high) + fma(-quotient, b.low, a.low);
  return fast_two_sum(quotient, rest * inverse);
}

inline NumPair select(Cond c, NumPair a, NumPair b) {
  return {select(c, a.high, b.high), select(c, a.low, b.low)};
}

}  // namespace fuse
