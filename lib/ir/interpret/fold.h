// Folds of monoids in the order that every way of running a kernel keeps.
#pragma once

#include "ir/scalar.h"

#include <functional>
#include <span>
#include <vector>

namespace fuse {

/// A slot of a reduction; one that is not valid contributes the identity.
struct FoldElement {
  std::array<std::uint64_t, 2> operands{};
  bool valid = false;
};

struct MonoidFold {
  Monoid monoid;
  DType type;  // of the state

  MonoidState identity() const { return fuse::identity(monoid, type); }
  MonoidState combine(const MonoidState &a, const MonoidState &b) const {
    return fuse::combine(monoid, type, a, b);
  }

  /// Balanced tree over the states, halves split at ceil(n/2); of more than kFoldGroup, over groups
  /// of as many.
  MonoidState tree(std::span<const MonoidState> states) const;

  /// State of the slots of a thread; `before`, if given, is the state of earlier iterations.
  MonoidState fold(std::span<const FoldElement> elements, const MonoidState *before) const;

  /// Online: w * exp(x - maximum); 0 for an element that is not valid or -inf.
  std::uint64_t term(const FoldElement &element, std::uint64_t maximum) const;
  /// Online: the combination of the states of lanes along the bits, for each of them.
  void fold_online_lanes(std::span<const std::int64_t> bits, std::span<MonoidState> states) const;

 private:
  MonoidState fold_welford(std::span<const FoldElement> elements) const;
  MonoidState fold_online(std::span<const FoldElement> elements, const MonoidState *before) const;
};

/// Digits of threads or of blocks in a cluster that a reduction spans.
struct FoldPart {
  std::int64_t stride, extent;
};

/// Combines the states of all threads of a block over the parts: lanes by butterfly, then warps.
void fold_threads(const MonoidFold &fold, std::vector<FoldPart> parts,
                  std::span<MonoidState> states);

/// Combines states[n], n counting blocks of the cluster, over the parts.
void fold_blocks(const MonoidFold &fold, const std::vector<FoldPart> &parts,
                 std::span<MonoidState> states);

}  // namespace fuse
