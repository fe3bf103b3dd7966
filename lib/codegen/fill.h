// What loads give where nothing is read.
//
// At an invalid position a load may give any value: nothing that is computed there is stored, and
// reductions leave it out. With the right value they leave it out by themselves: a maximum needs no
// test where its operand is -inf, nor a sum where it is 0.
#pragma once

#include "ir/kernel.h"
#include "ir/literal.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fuse {

class Fills {
 public:
  explicit Fills(const Kernel &kernel);

  /// Bits of what the load gives at positions that are invalid on an axis of its result.
  std::uint64_t of(const Stmt &load) const;
  /// Whether operands at positions that are invalid on the axis contribute nothing as they are.
  bool is_neutral(const Stmt &reduce, std::uint32_t axis) const;

 private:
  /// A value at positions that are invalid on one of these axes of its layout.
  struct Known {
    std::uint64_t axes = 0;  // a set of bits
    std::uint64_t bits = 0;
  };

  void collect(const std::vector<Stmt> &body, LayoutId layout);
  void choose(const Stmt &load);
  std::size_t propagate();
  Known known_result(const Stmt &stmt, LayoutId layout) const;
  Known known_compute(const Stmt &stmt) const;
  Known known_select(const Stmt &stmt) const;
  std::uint64_t neutral_axes(const Stmt &reduce) const;

  const Kernel &kernel_;
  std::vector<std::pair<const Stmt *, LayoutId>> stmts_;  // in order
  std::vector<Known> known_;                              // by value
  std::map<const Stmt *, std::uint64_t> fills_;           // looked up only
  std::map<const Stmt *, std::uint64_t> neutral_;         // looked up only
};

}  // namespace fuse
