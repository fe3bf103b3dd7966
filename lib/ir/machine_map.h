// Positions of a kernel's dims as polynomials over machine atoms.
//
// A machine atom is one digit of one layout, or the phase of an aligned axis. It is named by a
// DimId beyond the kernel's own dims, so that Index arithmetic, with the digits' extents as ranges,
// simplifies offsets before any code is emitted and shows what holds of them.
#pragma once

#include "ir/kernel.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace fuse {

struct MachineAtom {
  LayoutId layout = kNone;
  std::uint32_t axis = kNone;
  const Digit *digit = nullptr;  // null: the phase of the axis
  Index extent;
};

struct AxisMap {
  Index position;       // on the axis
  Index extent;         // of the axis
  DimId phase = kNone;  // atom of an aligned axis
  DimId vec = kNone;    // atom of the vec digit
  std::int64_t vec_extent = 1;
};

/// Values of reg and vec atoms.
using Assignment = std::vector<std::pair<DimId, std::int64_t>>;

std::optional<std::int64_t> value_of(const Assignment &assignment, DimId atom);

Assignment merge(Assignment a, const Assignment &b);

/// The assignment with the atom, if it has it, moved on.
Assignment advance(Assignment assignment, DimId atom, std::int64_t by);

/// The slots of a set of axes of a layout.
class SlotSpace {
 public:
  SlotSpace() = default;
  SlotSpace(std::vector<DimId> atoms, std::vector<std::int64_t> extents);

  std::size_t size() const { return size_; }
  const std::vector<DimId> &atoms() const { return atoms_; }
  Assignment decode(std::size_t slot) const;
  /// The slot at an assignment of at least these atoms.
  std::size_t slot_at(const Assignment &assignment) const;

 private:
  std::vector<DimId> atoms_;
  std::vector<std::int64_t> extents_;
  std::size_t size_ = 1;
};

class MachineMap {
 public:
  explicit MachineMap(const Kernel &kernel);
  MachineMap(const MachineMap &) = delete;
  MachineMap &operator=(const MachineMap &) = delete;

  const MachineAtom &atom(DimId id) const { return atoms_[id - first_]; }
  DimId atom_of(const Digit &digit) const;
  const AxisMap &axis(LayoutId layout, std::uint32_t axis) const { return axes_[layout][axis]; }
  const Ranges &ranges() const { return ranges_; }

  /// The index with the kernel's dims replaced by their positions in the layout.
  Index place(const Index &index, LayoutId layout) const;
  /// The index with reg and vec atoms replaced by their values.
  Index at(const Index &index, const Assignment &assignment) const;

  /// The term as an index.
  static Index term(const Index::Term &term);

  /// The axis of the dims along whose vec digit an access of `width` elements runs: `width` divides
  /// the digit, and the offset advances by 1 with it. Inside a division or remainder that may not
  /// be seen: then it is the only axis that qualifies, and contiguity is the scheduler's promise.
  /// kNone if there is none.
  std::uint32_t vector_axis(LayoutId layout, const Index &offset, int width,
                            const std::vector<DimId> &dims) const;

  SlotSpace slots(LayoutId layout, const std::vector<std::uint32_t> &axes) const;

  /// 0 <= index, over all machine positions.
  bool is_nonnegative(const Index &index) const;

 private:
  DimId add_atom(LayoutId layout, std::uint32_t axis, const Digit *digit, const Index &extent);
  AxisMap map_axis(LayoutId layout, std::uint32_t axis);
  std::vector<std::pair<DimId, Index>> place_dims(const Axis &axis, const AxisMap &map) const;

  const Kernel &kernel_;
  DimId first_;
  std::vector<MachineAtom> atoms_;
  Ranges ranges_;
  std::vector<std::vector<AxisMap>> axes_;                    // by layout
  std::vector<std::vector<std::pair<DimId, Index>>> places_;  // by layout: positions of dims
};

/// Shows that an index has one value in a block: of the digits and phases that it is made of, it
/// uses those of the grid, the cluster and loops alone.
bool is_uniform_in_block(const MachineMap &map, LayoutId layout, const Index &index);

}  // namespace fuse
