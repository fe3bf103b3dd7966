// Digits to dims: mixed-radix numbers with all extents bound, minus the phase of aligned axes.
#include "ir/interpret/machine.h"

#include "ir/format.h"

#include <algorithm>

namespace fuse {

bool Position::valid_on(const std::vector<std::uint32_t> &axes) const {
  return std::all_of(axes.begin(), axes.end(), [&](std::uint32_t a) { return valid[a]; });
}

SlotRange::SlotRange(const Layout &layout, std::vector<std::uint32_t> axes)
    : axes_(std::move(axes)) {
  for (std::uint32_t a : axes_) {
    extents_.push_back(num_slots(layout, {a}));
    size_ *= extents_.back();
  }
}

void SlotRange::decode(std::int64_t slot, std::vector<std::int64_t> &by_axis) const {
  std::fill(by_axis.begin(), by_axis.end(), 0);
  for (std::size_t i = axes_.size(); i-- > 0;) {
    by_axis[axes_[i]] = slot % extents_[i];
    slot /= extents_[i];
  }
}

std::int64_t SlotRange::number(std::span<const std::int64_t> by_axis) const {
  std::int64_t slot = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) slot = slot * extents_[i] + by_axis[axes_[i]];
  return slot;
}

Machine::Machine(const Kernel &kernel, const Bindings &symbols, std::vector<std::int64_t> phases)
    : kernel_(kernel), symbols_(symbols), phases_(std::move(phases)) {
  for (const auto &[name, divisor] : kernel.divisors)
    if (symbol(name) % divisor != 0)
      fail(ErrorCode::InvalidArgument, "kernel {}: {} = {} is not a multiple of {}, as promised",
           kernel.name, name, symbol(name), divisor);
  for (const auto &[name, least] : kernel.minima)
    if (symbol(name) < least)
      fail(ErrorCode::InvalidArgument, "kernel {}: {} = {} is below {}, as promised", kernel.name,
           name, symbol(name), least);
  for (const Layout &layout : kernel.layouts) {
    layouts_.emplace_back();
    for (const Axis &axis : layout.axes) layouts_.back().push_back(make_axis(axis));
  }
}

std::int64_t Machine::symbol(const std::string &name) const {
  auto it = symbols_.find(name);
  if (it == symbols_.end())
    fail(ErrorCode::InvalidArgument, "kernel {}: symbol {} has no value", kernel_.name, name);
  return it->second;
}

std::int64_t Machine::evaluate_symbolic(const Index &index) const {
  return evaluate(index, [&](const Atom &a) { return symbol(a.symbol); });
}

Machine::MachineAxis Machine::make_axis(const Axis &axis) const {
  MachineAxis result;
  result.dims = axis.dims;
  result.vec = vec_extent(axis);
  result.align = axis.align;
  for (DimId d : axis.dims) result.extents.push_back(evaluate_symbolic(kernel_.dims[d].extent));
  std::int64_t weight = 1;
  result.slots = {0};
  for (std::size_t i = axis.digits.size(); i-- > 0;) {
    const Digit &d = axis.digits[i];
    std::int64_t extent = evaluate_symbolic(d.extent);
    if (d.kind == DigitKind::Reg || d.kind == DigitKind::Vec) {
      std::vector<std::int64_t> slots;  // this digit runs slower than those inside it
      for (std::int64_t n = 0; n < extent; ++n)
        for (std::int64_t inner : result.slots) slots.push_back(n * weight + inner);
      result.slots = std::move(slots);
    } else {
      result.digits.push_back({d.kind, extent, evaluate_symbolic(d.stride), weight, d.name});
    }
    weight *= extent;
  }
  std::reverse(result.digits.begin(), result.digits.end());
  return result;
}

std::int64_t Machine::digit_of(const MachineDigit &digit, const ThreadId &id) {
  switch (digit.kind) {
    case DigitKind::Grid: return id.grid / digit.stride % digit.extent;
    case DigitKind::Cta: return id.cta / digit.stride % digit.extent;
    case DigitKind::Thread: return id.thread / digit.stride % digit.extent;
    case DigitKind::Loop:
    case DigitKind::Reg:
    case DigitKind::Vec: return 0;
  }
  return 0;
}

void Machine::place(const MachineAxis &axis, std::uint32_t number, const ThreadId &id,
                    std::span<const std::int64_t> slots,
                    const std::map<std::string, std::int64_t> &loops, Position &position) const {
  std::int64_t index = axis.slots[static_cast<std::size_t>(slots[number])];
  bool valid = true;
  for (const MachineDigit &d : axis.digits) {
    auto bound = d.kind == DigitKind::Loop ? loops.find(d.loop) : loops.end();
    if (d.kind == DigitKind::Loop && bound == loops.end()) valid = false;
    index += d.weight * (bound != loops.end() ? bound->second : digit_of(d, id));
  }
  if (axis.align.buffer != kNone) {
    std::int64_t base = evaluate(axis.align.base, [&](const Atom &a) {
      return a.kind == Atom::Kind::Dim ? position.dims[a.id] : symbol(a.symbol);
    });
    index -= (phases_[axis.align.buffer] + base) & (axis.vec - 1);
  }
  valid = valid && index >= 0;
  for (std::size_t i = axis.dims.size(); i-- > 0;) {
    std::int64_t extent = axis.extents[i];
    bool outermost = i == 0;
    position.dims[axis.dims[i]] = outermost || extent == 0 ? index : index % extent;
    valid = valid && extent > 0 && (!outermost || index < extent);
    if (extent > 0) index /= extent;
  }
  position.valid[number] = valid;
}

void Machine::locate(LayoutId layout, const ThreadId &id, std::span<const std::int64_t> slots,
                     const std::map<std::string, std::int64_t> &loops, Position &position) const {
  const std::vector<MachineAxis> &axes = layouts_[layout];
  position.dims.assign(kernel_.dims.size(), 0);
  position.valid.assign(axes.size(), false);
  for (bool aligned : {false, true})  // the base of an aligned axis uses the others
    for (std::uint32_t a = 0; a < axes.size(); ++a)
      if ((axes[a].align.buffer != kNone) == aligned) place(axes[a], a, id, slots, loops, position);
}

bool Machine::at_origin(LayoutId layout, std::uint32_t axis, const ThreadId &id,
                        const std::vector<std::uint32_t> &axes) const {
  const Layout &text = kernel_.layouts[layout];
  auto here = layouts_[layout][axis].digits.begin();
  for (const Digit &d : text.axes[axis].digits) {
    if (d.kind == DigitKind::Reg || d.kind == DigitKind::Vec) continue;
    if (digit_of(*here++, id) != 0 && !is_shared_digit(text, axes, d)) return false;
  }
  return true;
}

bool Machine::is_first_copy(LayoutId layout, const ThreadId &id) const {
  std::int64_t thread = id.thread, cta = id.cta;
  for (const MachineAxis &axis : layouts_[layout]) {
    for (const MachineDigit &d : axis.digits) {
      if (d.kind == DigitKind::Thread) thread -= digit_of(d, id) * d.stride;
      if (d.kind == DigitKind::Cta) cta -= digit_of(d, id) * d.stride;
    }
  }
  return thread == 0 && cta == 0;
}

}  // namespace fuse
