// Integer index arithmetic of kernels: polynomials over atoms, in one canonical form.
//
// An Index is a sum of terms, coefficient * product of atoms. Atoms are kernel dims, size symbols,
// integer values computed by the kernel (gather), and floor divisions and remainders. Building an
// Index normalises it, so equal expressions print alike and == decides equality of form.
// Arithmetic is exact in 64 bits; divisors are positive.
#pragma once

#include <fuse/shape.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fuse {

using DimId = std::uint32_t;    // into Kernel::dims
using ValueId = std::uint32_t;  // into Kernel::values

class Index;

struct Atom {
  enum class Kind : std::uint8_t { Dim, Symbol, Value, FloorDiv, Mod };
  Kind kind = Kind::Dim;
  std::uint32_t id = 0;                                 // Dim, Value
  std::string symbol;                                   // Symbol
  std::shared_ptr<const Index> numerator, denominator;  // FloorDiv, Mod
};
std::strong_ordering compare(const Atom &a, const Atom &b);
std::strong_ordering compare(const Index &a, const Index &b);

class Index {
 public:
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<Atom> atoms;  // sorted; empty: the constant
  };

  Index(std::int64_t constant = 0);
  Index(const Dim &extent);
  static Index dim(DimId id);
  static Index symbol(std::string name);
  static Index value(ValueId id);

  /// Terms in canonical order; no zero coefficients, no two terms with the same atoms.
  const std::vector<Term> &terms() const { return terms_; }

  std::optional<std::int64_t> constant() const;
  bool is_constant(std::int64_t value) const { return constant() == value; }

  bool uses(Atom::Kind kind) const;
  bool uses_dim(DimId id) const;
  /// Dims that occur anywhere, ascending.
  std::vector<DimId> dims() const;
  std::vector<ValueId> values() const;

  /// The factor of a dim if the index is affine in it, that is, it occurs in no product with
  /// another dim or value and inside no division. 0 if it does not occur.
  std::optional<Index> coefficient_of(DimId id) const;

  friend Index operator+(const Index &a, const Index &b);
  friend Index operator-(const Index &a, const Index &b);
  friend Index operator*(const Index &a, const Index &b);
  friend bool operator==(const Index &a, const Index &b);
  friend std::strong_ordering compare(const Index &a, const Index &b);

 private:
  static Index from_terms(std::vector<Term> terms);
  friend Index make_div_or_mod(Atom::Kind kind, const Index &a, const Index &b);

  std::vector<Term> terms_;
};

/// Largest values of dims and symbols: dim d ranges over [0, extent(d)). Unknown: nullopt.
struct Ranges {
  std::function<std::optional<Index>(DimId)> extent = [](DimId) { return std::nullopt; };
  std::function<std::int64_t(const std::string &)> symbol_min = [](const std::string &) {
    return INT64_C(0);
  };
};

Index product(std::span<const Index> factors);

/// Whether f holds for any atom, those inside divisions included.
template <class F>
bool any_atom(const Index &index, const F &f) {
  for (const Index::Term &term : index.terms())
    for (const Atom &atom : term.atoms)
      if (f(atom) || (atom.numerator && any_atom(*atom.numerator, f)) ||
          (atom.denominator && any_atom(*atom.denominator, f)))
        return true;
  return false;
}

/// floor(a / b) and a - b * floor(a / b), b > 0. With ranges, (k*b + r) / b becomes k and
/// (k*b + r) % b becomes r where 0 <= r < b can be shown.
Index floordiv(const Index &a, const Index &b, const Ranges &ranges = {});
Index mod(const Index &a, const Index &b, const Ranges &ranges = {});
Index ceildiv(const Index &a, const Index &b, const Ranges &ranges = {});

/// Bounds of an index over the ranges where they are constants: [lo, hi].
struct Interval {
  std::int64_t lo, hi;
};
std::optional<Interval> interval(const Index &index, const Ranges &ranges);

/// Shows 0 <= index over the ranges; false where it cannot.
bool is_nonnegative(const Index &index, const Ranges &ranges);

/// Shows 0 <= a and a < b over the ranges; false where it cannot.
bool provably_in(const Index &a, const Index &b, const Ranges &ranges);

/// Symbols that are factors of its terms, ascending; those inside divisions are left out.
std::vector<std::string> symbols_of(const Index &index);

/// Largest known divisor of the index: the gcd of the coefficients of all terms, where a term may
/// count further divisors of its atoms given by the caller. 0 for the zero index.
std::int64_t known_divisor(const Index &index,
                           const std::function<std::int64_t(const Atom &)> &divisor_of = {});

/// Replaces dims, and values if given.
Index substitute(const Index &index, const std::function<std::optional<Index>(const Atom &)> &by,
                 const Ranges &ranges = {});

/// Value of an index; the callback gives dims, symbols and values.
std::int64_t evaluate(const Index &index, const std::function<std::int64_t(const Atom &)> &leaf);

/// The same, but what exceeds 63 bits is the largest number: for estimates.
std::int64_t evaluate_saturating(const Index &index,
                                 const std::function<std::int64_t(const Atom &)> &leaf);

/// The same modulo 2^64, as machines compute it. Values that a kernel loads may be any number.
std::int64_t evaluate_wrapping(const Index &index,
                               const std::function<std::int64_t(const Atom &)> &leaf);

/// Text: "i*4097 + r", "(i + 3) / 4", "i % 8"; names of dims and values come from the callback.
std::string to_string(const Index &index, const std::function<std::string(const Atom &)> &name);

}  // namespace fuse
