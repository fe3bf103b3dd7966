// Unification of axes: which axes of which values run over the same positions.
//
// An axis is a list of atoms, outermost first; its index is their mixed-radix number. Atoms are
// joined where pointwise operations meet (union-find) and cut where a reshape splits or merges
// extents. Two atoms that some value holds side by side are never joined: x + transpose(x) would
// otherwise lose a dim.
#pragma once

#include <fuse/shape.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace fuse {

using AtomId = std::uint32_t;
using AtomList = std::vector<AtomId>;
inline constexpr AtomId kNoAtom = UINT32_MAX;

class DimAtoms {
 public:
  AtomId fresh(const Dim &extent);

  /// The atoms that a list stands for now: joined and cut.
  AtomList leaves(const AtomList &atoms) const;

  const Dim &extent(AtomId leaf) const { return atoms_[leaf].extent; }
  std::size_t size() const { return atoms_.size(); }

  /// Records that one value holds all these atoms.
  void occur_together(const AtomList &atoms);

  /// Makes two axes of equal extent one; false, with no promise about their parts, where they
  /// cannot be.
  bool unify(const AtomList &a, const AtomList &b);

  /// Splits row-major atoms into axes of the given extents; nullopt where a boundary falls inside
  /// an atom whose extent it does not divide.
  std::optional<std::vector<AtomList>> regroup(const AtomList &atoms, const Shape &extents);

 private:
  struct Atom {
    Dim extent;
    AtomId parent;     // itself for a root
    AtomId outer = 0;  // a cut root: its parts
    AtomId inner = 0;
    bool cut = false;
    std::set<AtomId> apart;  // atoms that some value holds beside this one
  };

  AtomId root(AtomId id) const;
  void cut(AtomId id, const Dim &outer, const Dim &inner);
  bool are_apart(AtomId a, AtomId b) const;
  bool join(AtomId a, AtomId b);

  mutable std::vector<Atom> atoms_;
};

}  // namespace fuse
