// What is known of values at invalid positions.
//
// Nothing that is computed there is stored, and reductions leave it out. A load gives its fill
// there; where operands are then the identity of a reduction, they leave themselves out: a maximum
// needs no test where its operand is -inf, nor a sum where it is 0.
#pragma once

#include "ir/kernel.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace fuse {

class InvalidValues {
 public:
  explicit InvalidValues(const Kernel &kernel);

  /// Whether operands at positions that are invalid on the axis contribute nothing as they are.
  bool is_neutral(const Stmt &reduce, std::uint32_t axis) const;

  /// Whether a reduction or scan may take what the value is there.
  bool is_folded(ValueId value) const { return folded_[value]; }

  /// Reductions for which that holds of every axis that they fold.
  std::size_t num_neutral() const { return num_neutral_; }

 private:
  /// A value at positions that are invalid on one of these axes of its layout.
  struct Known {
    std::uint64_t axes = 0;  // a set of bits
    std::uint64_t bits = 0;
  };

  void visit(const std::vector<Stmt> &body, LayoutId layout);
  void mark_folded(const std::vector<Stmt> &body);
  void visit_reduce(const Stmt &reduce, const Layout &layout);
  Known known_result(const Stmt &stmt, LayoutId layout) const;
  Known known_compute(const Stmt &stmt) const;
  Known known_select(const Stmt &stmt) const;
  std::uint64_t neutral_axes(const Stmt &reduce) const;

  const Kernel &kernel_;
  std::vector<Known> known_;                       // by value
  std::vector<bool> folded_;                       // by value
  std::map<const Stmt *, std::uint64_t> neutral_;  // looked up only
  std::size_t num_neutral_ = 0;
};

}  // namespace fuse
