// Sizes of a launch: symbols solved from the shapes of arguments, and checked.
#pragma once

#include "ir/program.h"

#include <fuse/executable.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fuse {

/// Sizes that make an extent less are refused, with Error{Shape} and the words.
struct LeastExtent {
  Dim extent;
  std::int64_t least = 0;
  std::string words;
};

/// The order of solving is found once; a solution allocates nothing. Values are in the order of
/// the program's symbols.
class SizeSolver {
 public:
  SizeSolver(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs,
             const std::vector<Symbol> &symbols);

  void require(const LeastExtent &least);

  std::size_t num_symbols() const { return symbols_.size(); }
  const std::vector<Symbol> &symbols() const { return symbols_; }

  /// Solves the symbols from arguments of the right number and kinds, checks bounds, divisors and
  /// that every extent agrees. Throws Error{Shape} naming both arguments that do not fit, and
  /// InvalidArgument for a symbol that no given shape determines.
  void solve(const Arg *arguments, std::int64_t *values) const;

  /// Values given by the caller, checked alike.
  std::vector<std::int64_t> values_of(const Dims &dims) const;

  Bindings bindings(const std::int64_t *values) const;

  /// Declared extent of an axis of an argument (inputs, then outputs).
  std::int64_t extent(std::size_t argument, std::size_t axis, const std::int64_t *values) const;
  std::size_t rank(std::size_t argument) const { return arguments_[argument].extents.size(); }

 private:
  struct Term {
    std::int64_t coefficient;
    std::vector<std::uint32_t> symbols;
  };
  using Extent = std::vector<Term>;
  struct Shaped {
    std::string name;
    bool is_scalar;
    std::vector<Extent> extents;
  };
  /// Symbol `symbol` follows from one extent once the symbols before it are known.
  struct Rule {
    std::uint32_t symbol;
    std::size_t argument, axis;
  };

  void add(const Argument &argument);
  Extent extent_of(const Dim &dim, const std::string &owner) const;
  static std::int64_t value_of(const Extent &extent, const std::int64_t *values);
  void find_rules();
  bool solves(const Extent &extent, const std::vector<bool> &known, std::uint32_t &symbol) const;
  bool apply(const Rule &rule, const Arg *arguments, std::int64_t *values) const;
  void check_bounds(const std::int64_t *values) const;
  void check_shape(std::size_t argument, const Arg &given, const std::int64_t *values) const;
  [[noreturn]] void fail_extent(std::size_t argument, std::size_t axis, std::int64_t given,
                                const std::int64_t *values) const;

  std::vector<Symbol> symbols_;
  std::vector<Shaped> arguments_;
  std::vector<Rule> rules_;
  struct Least {
    Extent extent;
    std::int64_t least;
    std::string words;
  };
  std::vector<Least> least_extents_;
};

}  // namespace fuse
