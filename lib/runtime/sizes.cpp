// Extents are polynomials in symbols. A symbol is solved from the first extent in which it is the
// only unknown and occurs linearly; every other extent is then a check.
#include "runtime/sizes.h"

#include "ir/exact.h"
#include "ir/format.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr ExactArithmetic kExact{ErrorCode::Shape, "extent"};

}  // namespace

SizeSolver::SizeSolver(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs,
                       const std::vector<Symbol> &symbols)
    : symbols_(symbols) {
  for (const Argument &a : inputs) add(a);
  for (const Argument &a : outputs) add(a);
  find_rules();
}

SizeSolver::Extent SizeSolver::extent_of(const Dim &dim, const std::string &owner) const {
  auto index_of = [&](const std::string &name) {
    auto it = std::find_if(symbols_.begin(), symbols_.end(),
                           [&](const Symbol &s) { return s.name == name; });
    FUSE_CHECK(it != symbols_.end(), "symbol {} of {} is not declared", name, owner);
    return static_cast<std::uint32_t>(it - symbols_.begin());
  };
  Extent extent;
  for (const Dim::Term &t : dim.terms()) {
    Term term{t.coefficient, {}};
    for (const std::string &s : t.symbols) term.symbols.push_back(index_of(s));
    extent.push_back(std::move(term));
  }
  return extent;
}

void SizeSolver::add(const Argument &argument) {
  Shaped shaped{argument.name, argument.is_scalar, {}};
  for (const Dim &dim : argument.shape) shaped.extents.push_back(extent_of(dim, argument.name));
  arguments_.push_back(std::move(shaped));
}

void SizeSolver::require(const LeastExtent &least) {
  least_extents_.push_back({extent_of(least.extent, least.words), least.least, least.words});
}

bool SizeSolver::solves(const Extent &extent, const std::vector<bool> &known,
                        std::uint32_t &symbol) const {
  bool found = false;
  for (const Term &term : extent) {
    int unknown = 0;
    for (std::uint32_t s : term.symbols) {
      if (known[s]) continue;
      if (++unknown > 1 || (found && s != symbol)) return false;
      found = true;
      symbol = s;
    }
  }
  return found;
}

void SizeSolver::find_rules() {
  std::vector<bool> known(symbols_.size(), false);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t a = 0; a < arguments_.size(); ++a) {
      for (std::size_t d = 0; d < arguments_[a].extents.size(); ++d) {
        std::uint32_t symbol = 0;
        if (!solves(arguments_[a].extents[d], known, symbol)) continue;
        // Further rules for a symbol serve launches whose earlier argument has no shape.
        rules_.push_back({symbol, a, d});
      }
    }
    for (const Rule &rule : rules_) {
      progress |= !known[rule.symbol];
      known[rule.symbol] = true;
    }
  }
}

bool SizeSolver::apply(const Rule &rule, const Arg *arguments, std::int64_t *values) const {
  const TensorView &view = arguments[rule.argument].view;
  if (view.rank != static_cast<int>(rank(rule.argument))) return false;
  std::int64_t factor = 0, rest = view.shape[rule.axis];
  for (const Term &term : arguments_[rule.argument].extents[rule.axis]) {
    std::int64_t product = term.coefficient;
    bool has_symbol = false;
    for (std::uint32_t s : term.symbols) {
      if (s == rule.symbol)
        has_symbol = true;
      else if (values[s] < 0)
        return false;
      else
        product = kExact.mul(product, values[s]);
    }
    if (has_symbol)
      factor = kExact.add(factor, product);
    else
      rest = kExact.add(rest, kExact.mul(product, -1));
  }
  std::optional<std::int64_t> value = exact_quotient(rest, factor);
  if (!value || *value < 0) return false;
  values[rule.symbol] = *value;
  return true;
}

void SizeSolver::solve(const Arg *arguments, std::int64_t *values) const {
  std::fill_n(values, symbols_.size(), std::int64_t{-1});
  for (const Rule &rule : rules_)
    if (values[rule.symbol] < 0) apply(rule, arguments, values);
  for (std::size_t s = 0; s < symbols_.size(); ++s) {
    if (values[s] >= 0) continue;
    for (const Rule &rule : rules_) {
      const TensorView &view = arguments[rule.argument].view;
      if (rule.symbol == s && view.rank == static_cast<int>(rank(rule.argument)))
        fail(ErrorCode::Shape, "no value of {} makes axis {} of {} have {} elements",
             symbols_[s].name, rule.axis, arguments_[rule.argument].name, view.shape[rule.axis]);
    }
    fail(ErrorCode::InvalidArgument,
         "symbol {} does not follow from the shapes given: use bind with its value",
         symbols_[s].name);
  }
  check_bounds(values);
  for (std::size_t a = 0; a < arguments_.size(); ++a)
    if (!arguments_[a].is_scalar) check_shape(a, arguments[a], values);
}

void SizeSolver::check_bounds(const std::int64_t *values) const {
  for (std::size_t s = 0; s < symbols_.size(); ++s) {
    const auto &[name, bounds] = symbols_[s];
    if (values[s] < bounds.min || values[s] > bounds.max)
      fail(ErrorCode::Shape, "{} = {} is outside its bounds [{}, {}]", name, values[s], bounds.min,
           bounds.max);
    if (values[s] % bounds.divisor != 0)
      fail(ErrorCode::Shape, "{} = {} is not a multiple of {}", name, values[s], bounds.divisor);
  }
  for (const auto &[extent, least, words] : least_extents_)
    if (value_of(extent, values) < least) throw Error(ErrorCode::Shape, words);
}

void SizeSolver::check_shape(std::size_t argument, const Arg &given,
                             const std::int64_t *values) const {
  const TensorView &view = given.view;
  if (view.rank < 0) return;  // a buffer: its bytes are checked against the shape by the caller
  if (view.rank != static_cast<int>(rank(argument)))
    fail(ErrorCode::Shape, "{} has rank {}: rank {} was given", arguments_[argument].name,
         rank(argument), view.rank);
  for (std::size_t d = 0; d < rank(argument); ++d)
    if (view.shape[d] != extent(argument, d, values))
      fail_extent(argument, d, view.shape[d], values);
}

void SizeSolver::fail_extent(std::size_t argument, std::size_t axis, std::int64_t given,
                             const std::int64_t *values) const {
  std::string because;
  for (const Term &term : arguments_[argument].extents[axis]) {
    for (std::uint32_t s : term.symbols) {
      auto rule =
          std::find_if(rules_.begin(), rules_.end(), [&](const Rule &r) { return r.symbol == s; });
      if (rule == rules_.end()) continue;
      append(because, "{}{} = {} from axis {} of {}", because.empty() ? " (" : ", ",
             symbols_[s].name, values[s], rule->axis, arguments_[rule->argument].name);
    }
  }
  if (!because.empty()) because += ")";
  fail(ErrorCode::Shape, "axis {} of {} has {} elements, not {}{}", axis, arguments_[argument].name,
       given, extent(argument, axis, values), because);
}

std::int64_t SizeSolver::value_of(const Extent &extent, const std::int64_t *values) {
  std::int64_t sum = 0;
  for (const Term &term : extent) {
    std::int64_t product = term.coefficient;
    for (std::uint32_t s : term.symbols) product = kExact.mul(product, values[s]);
    sum = kExact.add(sum, product);
  }
  return sum;
}

std::int64_t SizeSolver::extent(std::size_t argument, std::size_t axis,
                                const std::int64_t *values) const {
  return value_of(arguments_[argument].extents[axis], values);
}

std::vector<std::int64_t> SizeSolver::values_of(const Dims &dims) const {
  std::vector<std::int64_t> values = dims.values();
  if (!dims.by_name().empty()) {
    for (const auto &[name, value] : dims.by_name())
      if (std::none_of(symbols_.begin(), symbols_.end(),
                       [&](const Symbol &s) { return s.name == name; }))
        fail(ErrorCode::InvalidArgument, "{} is not a symbol of the graph", name);
    for (const Symbol &s : symbols_) {
      auto it = dims.by_name().find(s.name);
      if (it == dims.by_name().end())
        fail(ErrorCode::InvalidArgument, "symbol {} has no value", s.name);
      values.push_back(it->second);
    }
  }
  if (values.size() != symbols_.size())
    fail(ErrorCode::InvalidArgument, "the graph has {} symbols: {} values were given",
         symbols_.size(), values.size());
  check_bounds(values.data());
  return values;
}

Bindings SizeSolver::bindings(const std::int64_t *values) const {
  Bindings bindings;
  for (std::size_t s = 0; s < symbols_.size(); ++s) bindings[symbols_[s].name] = values[s];
  return bindings;
}

}  // namespace fuse
