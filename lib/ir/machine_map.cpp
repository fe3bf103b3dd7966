// Builds the machine atoms of all layouts and the positions of dims over them.
//
// Before: the kernel verifies. After: place() gives indices without kernel dims, whose ranges are
// known, so division and remainder are simplified as far as the digits allow.
#include "ir/machine_map.h"

#include "ir/format.h"

#include <algorithm>

namespace fuse {

std::optional<std::int64_t> value_of(const Assignment &assignment, DimId atom) {
  for (const auto &[id, value] : assignment)
    if (id == atom) return value;
  return std::nullopt;
}

Assignment merge(Assignment a, const Assignment &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Assignment advance(Assignment assignment, DimId atom, std::int64_t by) {
  for (auto &[id, value] : assignment)
    if (id == atom) value += by;
  return assignment;
}

SlotSpace::SlotSpace(std::vector<DimId> atoms, std::vector<std::int64_t> extents)
    : atoms_(std::move(atoms)), extents_(std::move(extents)) {
  for (std::int64_t e : extents_) size_ *= static_cast<std::size_t>(e);
}

Assignment SlotSpace::decode(std::size_t slot) const {
  Assignment assignment(atoms_.size());
  for (std::size_t i = atoms_.size(); i-- > 0;) {
    auto extent = static_cast<std::size_t>(extents_[i]);
    assignment[i] = {atoms_[i], static_cast<std::int64_t>(slot % extent)};
    slot /= extent;
  }
  return assignment;
}

std::size_t SlotSpace::slot_at(const Assignment &assignment) const {
  std::int64_t slot = 0;
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    std::optional<std::int64_t> value = value_of(assignment, atoms_[i]);
    FUSE_CHECK(value, "a value is used where one of its axes has no slot");
    slot = slot * extents_[i] + *value;
  }
  return static_cast<std::size_t>(slot);
}

MachineMap::MachineMap(const Kernel &kernel)
    : kernel_(kernel), first_(static_cast<DimId>(kernel.dims.size())) {
  ranges_.extent = [this](DimId id) -> std::optional<Index> {
    return id < first_ ? kernel_.dims[id].extent : atom(id).extent;
  };
  ranges_.symbol_min = [this](const std::string &symbol) {
    auto it = kernel_.minima.find(symbol);
    return it == kernel_.minima.end() ? std::int64_t{0} : it->second;
  };
  for (LayoutId l = 0; l < kernel.layouts.size(); ++l) {
    const Layout &layout = kernel.layouts[l];
    axes_.emplace_back();
    places_.emplace_back();
    for (std::uint32_t a = 0; a < layout.axes.size(); ++a) {
      axes_[l].push_back(map_axis(l, a));
      for (auto &place : place_dims(layout.axes[a], axes_[l][a])) places_[l].push_back(place);
    }
  }
}

DimId MachineMap::add_atom(LayoutId layout, std::uint32_t axis, const Digit *digit,
                           const Index &extent) {
  atoms_.push_back({layout, axis, digit, extent});
  return first_ + static_cast<DimId>(atoms_.size()) - 1;
}

DimId MachineMap::atom_of(const Digit &digit) const {
  for (std::size_t i = 0; i < atoms_.size(); ++i)
    if (atoms_[i].digit == &digit) return first_ + static_cast<DimId>(i);
  return kNone;
}

AxisMap MachineMap::map_axis(LayoutId layout, std::uint32_t axis) {
  const Axis &a = kernel_.layouts[layout].axes[axis];
  AxisMap map;
  map.extent = axis_extent(kernel_, a);
  map.vec_extent = vec_extent(a);
  map.position = 0;
  for (const Digit &d : a.digits) {
    DimId id = add_atom(layout, axis, &d, d.extent);
    map.position = map.position * d.extent + (d.extent.is_constant(1) ? 0 : Index::dim(id));
    if (d.kind == DigitKind::Vec) map.vec = id;
  }
  if (a.align.buffer == kNone) return map;
  map.phase = add_atom(layout, axis, nullptr, map.vec_extent);
  map.position = map.position - Index::dim(map.phase);
  return map;
}

std::vector<std::pair<DimId, Index>> MachineMap::place_dims(const Axis &axis,
                                                            const AxisMap &map) const {
  std::vector<std::pair<DimId, Index>> places;
  Index rest = map.position;
  for (std::size_t i = axis.dims.size(); i-- > 0;) {
    Index extent = kernel_.dims[axis.dims[i]].extent;
    if (extent.is_constant(0)) extent = 1;  // no position is valid
    if (i == 0) {
      places.emplace_back(axis.dims[i], rest);
      break;
    }
    places.emplace_back(axis.dims[i], mod(rest, extent, ranges_));
    rest = floordiv(rest, extent, ranges_);
  }
  return places;
}

Index MachineMap::place(const Index &index, LayoutId layout) const {
  if (layout == kNone || !index.uses(Atom::Kind::Dim)) return index;
  auto by = [&](const Atom &atom) -> std::optional<Index> {
    if (atom.kind != Atom::Kind::Dim) return std::nullopt;
    for (const auto &[dim, position] : places_[layout])
      if (dim == atom.id) return position;
    return std::nullopt;
  };
  return substitute(index, by, ranges_);
}

Index MachineMap::at(const Index &index, const Assignment &assignment) const {
  if (assignment.empty()) return index;
  auto by = [&](const Atom &atom) -> std::optional<Index> {
    if (atom.kind != Atom::Kind::Dim) return std::nullopt;
    if (std::optional<std::int64_t> value = value_of(assignment, atom.id)) return Index(*value);
    return std::nullopt;
  };
  return substitute(index, by, ranges_);
}

Index MachineMap::term(const Index::Term &term) {
  Index product = term.coefficient;
  for (const Atom &atom : term.atoms) {
    switch (atom.kind) {
      case Atom::Kind::Dim: product = product * Index::dim(atom.id); break;
      case Atom::Kind::Symbol: product = product * Index::symbol(atom.symbol); break;
      case Atom::Kind::Value: product = product * Index::value(atom.id); break;
      case Atom::Kind::FloorDiv:
        product = product * floordiv(*atom.numerator, *atom.denominator);
        break;
      case Atom::Kind::Mod: product = product * mod(*atom.numerator, *atom.denominator); break;
    }
  }
  return product;
}

std::uint32_t MachineMap::vector_axis(LayoutId layout, const Index &offset, int width,
                                      const std::vector<DimId> &dims) const {
  Index placed = place(offset, layout);
  std::vector<std::uint32_t> unseen;
  for (std::uint32_t a : axes_of(kernel_.layouts[layout], dims)) {
    const AxisMap &map = axis(layout, a);
    if (map.vec == kNone || map.vec_extent % width != 0) continue;
    std::optional<Index> factor = placed.coefficient_of(map.vec);
    if (factor && factor->is_constant(1)) return a;
    if (!factor) unseen.push_back(a);
  }
  return unseen.size() == 1 ? unseen[0] : kNone;
}

SlotSpace MachineMap::slots(LayoutId layout, const std::vector<std::uint32_t> &axes) const {
  std::vector<DimId> atoms;
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    const MachineAtom &a = atoms_[i];
    if (a.layout != layout || !a.digit) continue;
    if (a.digit->kind != DigitKind::Reg && a.digit->kind != DigitKind::Vec) continue;
    if (std::find(axes.begin(), axes.end(), a.axis) == axes.end()) continue;
    atoms.push_back(first_ + static_cast<DimId>(i));
    extents.push_back(*a.digit->extent.constant());
  }
  return SlotSpace(std::move(atoms), std::move(extents));
}

bool MachineMap::is_nonnegative(const Index &index) const {
  return fuse::is_nonnegative(index, ranges_);
}

bool is_uniform_in_block(const MachineMap &map, LayoutId layout, const Index &index) {
  std::vector<DimId> used = map.place(index, layout).dims();
  return std::all_of(used.begin(), used.end(), [&](DimId id) {
    const Digit *digit = map.atom(id).digit;
    return digit && (digit->kind == DigitKind::Grid || digit->kind == DigitKind::Cta ||
                     digit->kind == DigitKind::Loop);
  });
}

}  // namespace fuse
