// Floor division, remainder and bounds of index polynomials.
//
// Rules of floordiv(a, b) and mod(a, b), all exact for floor semantics and b > 0:
//   1. a = q*b + r                        a / b = q + r / b           a % b = r % b
//   2. r in [0, b)                        r / b = 0                   r % b = r
//   3. r = g*s + t, b = g*c, t in [0, g)  r / b = s / c               r % b = (s % c)*g + t
//   4. nested                             (x / d) / b = x / (d*b)     (x % (k*b)) % b = x % b
// Rules 1 and 4 need no ranges, so a printed index reads back in the same form. Bounds are
// polynomials in symbols, got by replacing each other atom by its largest or least value.
#include "ir/format.h"
#include "ir/index.h"

#include <algorithm>
#include <numeric>

namespace fuse {

Index make_div_or_mod(Atom::Kind kind, const Index &a, const Index &b);

namespace {

using Term = Index::Term;

Index from_atoms(std::int64_t coefficient, const std::vector<Atom> &atoms) {
  Index product = coefficient;
  for (const Atom &a : atoms) {
    switch (a.kind) {
      case Atom::Kind::Dim: product = product * Index::dim(a.id); break;
      case Atom::Kind::Symbol: product = product * Index::symbol(a.symbol); break;
      case Atom::Kind::Value: product = product * Index::value(a.id); break;
      case Atom::Kind::FloorDiv:
      case Atom::Kind::Mod:
        product = product * make_div_or_mod(a.kind, *a.numerator, *a.denominator);
        break;
    }
  }
  return product;
}

Index to_index(const Term &term) { return from_atoms(term.coefficient, term.atoms); }

/// Atoms of a without those of b (with multiplicity); nullopt if some of b are missing.
std::optional<std::vector<Atom>> remove_atoms(std::vector<Atom> a, const std::vector<Atom> &b) {
  for (const Atom &atom : b) {
    auto it =
        std::find_if(a.begin(), a.end(), [&](const Atom &x) { return compare(x, atom) == 0; });
    if (it == a.end()) return std::nullopt;
    a.erase(it);
  }
  return a;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

/// q with the term = q * divisor + rest, where the rest's coefficient is below the divisor's. The
/// rest of a constant is not negative, so (n - 1) / 8 + 1 and (n + 7) / 8 have one form.
Index quotient_of(const Term &term, const Term &divisor) {
  if (term.atoms.empty() && divisor.atoms.empty())
    return floor_quotient(term.coefficient, divisor.coefficient);
  std::optional<std::vector<Atom>> atoms = remove_atoms(term.atoms, divisor.atoms);
  if (!atoms) return 0;
  return from_atoms(term.coefficient / divisor.coefficient, *atoms);
}

bool divides(const Term &divisor, const Term &term) {
  return term.coefficient % divisor.coefficient == 0 &&
         remove_atoms(term.atoms, divisor.atoms).has_value();
}

struct Quotient {
  Index quotient, remainder;
};

/// Divides some term of the remainder that the lead of b is in; false where there is none.
bool divide_once(Quotient &r, const Index &b, const Term &lead) {
  for (const Term &t : r.remainder.terms()) {
    Index q = quotient_of(t, lead);
    if (q.is_constant(0)) continue;
    Index rest = r.remainder - q * b;
    if (b.terms().size() > 1 && rest.terms().size() >= r.remainder.terms().size()) continue;
    r = {r.quotient + q, rest};
    return true;
  }
  return false;
}

/// Rule 1. A divisor of several terms is divided by its longest term, as long as that shortens a.
Quotient divide(const Index &a, const Index &b) {
  Quotient r{0, a};
  const Term &lead = *std::max_element(
      b.terms().begin(), b.terms().end(),
      [](const Term &x, const Term &y) { return x.atoms.size() < y.atoms.size(); });
  if (lead.coefficient < 0) return r;
  while (divide_once(r, b, lead)) {
  }
  return r;
}

Term common_factor(const Term &a, const Term &b) {
  Term g{std::gcd(a.coefficient, b.coefficient), {}};
  std::vector<Atom> rest = a.atoms;
  for (const Atom &atom : b.atoms) {
    if (std::optional<std::vector<Atom>> without = remove_atoms(rest, {atom})) {
      g.atoms.push_back(atom);
      rest = *without;
    }
  }
  return g;
}

/// Rule 3: r = g*s + t and b = g*c.
struct Split {
  Index g, s, t, c;
};

std::optional<Split> split(const Index &r, const Index &b, const Ranges &ranges) {
  if (b.terms().size() != 1) return std::nullopt;
  const Term &divisor = b.terms()[0];
  for (const Term &candidate : r.terms()) {
    Term g = common_factor(candidate, divisor);
    if (g.coefficient == 1 && g.atoms.empty()) continue;
    Split result{to_index(g), 0, 0, quotient_of(divisor, g)};
    for (const Term &t : r.terms()) {
      if (divides(g, t))
        result.s = result.s + quotient_of(t, g);
      else
        result.t = result.t + to_index(t);
    }
    if (provably_in(result.t, result.g, ranges)) return result;
  }
  return std::nullopt;
}

/// The atom if the index is just that.
const Atom *single_atom(const Index &index, Atom::Kind kind) {
  const std::vector<Term> &t = index.terms();
  bool single = t.size() == 1 && t[0].coefficient == 1 && t[0].atoms.size() == 1;
  return single && t[0].atoms[0].kind == kind ? &t[0].atoms[0] : nullptr;
}

void check_divisor(const Index &b) {
  std::optional<std::int64_t> c = b.constant();
  if (c && *c <= 0)
    fail(ErrorCode::InvalidArgument, "index is divided by {}, not a positive number", *c);
}

}  // namespace

Index floordiv(const Index &a, const Index &b, const Ranges &ranges) {
  check_divisor(b);
  if (b.is_constant(1)) return a;
  auto [q, r] = divide(a, b);
  if (r.is_constant(0) || provably_in(r, b, ranges)) return q;
  if (std::optional<Split> x = split(r, b, ranges)) return q + floordiv(x->s, x->c, ranges);
  if (const Atom *inner = single_atom(r, Atom::Kind::FloorDiv))
    return q + floordiv(*inner->numerator, *inner->denominator * b, ranges);
  return q + make_div_or_mod(Atom::Kind::FloorDiv, r, b);
}

Index mod(const Index &a, const Index &b, const Ranges &ranges) {
  check_divisor(b);
  if (b.is_constant(1)) return 0;
  Index r = divide(a, b).remainder;
  if (r.is_constant(0) || provably_in(r, b, ranges)) return r;
  if (std::optional<Split> x = split(r, b, ranges)) return mod(x->s, x->c, ranges) * x->g + x->t;
  const Atom *inner = single_atom(r, Atom::Kind::Mod);
  if (inner && divide(*inner->denominator, b).remainder.is_constant(0))
    return mod(*inner->numerator, b, ranges);
  return make_div_or_mod(Atom::Kind::Mod, r, b);
}

Index ceildiv(const Index &a, const Index &b, const Ranges &ranges) {
  return floordiv(a + b - 1, b, ranges);
}

namespace {

enum class Bound { Lower, Upper };

std::optional<Index> bound_of(const Index &index, Bound bound, const Ranges &ranges);

std::optional<Index> bound_of_quotient(const Atom &atom, Bound bound, const Ranges &ranges) {
  bool is_constant = atom.denominator->constant().has_value();
  std::optional<Index> n = bound_of(*atom.numerator, bound, ranges);
  if (!n) return std::nullopt;
  if (is_constant) return floordiv(*n, *atom.denominator, Ranges{{}, ranges.symbol_min});
  if (!is_nonnegative(*atom.numerator, ranges)) return std::nullopt;
  if (bound == Bound::Lower) return Index(0);
  std::optional<Index> d = bound_of(*atom.denominator, Bound::Lower, ranges);
  if (d && *d == *atom.denominator) return floordiv(*n, *d, Ranges{{}, ranges.symbol_min});
  return n;
}

/// Least or largest value of an atom, in symbols.
std::optional<Index> bound_of_atom(const Atom &atom, Bound bound, const Ranges &ranges) {
  switch (atom.kind) {
    case Atom::Kind::Symbol: return Index::symbol(atom.symbol);
    case Atom::Kind::Dim: {
      if (bound == Bound::Lower) return Index(0);
      std::optional<Index> extent = ranges.extent ? ranges.extent(atom.id) : std::nullopt;
      if (!extent) return std::nullopt;
      return extent->is_constant(0) ? Index(0) : *extent - 1;
    }
    case Atom::Kind::Value: return std::nullopt;
    case Atom::Kind::Mod: {
      if (bound == Bound::Lower) return Index(0);
      std::optional<Index> d = bound_of(*atom.denominator, Bound::Upper, ranges);
      if (!d) return std::nullopt;
      return *d - 1;
    }
    case Atom::Kind::FloorDiv: return bound_of_quotient(atom, bound, ranges);
  }
  return std::nullopt;
}

/// Bound of a term; a product is bounded factor by factor, so its factors must not be negative.
std::optional<Index> bound_of_term(const Term &term, Bound bound, const Ranges &ranges) {
  if (term.coefficient < 0) bound = bound == Bound::Lower ? Bound::Upper : Bound::Lower;
  Index product = term.coefficient;
  for (const Atom &a : term.atoms) {
    if (term.atoms.size() > 1 && !is_nonnegative(from_atoms(1, {a}), ranges)) return std::nullopt;
    std::optional<Index> x = bound_of_atom(a, bound, ranges);
    if (!x) return std::nullopt;
    product = product * *x;
  }
  return product;
}

std::optional<Index> bound_of(const Index &index, Bound bound, const Ranges &ranges) {
  Index sum;
  for (const Term &t : index.terms()) {
    std::optional<Index> x = bound_of_term(t, bound, ranges);
    if (!x) return std::nullopt;
    sum = sum + *x;
  }
  return sum;
}

/// Least value of a polynomial in symbols: with each symbol written as its minimum plus something
/// not negative, it is the constant if no other coefficient is negative. Likewise divisions.
std::optional<std::int64_t> least_value(const Index &index, const Ranges &ranges) {
  Index shifted = substitute(index, [&](const Atom &a) -> std::optional<Index> {
    if (a.kind == Atom::Kind::Symbol) return Index::symbol(a.symbol) + ranges.symbol_min(a.symbol);
    Index kept = from_atoms(1, {a});
    std::optional<std::int64_t> divisor;
    if (a.kind == Atom::Kind::FloorDiv) divisor = a.denominator->constant();
    std::optional<std::int64_t> dividend;
    if (divisor) dividend = least_value(*a.numerator, ranges);
    return dividend ? kept + floor_quotient(*dividend, *divisor) : kept;
  });
  std::int64_t least = 0;
  for (const Term &t : shifted.terms()) {
    if (t.atoms.empty()) {
      least = t.coefficient;
      continue;
    }
    if (t.coefficient < 0) return std::nullopt;
    for (const Atom &a : t.atoms)
      if (a.kind != Atom::Kind::Symbol && !is_nonnegative(from_atoms(1, {a}), ranges))
        return std::nullopt;
  }
  return least;
}

}  // namespace

bool is_nonnegative(const Index &index, const Ranges &ranges) {
  const std::vector<Term> &t = index.terms();
  bool is_atom = t.size() == 1 && t[0].coefficient == 1 && t[0].atoms.size() == 1;
  if (is_atom) {
    const Atom &a = t[0].atoms[0];
    if (a.kind == Atom::Kind::Dim || a.kind == Atom::Kind::Mod) return true;
    if (a.kind == Atom::Kind::Symbol) return ranges.symbol_min(a.symbol) >= 0;
    if (a.kind == Atom::Kind::Value) return false;
    return is_nonnegative(*a.numerator, ranges);
  }
  std::optional<Index> lower = bound_of(index, Bound::Lower, ranges);
  std::optional<std::int64_t> least = lower ? least_value(*lower, ranges) : std::nullopt;
  return least && *least >= 0;
}

std::optional<Interval> interval(const Index &index, const Ranges &ranges) {
  std::optional<Index> lower = bound_of(index, Bound::Lower, ranges);
  std::optional<Index> upper = bound_of(index, Bound::Upper, ranges);
  if (!lower || !upper) return std::nullopt;
  std::optional<std::int64_t> lo = least_value(*lower, ranges), hi = upper->constant();
  if (!lo || !hi) return std::nullopt;
  return Interval{*lo, *hi};
}

bool provably_in(const Index &a, const Index &b, const Ranges &ranges) {
  if (const Atom *quotient = single_atom(a, Atom::Kind::FloorDiv))
    if (provably_in(*quotient->numerator, b, ranges)) return true;  // x / d <= x
  if (!is_nonnegative(a, ranges)) return false;
  std::optional<Index> upper = bound_of(a, Bound::Upper, ranges);
  std::optional<Index> limit = bound_of(b, Bound::Lower, ranges);
  if (!upper || !limit) return false;
  std::optional<std::int64_t> gap = least_value(*limit - *upper, ranges);
  return gap && *gap >= 1;
}

}  // namespace fuse
