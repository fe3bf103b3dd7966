// Elementwise rules that are more than a line.
#include "grad/rules.h"
#include "ir/float_bits.h"
#include "ir/op.h"

#include <fuse/builders.h>

namespace fuse {

namespace {

/// The operand that is chosen gets all, the other 0.
void choose(Adjoint &a, Value first_is_chosen, Dead dead) {
  Value dy = a.cotangent();
  std::size_t first = a.num_operands() - 2;
  if (a.wants(first)) a.add_chosen(first, select(first_is_chosen, dy, 0), dead);
  if (a.wants(first + 1)) a.add_chosen(first + 1, select(first_is_chosen, 0, dy), dead);
}

/// Of equal operands the second is chosen, but a literal before all others: whatever its place,
/// max(x, 0) has the derivative 0 at 0, and a clamp has it at its bounds.
void choose_extreme(Adjoint &a, bool is_max) {
  Value x = a.operand(0), y = a.operand(1);
  bool first_at_ties = a.is_constant(0);
  Value is_first =
      is_max ? (first_at_ties ? ge(x, y) : gt(x, y)) : (first_at_ties ? le(x, y) : lt(x, y));
  choose(a, is_first, Dead::Functions);
}

double literal_of(const Adjoint &a, std::size_t i) {
  return as_double(a.graph().attr<Literal>(a.operand(i).index()));
}

/// c * x^(c - 1) without a function where it needs none.
Value power_derivative(Value x, double c) {
  if (c == 2) return 2.0 * x;
  return c * pow(x, c - 1);
}

/// b * x^(b - 1), 0 for b = 0 also where x is 0.
Value power_derivative(Value x, Value b) {
  Value is_zero = eq(b, 0.0);
  return select(is_zero, 0.0, b * pow(x, select(is_zero, 1.0, b) - 1.0));
}

void pow_base(Adjoint &a) {
  if (!a.is_constant(1)) return a.scale(0, power_derivative(a.x(0), a.x(1)));
  double c = literal_of(a, 1);
  if (c == 1) return a.add(0, a.dy());
  if (c != 0) a.scale(0, power_derivative(a.x(0), c));
}

/// x^b log x, and 0 at x = 0 for b >= 0, where x^b does not grow.
void pow_exponent(Adjoint &a) {
  Value x = a.x(0), is_flat = eq(x, 0.0) & ge(a.x(1), 0.0);
  a.scale(1, select(is_flat, 0.0, a.y() * log(select(is_flat, 1.0, x))));
}

}  // namespace

void div_rule(Adjoint &a) {
  Value quotient = a.dy() / a.divisor(a.x(1));
  a.add(0, quotient);
  if (a.wants(1)) a.add(1, -a.times(quotient, a.y(), Dead::Functions));
}

void mod_rule(Adjoint &a) {
  a.add(0, a.dy());
  if (a.wants(1)) a.add(1, -a.times(a.dy(), floordiv(a.x(0), a.x(1)), Dead::Functions));
}

/// The quotient from the remainder: rounding x / y may reach the next integer.
void rem_rule(Adjoint &a) {
  a.add(0, a.dy());
  if (!a.wants(1)) return;
  Value quotient = round((a.x(0) - a.y()) / a.x(1));
  a.add(1, -a.times(a.dy(), quotient, Dead::Functions));
}

void pow_rule(Adjoint &a) {
  if (a.wants(0)) pow_base(a);
  if (a.wants(1)) pow_exponent(a);
}

void min_rule(Adjoint &a) { choose_extreme(a, false); }
void max_rule(Adjoint &a) { choose_extreme(a, true); }
void select_rule(Adjoint &a) { choose(a, a.operand(0), Dead::Products); }

void atan2_rule(Adjoint &a) {
  Value y = a.x(0), x = a.x(1), square_sum = x * x + y * y;
  if (a.wants(0)) a.scale(0, x / square_sum);
  if (a.wants(1)) a.scale(1, -y / square_sum);
}

/// What is clamped is constant; the largest number itself is not.
void cast_sat_rule(Adjoint &a) {
  Value x = a.operand(0);
  DType to = a.graph().dtype(a.node()), type = compute_type(x.dtype());
  Value dx = cast(a.dy(), type);
  if (largest_finite(to) < largest_finite(x.dtype()))
    dx = select(abs(in_compute_type(x)) <= largest_finite(to), dx, 0.0);
  a.add_chosen(0, dx, Dead::Products);
}

/// By the series for large x, to which 1 / x^2 = trigamma(x) - trigamma(x + 1) leads; below 1/2 by
/// reflection, pi^2 / sin^2(pi x) = trigamma(x) + trigamma(1 - x).
Value trigamma(Value x) {
  constexpr double kPi = 3.14159265358979324;
  constexpr int kSteps = 10;
  // B_2k of the asymptotic series sum B_2k / z^(2k + 1), from the last.
  constexpr double kBernoulli[] = {7.0 / 6,  -691.0 / 2730, 5.0 / 66, -1.0 / 30,
                                   1.0 / 42, -1.0 / 30,     1.0 / 6};
  Value reflects = x < 0.5;
  Value u = select(reflects, 1.0 - x, x);
  Value z = u + double(kSteps), w = 1.0 / z, w2 = w * w;
  Value series = w2 * kBernoulli[0];
  for (std::size_t k = 1; k < std::size(kBernoulli); ++k) series = w2 * (series + kBernoulli[k]);
  Value total = w * (1.0 + series) + 0.5 * w2;
  for (int i = kSteps - 1; i >= 0; --i) total = total + 1.0 / square(i == 0 ? u : u + double(i));
  Value s = kPi / sin(kPi * (x - round(x)));
  return select(reflects, s * s - total, total);
}

}  // namespace fuse
