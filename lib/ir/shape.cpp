// Extents as canonical polynomials: terms sorted by their symbols, no zero coefficients.
#include <fuse/shape.h>

#include "ir/exact.h"
#include "ir/format.h"

#include <algorithm>
#include <map>

FUSE_BEGIN_NAMESPACE

namespace {

constexpr ExactArithmetic kExact{ErrorCode::Shape, "extent"};

// Polynomials stay small, whatever a text multiplies.
constexpr std::size_t kMaxTerms = 256, kMaxDegree = 32;

using TermMap = std::map<std::vector<std::string>, std::int64_t>;

void accumulate(TermMap &sum, const Dim &dim, std::int64_t factor) {
  for (const Dim::Term &t : dim.terms()) {
    std::int64_t &c = sum[t.symbols];
    c = kExact.add(c, kExact.mul(t.coefficient, factor));
  }
}

std::vector<Dim::Term> to_terms(const TermMap &sum) {
  std::vector<Dim::Term> terms;
  for (const auto &[symbols, coefficient] : sum)
    if (coefficient != 0) terms.push_back({coefficient, symbols});
  if (terms.size() > kMaxTerms)
    fail(ErrorCode::Shape, "an extent of {} terms; {} are possible", terms.size(), kMaxTerms);
  return terms;
}

/// Removes the divisor's symbols from a term's; false where one is missing.
bool remove_symbols(std::vector<std::string> &symbols, const std::vector<std::string> &divisor) {
  for (const std::string &s : divisor) {
    auto it = std::find(symbols.begin(), symbols.end(), s);
    if (it == symbols.end()) return false;
    symbols.erase(it);
  }
  return true;
}

std::string term_to_string(const Dim::Term &term) {
  std::string text;
  if (term.symbols.empty() || term.coefficient != 1) text = std::to_string(term.coefficient);
  for (const std::string &s : term.symbols) {
    if (!text.empty()) text += "*";
    text += s;
  }
  return text;
}

}  // namespace

Dim Dim::symbol(const std::string &name) { return from_terms({{1, {name}}}); }

Dim Dim::from_terms(std::vector<Term> terms) {
  if (terms.empty()) return Dim(0);
  if (terms.size() == 1 && terms[0].symbols.empty()) return Dim(terms[0].coefficient);
  Dim dim;
  dim.terms_ = std::make_shared<const std::vector<Term>>(std::move(terms));
  return dim;
}

std::int64_t Dim::value() const {
  if (terms_)
    fail(ErrorCode::InvalidArgument, "extent {} is symbolic: bind its symbols first",
         to_string(*this));
  return value_;
}

std::vector<Dim::Term> Dim::terms() const {
  if (terms_) return *terms_;
  if (value_ == 0) return {};
  return {{value_, {}}};
}

std::int64_t Dim::evaluate(const Bindings &bindings) const {
  if (!terms_) return value_;
  std::int64_t sum = 0;
  for (const Term &t : *terms_) {
    std::int64_t product = t.coefficient;
    for (const std::string &s : t.symbols) {
      auto it = bindings.find(s);
      if (it == bindings.end())
        fail(ErrorCode::InvalidArgument, "symbol {} of extent {} has no value", s,
             to_string(*this));
      product = kExact.mul(product, it->second);
    }
    sum = kExact.add(sum, product);
  }
  return sum;
}

bool Dim::divide_exact(const Dim &divisor, Dim &quotient) const {
  std::vector<Term> divisors = divisor.terms();
  if (divisors.size() != 1) {
    quotient = Dim(1);
    return !divisors.empty() && *this == divisor;
  }
  std::vector<Term> result;
  for (Term t : terms()) {
    std::optional<std::int64_t> coefficient =
        exact_quotient(t.coefficient, divisors[0].coefficient);
    if (!coefficient || !remove_symbols(t.symbols, divisors[0].symbols)) return false;
    t.coefficient = *coefficient;
    result.push_back(std::move(t));
  }
  std::sort(result.begin(), result.end(),
            [](const Term &a, const Term &b) { return a.symbols < b.symbols; });
  quotient = from_terms(std::move(result));
  return true;
}

Dim operator+(const Dim &a, const Dim &b) {
  if (a.is_static() && b.is_static()) return Dim(kExact.add(a.value_, b.value_));
  TermMap sum;
  accumulate(sum, a, 1);
  accumulate(sum, b, 1);
  return Dim::from_terms(to_terms(sum));
}

Dim operator-(const Dim &a, const Dim &b) {
  TermMap sum;
  accumulate(sum, a, 1);
  accumulate(sum, b, -1);
  return Dim::from_terms(to_terms(sum));
}

Dim operator*(const Dim &a, const Dim &b) {
  if (a.is_static() && b.is_static()) return Dim(kExact.mul(a.value_, b.value_));
  TermMap sum;
  for (const Dim::Term &x : a.terms()) {
    for (const Dim::Term &y : b.terms()) {
      std::vector<std::string> symbols = x.symbols;
      symbols.insert(symbols.end(), y.symbols.begin(), y.symbols.end());
      if (symbols.size() > kMaxDegree)
        fail(ErrorCode::Shape, "an extent of degree {}; {} is possible", symbols.size(),
             kMaxDegree);
      std::sort(symbols.begin(), symbols.end());
      std::int64_t &c = sum[symbols];
      c = kExact.add(c, kExact.mul(x.coefficient, y.coefficient));
    }
  }
  return Dim::from_terms(to_terms(sum));
}

bool operator==(const Dim &a, const Dim &b) noexcept {
  if (a.is_static() != b.is_static()) return false;
  if (a.is_static()) return a.value_ == b.value_;
  const auto &x = *a.terms_, &y = *b.terms_;
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Dim::Term &s, const Dim::Term &t) {
                      return s.coefficient == t.coefficient && s.symbols == t.symbols;
                    });
}

std::string to_string(const Dim &dim) {
  std::vector<Dim::Term> terms = dim.terms();
  if (terms.empty()) return "0";
  // The constant sorts first; people write it last.
  if (terms[0].symbols.empty()) std::rotate(terms.begin(), terms.begin() + 1, terms.end());
  std::string text;
  for (Dim::Term t : terms) {
    if (!text.empty()) text += t.coefficient < 0 ? " - " : " + ";
    bool is_first = text.empty();
    if (!is_first && t.coefficient < 0 && t.coefficient != INT64_MIN)
      t.coefficient = -t.coefficient;
    text += term_to_string(t);
  }
  return text;
}

std::string to_string(const Shape &shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + to_string(shape[i]);
  return text + "]";
}

Dim num_elements(const Shape &shape) {
  Dim n = 1;
  for (const Dim &d : shape) n = n * d;
  return n;
}

bool is_static(const Shape &shape) noexcept {
  return std::all_of(shape.begin(), shape.end(), [](const Dim &d) { return d.is_static(); });
}

std::vector<std::int64_t> evaluate(const Shape &shape, const Bindings &bindings) {
  std::vector<std::int64_t> extents;
  for (const Dim &d : shape) extents.push_back(d.evaluate(bindings));
  return extents;
}

FUSE_END_NAMESPACE
