// Extents and shapes: static integers or polynomials in named symbols.
#pragma once

#include <fuse/config.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

FUSE_BEGIN_NAMESPACE

inline constexpr int kMaxRank = 8;

/// Values of symbols, by name.
using Bindings = std::map<std::string, std::int64_t>;

/// The extent of one axis: a static integer, or a polynomial with integer coefficients in symbols
/// made by Graph::dim. Two equal extents have one canonical form, so == decides.
class FUSE_API Dim {
 public:
  struct Term {
    std::int64_t coefficient;
    std::vector<std::string> symbols;  ///< sorted; a power repeats its symbol; empty: the constant
  };

  Dim(std::int64_t value = 0) : value_(value) {}
  static Dim symbol(const std::string &name);

  bool is_static() const noexcept { return !terms_; }

  /// The integer of a static extent. Throws InvalidArgument for a symbolic one.
  std::int64_t value() const;

  /// Canonical terms, sorted by their symbols; a static extent has at most one.
  std::vector<Term> terms() const;

  /// Value under the given symbols. Throws InvalidArgument naming a symbol that has no value, and
  /// for results beyond 63 bits.
  std::int64_t evaluate(const Bindings &bindings) const;

  /// Quotient where the divisor divides the polynomial exactly, term by term by a single term.
  /// Returns false otherwise.
  bool divide_exact(const Dim &divisor, Dim &quotient) const;

  friend FUSE_API Dim operator+(const Dim &a, const Dim &b);
  friend FUSE_API Dim operator-(const Dim &a, const Dim &b);
  friend FUSE_API Dim operator*(const Dim &a, const Dim &b);
  friend FUSE_API bool operator==(const Dim &a, const Dim &b) noexcept;
  friend bool operator!=(const Dim &a, const Dim &b) noexcept { return !(a == b); }

 private:
  static Dim from_terms(std::vector<Term> terms);

  std::int64_t value_ = 0;
  std::shared_ptr<const std::vector<Term>> terms_;  // null: static
};

/// "4096", "B", "2*B*T + 1".
FUSE_API std::string to_string(const Dim &dim);

/// Extents from the outermost axis to the innermost; rank 0 to 8.
using Shape = std::vector<Dim>;

/// "[B, 4097]".
FUSE_API std::string to_string(const Shape &shape);

/// Product of the extents; 1 for rank 0.
FUSE_API Dim num_elements(const Shape &shape);

FUSE_API bool is_static(const Shape &shape) noexcept;

/// Static extents under the given symbols.
FUSE_API std::vector<std::int64_t> evaluate(const Shape &shape, const Bindings &bindings);

FUSE_END_NAMESPACE
