// Machine positions of one launch: which index of each dim a thread's slot stands for.
#pragma once

#include "ir/kernel.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace fuse {

/// A thread of the launch.
struct ThreadId {
  std::int64_t grid = 0;  // block index / cluster size
  std::int64_t cta = 0;   // rank in the cluster
  std::int64_t thread = 0;
};

/// Dims and validity of one position of a layout. What an unbound loop leaves open is invalid.
struct Position {
  std::vector<std::int64_t> dims;  // by DimId
  std::vector<bool> valid;         // by axis

  bool valid_on(const std::vector<std::uint32_t> &axes) const;
};

/// Slots of some axes of a layout, numbered as num_slots tells.
class SlotRange {
 public:
  SlotRange(const Layout &layout, std::vector<std::uint32_t> axes);

  std::int64_t size() const { return size_; }
  const std::vector<std::uint32_t> &axes() const { return axes_; }

  /// Slot on each axis of the layout (0 on the others).
  void decode(std::int64_t slot, std::vector<std::int64_t> &by_axis) const;

  /// Number of the slot with these slots on its axes.
  std::int64_t number(std::span<const std::int64_t> by_axis) const;

 private:
  std::vector<std::uint32_t> axes_;
  std::vector<std::int64_t> extents_;
  std::int64_t size_ = 1;
};

class Machine {
 public:
  /// `phases`: per buffer, elements from a 32-byte boundary to element 0.
  Machine(const Kernel &kernel, const Bindings &symbols, std::vector<std::int64_t> phases);

  std::int64_t symbol(const std::string &name) const;
  std::int64_t evaluate_symbolic(const Index &index) const;

  void locate(LayoutId layout, const ThreadId &id, std::span<const std::int64_t> slots,
              const std::map<std::string, std::int64_t> &loops, Position &position) const;

  /// The grid, cta and thread digits of the axis are 0, but for those that one of `axes` shares.
  bool at_origin(LayoutId layout, std::uint32_t axis, const ThreadId &id,
                 const std::vector<std::uint32_t> &axes) const;

  /// No part of the thread index and of the cluster rank that the layout leaves uncovered is set.
  bool is_first_copy(LayoutId layout, const ThreadId &id) const;

 private:
  struct MachineDigit {
    DigitKind kind;
    std::int64_t extent, stride, weight;  // weight: of the digit in the axis's number
    std::string loop;
  };
  struct MachineAxis {
    std::vector<DimId> dims;
    std::vector<std::int64_t> extents;  // of the dims
    std::vector<MachineDigit> digits;   // without reg and vec, outermost first
    std::vector<std::int64_t> slots;    // what each slot adds to the number
    std::int64_t vec = 1;
    AlignTo align;
  };

  MachineAxis make_axis(const Axis &axis) const;
  static std::int64_t digit_of(const MachineDigit &digit, const ThreadId &id);
  void place(const MachineAxis &axis, std::uint32_t number, const ThreadId &id,
             std::span<const std::int64_t> slots, const std::map<std::string, std::int64_t> &loops,
             Position &position) const;

  const Kernel &kernel_;
  const Bindings &symbols_;
  std::vector<std::int64_t> phases_;
  std::vector<std::vector<MachineAxis>> layouts_;
};

}  // namespace fuse
