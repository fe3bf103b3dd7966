// Divisors of terms, tiers of extents.
#include "passes/schedule/size_assumptions.h"

#include "ir/format.h"
#include "passes/size_class.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace fuse {

namespace {

bool is_symbol(const Atom &atom) { return atom.kind == Atom::Kind::Symbol; }

/// The part of the term that the launch fixes.
Index size_of_term(const Index::Term &term) {
  Index size = std::abs(term.coefficient);
  for (const Atom &a : term.atoms)
    if (is_symbol(a)) size = size * Index::symbol(a.symbol);
  return size;
}

/// Whether the factor divides the product of the coefficient and a divisor of each symbol.
template <class Divisor>
bool divides_product(std::int64_t factor, const Index::Term &term, Divisor divisor_of) {
  std::int64_t product = term.coefficient % factor;
  for (const Atom &a : term.atoms)
    if (is_symbol(a)) product = product * (divisor_of(a.symbol) % factor) % factor;
  return product == 0;
}

}  // namespace

std::int64_t SizeAssumptions::declared_divisor(const std::string &symbol) const {
  for (const Symbol &s : symbols_)
    if (s.name == symbol) return s.bounds.divisor;
  return 1;
}

std::int64_t SizeAssumptions::class_divisor(const std::string &symbol) const {
  auto it = options_.divisors.find(symbol);
  return std::lcm(it == options_.divisors.end() ? 1 : it->second, declared_divisor(symbol));
}

bool SizeAssumptions::divides(std::int64_t factor, const Index &index) {
  return std::all_of(index.terms().begin(), index.terms().end(),
                     [&](const Index::Term &t) { return divides_term(factor, t); });
}

int SizeAssumptions::dividing_power(const Index &index, int limit) {
  while (limit > 1 && !divides(limit, index)) limit /= 2;
  return limit;
}

int SizeAssumptions::whole_or_declared(const Index &index, int width) {
  if (divides(width, index)) return width;
  std::int64_t divisor = known_divisor(index, [&](const Atom &a) -> std::int64_t {
    return is_symbol(a) ? declared_divisor(a.symbol) : 1;
  });
  return static_cast<int>(std::gcd(divisor, std::int64_t{width}));
}

bool SizeAssumptions::divides_term(std::int64_t factor, const Index::Term &term) {
  bool declared = divides_product(factor, term, [&](auto &s) { return declared_divisor(s); });
  bool known = declared || divides_product(factor, term, [&](auto &s) { return class_divisor(s); });
  if (known) {
    rely_on(factor, term, !declared);
    return true;
  }
  bool has_class = std::all_of(term.atoms.begin(), term.atoms.end(), [&](const Atom &a) {
    return !is_symbol(a) || options_.divisors.contains(a.symbol);
  });
  if (has_class) add_range(mod(size_of_term(term), factor), 1, factor - 1);
  return false;
}

void SizeAssumptions::rely_on(std::int64_t factor, const Index::Term &term, bool on_class) {
  for (const Atom &a : term.atoms) {
    if (!is_symbol(a)) continue;
    std::int64_t divisor = on_class ? class_divisor(a.symbol) : declared_divisor(a.symbol);
    divisor = std::gcd(divisor, factor / std::gcd(term.coefficient, factor));
    if (divisor > 1) divisors_[a.symbol] = std::max(divisors_[a.symbol], divisor);
  }
}

std::vector<Limit> SizeAssumptions::limits() const {
  std::vector<Limit> limits;
  for (const auto &[symbol, divisor] : divisors_)
    if (declared_divisor(symbol) % divisor != 0)
      limits.push_back({Limit::Kind::Divisor, mod(Index::symbol(symbol), divisor), 0,
                        fmt::format("{} is no multiple of {}", symbol, divisor)});
  for (const auto &[symbol, least] : minima_)
    limits.push_back({Limit::Kind::Minimum, Index(least) - Index::symbol(symbol), 0,
                      fmt::format("{} is below {}", symbol, least)});
  return limits;
}

std::int64_t SizeAssumptions::expected_at(const Index &extent, const Bindings &sizes) {
  // Larger ones change no decision, and products of two are numbers.
  constexpr std::int64_t kMost = INT64_C(1) << 31;
  auto size = [&](const Atom &a) { return sizes.at(a.symbol); };
  return std::min(evaluate_saturating(extent, size), kMost);
}

std::int64_t SizeAssumptions::tier(const Index &extent) {
  if (extent.constant()) return *extent.constant();
  Tier tier = tier_of(expected(extent));
  add_range(extent, tier.min, tier.max);
  if (tier.max != INT64_MAX) promise_least(extent, tier.min);
  return tier_length(tier.max);
}

/// Where the extent is a symbol, up to a constant, and its class is known.
void SizeAssumptions::promise_least(const Index &extent, std::int64_t least) {
  std::vector<std::string> symbols = symbols_of(extent);
  if (symbols.size() != 1 || !options_.divisors.contains(symbols[0])) return;
  std::optional<std::int64_t> constant = (extent - Index::symbol(symbols[0])).constant();
  if (constant && least > *constant)
    minima_[symbols[0]] = std::max(minima_[symbols[0]], least - *constant);
}

bool SizeAssumptions::is_at_least(const Index &extent, std::int64_t length) {
  bool is_long = expected(extent) >= length;
  if (!extent.constant()) add_range(extent, is_long ? length : 0, is_long ? INT64_MAX : length - 1);
  return is_long;
}

void SizeAssumptions::add_range(const Index &value, std::int64_t min, std::int64_t max) {
  SizeRange range{value, min, max};
  if (std::find(ranges_.begin(), ranges_.end(), range) == ranges_.end())
    ranges_.push_back(std::move(range));
}

}  // namespace fuse
