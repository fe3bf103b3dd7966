// Union-find over atoms, with cuts.
#include "passes/plan_dims.h"

#include <algorithm>

namespace fuse {

AtomId DimAtoms::fresh(const Dim &extent) {
  auto id = static_cast<AtomId>(atoms_.size());
  atoms_.push_back({.extent = extent, .parent = id, .apart = {}});
  return id;
}

AtomId DimAtoms::root(AtomId id) const {
  while (atoms_[id].parent != id) {
    atoms_[id].parent = atoms_[atoms_[id].parent].parent;
    id = atoms_[id].parent;
  }
  return id;
}

AtomList DimAtoms::leaves(const AtomList &atoms) const {
  AtomList result;
  AtomList stack(atoms.rbegin(), atoms.rend());
  while (!stack.empty()) {
    AtomId id = root(stack.back());
    stack.pop_back();
    if (atoms_[id].cut) {
      stack.push_back(atoms_[id].inner);
      stack.push_back(atoms_[id].outer);
    } else {
      result.push_back(id);
    }
  }
  return result;
}

void DimAtoms::occur_together(const AtomList &atoms) {
  AtomList all = leaves(atoms);
  for (AtomId a : all)
    for (AtomId b : all)
      if (a != b) atoms_[a].apart.insert(b);
}

void DimAtoms::cut(AtomId id, const Dim &outer, const Dim &inner) {
  AtomId o = fresh(outer), i = fresh(inner);
  atoms_[o].apart = atoms_[i].apart = atoms_[id].apart;
  atoms_[o].apart.insert(i);
  atoms_[i].apart.insert(o);
  atoms_[id].outer = o;
  atoms_[id].inner = i;
  atoms_[id].cut = true;
}

bool DimAtoms::are_apart(AtomId a, AtomId b) const {
  for (AtomId other : atoms_[a].apart) {
    AtomList now = leaves({other});
    if (std::find(now.begin(), now.end(), b) != now.end()) return true;
  }
  return false;
}

bool DimAtoms::join(AtomId a, AtomId b) {
  if (a == b) return true;
  if (are_apart(a, b) || are_apart(b, a)) return false;
  if (atoms_[a].apart.size() < atoms_[b].apart.size()) std::swap(a, b);
  atoms_[b].parent = a;
  atoms_[a].apart.merge(atoms_[b].apart);
  return true;
}

bool DimAtoms::unify(const AtomList &first, const AtomList &second) {
  AtomList a = leaves(first), b = leaves(second);
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Dim ea = extent(a[i]), eb = extent(b[j]), rest;
    if (ea == eb) {
      if (!join(a[i++], b[j++])) return false;
      // A joined atom may stand in both lists under its old name.
      a = leaves(a);
      b = leaves(b);
    } else if (eb != Dim(0) && ea.divide_exact(eb, rest)) {
      cut(a[i], eb, rest);
      a = leaves(a);
      b = leaves(b);
    } else if (ea != Dim(0) && eb.divide_exact(ea, rest)) {
      cut(b[j], ea, rest);
      a = leaves(a);
      b = leaves(b);
    } else {
      return false;
    }
  }
  return i == a.size() && j == b.size();
}

std::optional<std::vector<AtomList>> DimAtoms::regroup(const AtomList &atoms,
                                                       const Shape &extents) {
  AtomList flat = leaves(atoms);
  std::vector<AtomList> axes(extents.size());
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    Dim left = extents[axis], rest;
    while (left != Dim(1)) {
      if (next == flat.size() || left == Dim(0)) return std::nullopt;
      const Dim have = extent(flat[next]);
      if (left.divide_exact(have, rest)) {
        axes[axis].push_back(flat[next++]);
        left = rest;
      } else if (have.divide_exact(left, rest)) {
        cut(flat[next], left, rest);
        flat = leaves(flat);
      } else {
        return std::nullopt;
      }
    }
  }
  if (next != flat.size()) return std::nullopt;
  return axes;
}

}  // namespace fuse
