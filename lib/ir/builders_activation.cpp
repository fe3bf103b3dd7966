// Elementwise builders, in forms that keep the digits of their tails.
#include "ir/composite.h"

FUSE_BEGIN_NAMESPACE

Value square(Operand x) {
  return composite("square", x, [](Value v) { return v * v; });
}

Value reciprocal(Operand x) {
  return float_composite("reciprocal", x, [](Value v) { return 1.0 / v; });
}

Value gelu(Operand x) {
  return float_composite("gelu", x, [](Value v) {
    // 0.5 * (1 + tanh(u)) is sigmoid(2u), which does not cancel for negative u.
    constexpr double kTwoSqrt2OverPi = 1.5957691216057308;
    return v * sigmoid(kTwoSqrt2OverPi * (v + 0.044715 * v * v * v));
  });
}

Value gelu_erf(Operand x) {
  return float_composite("gelu_erf", x, [](Value v) {
    constexpr double kSqrtHalf = 0.70710678118654752;
    return 0.5 * v * erfc(-kSqrtHalf * v);
  });
}

Value silu(Operand x) {
  return float_composite("silu", x, [](Value v) { return v * sigmoid(v); });
}

Value swiglu(Operand gate, Operand up) {
  return float_composite("swiglu", gate,
                         [&](Value g) { return g * sigmoid(g) * cast(up, g.dtype()); });
}

Value softplus(Operand x, double beta) {
  return float_composite("softplus", x, [&](Value v) {
    Value t = beta == 1 ? v : v * beta;
    // -|t| as a minimum, whose derivative at 0 gives the sum the one that it has there, 1/2.
    Value y = max(t, 0.0) + log1p(exp(min(-t, t)));
    return beta == 1 ? y : y / beta;
  });
}

Value relu(Operand x) {
  return composite("relu", x, [](Value v) { return max(v, 0); });
}

Value leaky_relu(Operand x, double slope) {
  return float_composite("leaky_relu", x, [&](Value v) { return select(v > 0.0, v, slope * v); });
}

Value elu(Operand x, double alpha) {
  return float_composite("elu", x, [&](Value v) {
    // The inner choice keeps the branch that is not taken finite.
    Value is_positive = v > 0.0;
    return select(is_positive, v, alpha * expm1(select(is_positive, 0.0, v)));
  });
}

Value hardswish(Operand x) {
  return float_composite("hardswish", x,
                         [](Value v) { return v * min(max(v + 3.0, 0.0), 6.0) / 6.0; });
}

Value clamp(Operand x, Operand lo, Operand hi) {
  return composite("clamp", x, [&](Value v) { return min(max(v, lo), hi); });
}

FUSE_END_NAMESPACE
