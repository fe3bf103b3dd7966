// What a layout may know of the sizes that are bound later.
#pragma once

#include "ir/graph_data.h"
#include "ir/program.h"
#include "passes/passes.h"

#include <vector>

namespace fuse {

/// Answers from the class of the sizes, and keeps what the answers take for granted: a program is
/// right where its limits hold, and another would be no better where its ranges do. What follows
/// from the divisors that the graph declares is taken for granted everywhere.
class SizeAssumptions {
 public:
  SizeAssumptions(const std::vector<Symbol> &symbols, const LowerOptions &options)
      : symbols_(symbols), options_(options) {}

  /// Whether the power of two divides the index at every position.
  bool divides(std::int64_t factor, const Index &index);
  /// The largest power of two that does, `limit` at most.
  int dividing_power(const Index &index, int limit);
  /// All of the width, or what the declared divisors give: no variant for each part of it.
  int whole_or_declared(const Index &index, int width);

  /// Value of an extent, symbols at their expected sizes; nothing is taken for granted.
  std::int64_t expected(const Index &extent) const { return expected_at(extent, options_.sizes); }
  static std::int64_t expected_at(const Index &extent, const Bindings &sizes);
  /// The longest row of the tier that the extent is in; the extent itself where it is constant.
  std::int64_t tier(const Index &extent);
  bool is_at_least(const Index &extent, std::int64_t length);

  /// Divisors relied on, by symbol.
  const Bindings &divisors() const { return divisors_; }
  /// Sizes that symbols are not below.
  const Bindings &minima() const { return minima_; }
  /// Of all these, what the graph does not declare.
  std::vector<Limit> limits() const;
  const std::vector<SizeRange> &ranges() const { return ranges_; }

 private:
  bool divides_term(std::int64_t factor, const Index::Term &term);
  void rely_on(std::int64_t factor, const Index::Term &term, bool on_class);
  std::int64_t declared_divisor(const std::string &symbol) const;
  std::int64_t class_divisor(const std::string &symbol) const;
  void promise_least(const Index &extent, std::int64_t least);
  void add_range(const Index &value, std::int64_t min, std::int64_t max);

  const std::vector<Symbol> &symbols_;
  const LowerOptions &options_;
  Bindings divisors_, minima_;
  std::vector<SizeRange> ranges_;
};

}  // namespace fuse
