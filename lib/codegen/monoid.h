// Monoids in LLVM IR: identity, combination, and the fold of a thread's slots.
#pragma once

#include "codegen/ops.h"
#include "ir/kernel.h"

#include <span>
#include <vector>

namespace fuse {

/// The components of a monoid's state, each one LLVM value.
using State = std::vector<llvm::Value *>;

/// The operands of one position; a null predicate: always valid.
struct Element {
  Values operands;
  llvm::Value *valid = nullptr;
};

class MonoidOps {
 public:
  /// The dtypes are those of the state's components.
  MonoidOps(Builder &builder, Ops &ops, Monoid monoid, std::vector<DType> dtypes,
            bool approximate = false)
      : b_(builder),
        ops_(ops),
        monoid_(monoid),
        dtypes_(std::move(dtypes)),
        approximate_(approximate) {}

  Monoid monoid() const { return monoid_; }
  const std::vector<DType> &dtypes() const { return dtypes_; }

  State identity();
  State combine(const State &left, const State &right);
  /// The state of one element; of Welford there is none.
  State lift(const Element &element);
  /// Folds the states as a balanced pairwise tree; more than kFoldGroup in groups of as many first.
  State tree(std::span<const State> states);
  /// Folds elements into one state, after `before` if it is not empty. Of `online` also gives the
  /// terms of the sum, relative to the state's maximum.
  State fold(std::span<const Element> elements, const State &before, Values *terms = nullptr);
  /// Online: s * exp(m - maximum) of a state (m, s), or of a term relative to m.
  llvm::Value *rescale(const State &state, llvm::Value *maximum);

 private:
  llvm::Value *emit(Op op, DType dtype, llvm::Value *a, llvm::Value *b);
  llvm::Value *masked(const Element &element, std::size_t operand, llvm::Value *otherwise);
  llvm::Value *tree(Op op, Values values);
  State combine_arg(const State &left, const State &right);
  State combine_welford(const State &left, const State &right);
  State combine_online(const State &left, const State &right);
  State fold_welford(std::span<const Element> elements);
  State fold_online(std::span<const Element> elements, const State &before, Values *terms);
  llvm::Value *finite_or_zero(llvm::Value *maximum);
  llvm::Value *exp_difference(llvm::Value *x, llvm::Value *maximum);

  Builder &b_;
  Ops &ops_;
  Monoid monoid_;
  std::vector<DType> dtypes_;
  bool approximate_;  // terms of `online` may be flushed
};

}  // namespace fuse
