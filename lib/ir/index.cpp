// Index polynomials: canonical terms, arithmetic, queries, evaluation and text.
//
// Terms are sorted by their atoms, where a longer product stands before its prefix, so the constant
// is last. Division and bounds are in index_simplify.cpp. Overflow and expressions beyond the
// limits below throw Error{InvalidArgument}: no address computation comes near them.
#include "ir/index.h"

#include "ir/exact.h"
#include "ir/format.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace fuse {

namespace {

constexpr std::size_t kMaxTerms = 256;
constexpr std::size_t kMaxFactors = 32;
constexpr int kMaxDivisionDepth = 8;

constexpr ExactArithmetic kExact{ErrorCode::InvalidArgument, "index"};

std::strong_ordering compare_atoms(const std::vector<Atom> &a, const std::vector<Atom> &b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (auto order = compare(a[i], b[i]); order != 0) return order;
  return b.size() <=> a.size();
}

Atom leaf(Atom::Kind kind, std::uint32_t id) {
  Atom atom;
  atom.kind = kind;
  atom.id = id;
  return atom;
}

bool is_division(const Atom &atom) {
  return atom.kind == Atom::Kind::FloorDiv || atom.kind == Atom::Kind::Mod;
}

/// Calls f on every leaf atom.
template <class F>
void for_each_leaf(const Index &index, const F &f) {
  for (const Index::Term &t : index.terms()) {
    for (const Atom &a : t.atoms) {
      if (is_division(a)) {
        for_each_leaf(*a.numerator, f);
        for_each_leaf(*a.denominator, f);
      } else {
        f(a);
      }
    }
  }
}

std::vector<std::uint32_t> collect(const Index &index, Atom::Kind kind) {
  std::vector<std::uint32_t> ids;
  for_each_leaf(index, [&](const Atom &a) {
    if (a.kind == kind) ids.push_back(a.id);
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// Divisions nested in one another; the bounds of index_simplify.cpp take time exponential in it.
int division_depth(const Index &index) {
  int depth = 0;
  for (const Index::Term &t : index.terms())
    for (const Atom &a : t.atoms)
      if (is_division(a))
        depth =
            std::max({depth, 1 + division_depth(*a.numerator), 1 + division_depth(*a.denominator)});
  return depth;
}

bool mentions_position(const Atom &atom) {
  if (atom.kind == Atom::Kind::Dim || atom.kind == Atom::Kind::Value) return true;
  return is_division(atom) &&
         (atom.numerator->uses(Atom::Kind::Dim) || atom.numerator->uses(Atom::Kind::Value) ||
          atom.denominator->uses(Atom::Kind::Dim) || atom.denominator->uses(Atom::Kind::Value));
}

}  // namespace

std::strong_ordering compare(const Atom &a, const Atom &b) {
  if (auto order = a.kind <=> b.kind; order != 0) return order;
  if (auto order = a.id <=> b.id; order != 0) return order;
  if (auto order = a.symbol <=> b.symbol; order != 0) return order;
  if (!is_division(a)) return std::strong_ordering::equal;
  if (auto order = compare(*a.numerator, *b.numerator); order != 0) return order;
  return compare(*a.denominator, *b.denominator);
}

std::strong_ordering compare(const Index &a, const Index &b) {
  for (std::size_t i = 0; i < std::min(a.terms_.size(), b.terms_.size()); ++i) {
    const Index::Term &s = a.terms_[i], &t = b.terms_[i];
    if (auto order = compare_atoms(s.atoms, t.atoms); order != 0) return order;
    if (auto order = s.coefficient <=> t.coefficient; order != 0) return order;
  }
  return a.terms_.size() <=> b.terms_.size();
}

bool operator==(const Index &a, const Index &b) { return compare(a, b) == 0; }

Index::Index(std::int64_t constant) {
  if (constant != 0) terms_.push_back({constant, {}});
}

Index::Index(const Dim &extent) {
  std::vector<Term> terms;
  for (const Dim::Term &t : extent.terms()) {
    Term term{t.coefficient, {}};
    for (const std::string &s : t.symbols) term.atoms.push_back(symbol(s).terms_[0].atoms[0]);
    terms.push_back(std::move(term));
  }
  *this = from_terms(std::move(terms));
}

Index Index::dim(DimId id) { return from_terms({{1, {leaf(Atom::Kind::Dim, id)}}}); }

Index Index::symbol(std::string name) {
  Atom atom = leaf(Atom::Kind::Symbol, 0);
  atom.symbol = std::move(name);
  return from_terms({{1, {std::move(atom)}}});
}

Index Index::value(ValueId id) { return from_terms({{1, {leaf(Atom::Kind::Value, id)}}}); }

Index Index::from_terms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term &a, const Term &b) { return compare_atoms(a.atoms, b.atoms) < 0; });
  Index result;
  for (Term &t : terms) {
    if (!result.terms_.empty() && compare_atoms(result.terms_.back().atoms, t.atoms) == 0)
      result.terms_.back().coefficient =
          kExact.add(result.terms_.back().coefficient, t.coefficient);
    else
      result.terms_.push_back(std::move(t));
  }
  std::erase_if(result.terms_, [](const Term &t) { return t.coefficient == 0; });
  if (result.terms_.size() > kMaxTerms)
    fail(ErrorCode::InvalidArgument, "index expands to more than {} terms", kMaxTerms);
  return result;
}

Index make_div_or_mod(Atom::Kind kind, const Index &a, const Index &b) {
  if (std::max(division_depth(a), division_depth(b)) >= kMaxDivisionDepth)
    fail(ErrorCode::InvalidArgument, "index nests more than {} divisions", kMaxDivisionDepth);
  Atom atom = leaf(kind, 0);
  atom.numerator = std::make_shared<const Index>(a);
  atom.denominator = std::make_shared<const Index>(b);
  return Index::from_terms({{1, {std::move(atom)}}});
}

std::optional<std::int64_t> Index::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].atoms.empty()) return terms_[0].coefficient;
  return std::nullopt;
}

bool Index::uses(Atom::Kind kind) const {
  return any_atom(*this, [&](const Atom &a) { return a.kind == kind; });
}

bool Index::uses_dim(DimId id) const {
  return any_atom(*this, [&](const Atom &a) { return a.kind == Atom::Kind::Dim && a.id == id; });
}

std::vector<DimId> Index::dims() const { return collect(*this, Atom::Kind::Dim); }

std::vector<ValueId> Index::values() const { return collect(*this, Atom::Kind::Value); }

std::optional<Index> Index::coefficient_of(DimId id) const {
  std::vector<Term> factors;
  for (const Term &t : terms_) {
    if (!from_terms({t}).uses_dim(id)) continue;
    Term factor{t.coefficient, {}};
    bool taken = false;
    for (const Atom &a : t.atoms) {
      if (!taken && a.kind == Atom::Kind::Dim && a.id == id)
        taken = true;
      else if (mentions_position(a))
        return std::nullopt;
      else
        factor.atoms.push_back(a);
    }
    factors.push_back(std::move(factor));
  }
  return from_terms(std::move(factors));
}

Index operator+(const Index &a, const Index &b) {
  std::vector<Index::Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Index::from_terms(std::move(terms));
}

Index operator-(const Index &a, const Index &b) { return a + b * Index(-1); }

Index operator*(const Index &a, const Index &b) {
  if (a.terms_.size() * b.terms_.size() > kMaxTerms * 4)
    fail(ErrorCode::InvalidArgument, "index expands to more than {} terms", kMaxTerms);
  std::vector<Index::Term> terms;
  for (const Index::Term &s : a.terms_) {
    for (const Index::Term &t : b.terms_) {
      Index::Term product{kExact.mul(s.coefficient, t.coefficient), s.atoms};
      product.atoms.insert(product.atoms.end(), t.atoms.begin(), t.atoms.end());
      std::sort(product.atoms.begin(), product.atoms.end(),
                [](const Atom &x, const Atom &y) { return compare(x, y) < 0; });
      if (product.atoms.size() > kMaxFactors)
        fail(ErrorCode::InvalidArgument, "index multiplies more than {} factors", kMaxFactors);
      terms.push_back(std::move(product));
    }
  }
  return Index::from_terms(std::move(terms));
}

Index product(std::span<const Index> factors) {
  Index n = 1;
  for (const Index &factor : factors) n = n * factor;
  return n;
}

std::vector<std::string> symbols_of(const Index &index) {
  std::set<std::string> symbols;
  for (const Index::Term &t : index.terms())
    for (const Atom &a : t.atoms)
      if (a.kind == Atom::Kind::Symbol) symbols.insert(a.symbol);
  return {symbols.begin(), symbols.end()};
}

std::int64_t known_divisor(const Index &index,
                           const std::function<std::int64_t(const Atom &)> &divisor_of) {
  std::int64_t divisor = 0;
  for (const Index::Term &t : index.terms()) {
    std::int64_t factor = t.coefficient;
    for (const Atom &a : t.atoms)
      if (divisor_of) factor = kExact.mul(factor, divisor_of(a));
    divisor = std::gcd(divisor, factor);
  }
  return divisor;
}

Index substitute(const Index &index, const std::function<std::optional<Index>(const Atom &)> &by,
                 const Ranges &ranges) {
  Index sum;
  for (const Index::Term &t : index.terms()) {
    Index product = t.coefficient;
    for (const Atom &a : t.atoms) {
      std::optional<Index> replaced = by(a);
      if (!replaced && is_division(a)) {
        Index numerator = substitute(*a.numerator, by, ranges);
        Index denominator = substitute(*a.denominator, by, ranges);
        replaced = a.kind == Atom::Kind::Mod ? mod(numerator, denominator, ranges)
                                             : floordiv(numerator, denominator, ranges);
      } else if (!replaced) {
        replaced = a.kind == Atom::Kind::Dim     ? Index::dim(a.id)
                   : a.kind == Atom::Kind::Value ? Index::value(a.id)
                                                 : Index::symbol(a.symbol);
      }
      product = product * *replaced;
    }
    sum = sum + product;
  }
  return sum;
}

namespace {

using LeafValue = std::function<std::int64_t(const Atom &)>;

struct WrappingArithmetic {
  static std::int64_t add(std::int64_t a, std::int64_t b) {
    __builtin_add_overflow(a, b, &a);
    return a;
  }
  static std::int64_t mul(std::int64_t a, std::int64_t b) {
    __builtin_mul_overflow(a, b, &a);
    return a;
  }
};

struct SaturatingArithmetic {
  static std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b < 0 ? INT64_MIN : INT64_MAX;
  }
  static std::int64_t mul(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
  }
};

template <class Arithmetic>
std::int64_t evaluate_with(const Arithmetic &arithmetic, const Index &index, const LeafValue &leaf);

template <class Arithmetic>
std::int64_t evaluate_atom(const Arithmetic &arithmetic, const Atom &atom,
                           const LeafValue &leaf_value) {
  if (!is_division(atom)) return leaf_value(atom);
  std::int64_t a = evaluate_with(arithmetic, *atom.numerator, leaf_value);
  std::int64_t b = evaluate_with(arithmetic, *atom.denominator, leaf_value);
  if (b <= 0) fail(ErrorCode::InvalidArgument, "index is divided by {}, not a positive number", b);
  std::int64_t quotient = a / b, remainder = a % b;
  if (remainder < 0) --quotient, remainder += b;
  return atom.kind == Atom::Kind::Mod ? remainder : quotient;
}

template <class Arithmetic>
std::int64_t evaluate_with(const Arithmetic &arithmetic, const Index &index,
                           const LeafValue &leaf) {
  std::int64_t sum = 0;
  for (const Index::Term &t : index.terms()) {
    std::int64_t product = t.coefficient;
    for (const Atom &a : t.atoms)
      product = arithmetic.mul(product, evaluate_atom(arithmetic, a, leaf));
    sum = arithmetic.add(sum, product);
  }
  return sum;
}

std::string atom_to_string(const Atom &atom, const std::function<std::string(const Atom &)> &name) {
  if (!is_division(atom)) return atom.kind == Atom::Kind::Symbol ? atom.symbol : name(atom);
  auto operand = [&](const Index &index) {
    const std::vector<Index::Term> &t = index.terms();
    bool is_leaf = t.empty() || (t.size() == 1 && t[0].coefficient >= 0 && t[0].atoms.empty()) ||
                   (t.size() == 1 && t[0].coefficient == 1 && t[0].atoms.size() == 1 &&
                    !is_division(t[0].atoms[0]));
    std::string text = to_string(index, name);
    return is_leaf ? text : "(" + text + ")";
  };
  return operand(*atom.numerator) + (atom.kind == Atom::Kind::Mod ? " % " : " / ") +
         operand(*atom.denominator);
}

/// The term without its sign.
std::string term_to_string(const Index::Term &term,
                           const std::function<std::string(const Atom &)> &name) {
  std::string text;
  bool is_product = term.atoms.size() > 1 || (term.coefficient != 1 && term.coefficient != -1);
  for (const Atom &a : term.atoms) {
    if (!text.empty()) text += "*";
    std::string factor = atom_to_string(a, name);
    bool parentheses = is_division(a) && (is_product || term.coefficient < 0);
    text += parentheses ? "(" + factor + ")" : factor;
  }
  if (term.atoms.empty() || (term.coefficient != 1 && term.coefficient != -1)) {
    if (!text.empty()) text += "*";
    std::uint64_t magnitude = static_cast<std::uint64_t>(term.coefficient);
    text += std::to_string(term.coefficient < 0 ? 0 - magnitude : magnitude);
  }
  return text;
}

}  // namespace

std::int64_t evaluate(const Index &index, const std::function<std::int64_t(const Atom &)> &leaf) {
  return evaluate_with(kExact, index, leaf);
}

std::int64_t evaluate_saturating(const Index &index,
                                 const std::function<std::int64_t(const Atom &)> &leaf) {
  return evaluate_with(SaturatingArithmetic(), index, leaf);
}

std::int64_t evaluate_wrapping(const Index &index,
                               const std::function<std::int64_t(const Atom &)> &leaf) {
  return evaluate_with(WrappingArithmetic(), index, leaf);
}

std::string to_string(const Index &index, const std::function<std::string(const Atom &)> &name) {
  if (index.terms().empty()) return "0";
  std::string text;
  for (const Index::Term &t : index.terms()) {
    bool negative = t.coefficient < 0;
    if (text.empty())
      text += negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    text += term_to_string(t, name);
  }
  return text;
}

}  // namespace fuse
