// Loads, stores and moves of the interpreter, a warp's vector at a time.
//
// A vector of which all elements take part is one access: its offsets must be consecutive and its
// address aligned. Otherwise the elements that take part are accessed one by one.
#include "ir/format.h"
#include "ir/interpret/interpreter.h"

#include <algorithm>

namespace fuse {

/// Calls `access` for every vector of every thread, the threads of a warp after one another, and
/// `end_of_warp` after the last of them.
void Interpreter::for_each_warp_vector(
    const Stmt &s, LayoutId in, int width, const std::vector<DimId> &dims,
    const std::function<void(const ThreadId &, const Vector &)> &access,
    const std::function<void()> &end_of_warp) {
  const Layout &layout = kernel_.layouts[in];
  SlotRange range(layout, axes_of(layout, dims));
  Vector v;
  v.width = width;
  v.slots.resize(layout.axes.size());
  if (width > 1) v.axis = map_.vector_axis(in, s.index, width, dims);
  for (std::int64_t n = 0; n < range.size(); ++n) {
    range.decode(n, v.slots);
    if (width > 1 && v.slots[v.axis] % width != 0) continue;
    for_each_thread([&](const ThreadId &id) {
      access(id, v);
      if (id.thread % 32 == 31) end_of_warp();
    });
  }
}

std::vector<Interpreter::Active> Interpreter::active_elements(
    const Stmt &s, LayoutId layout, const ThreadId &id, const Vector &v,
    const std::vector<std::uint32_t> &axes) {
  std::vector<Active> active;
  std::vector<std::int64_t> slots = v.slots;
  Position position;
  int guarded = 0, valid = 0;
  for (int e = 0; e < v.width; ++e) {
    if (v.axis != kNone) slots[v.axis] = v.slots[v.axis] + e;
    machine_.locate(layout, id, slots, loops_, position);
    if (!position.valid_on(axes)) continue;
    ++valid;
    if (s.guard != kNone && !slot(s.guard, id, slots)) continue;
    ++guarded;
    active.push_back({e, offset_at(s.index, id, position, slots), position.dims});
  }
  if (guarded != 0 && guarded != valid)
    error(s, id, "the guard differs between the elements of a vector");
  return active;
}

/// All elements take part; then they lie side by side, from a boundary of the vector's size unless
/// the access is unaligned.
bool Interpreter::is_whole(const Stmt &s, const ThreadId &id, const Vector &v,
                           const std::vector<Active> &active, std::int64_t phase) const {
  if (v.width == 1 || active.size() != static_cast<std::size_t>(v.width)) return false;
  for (const Active &a : active)
    if (a.offset != active[0].offset + a.element)
      error(s, id,
            "offsets " + std::to_string(active[0].offset) + " and " + std::to_string(a.offset) +
                " of a vector are not consecutive");
  if (!s.unaligned && (phase + active[0].offset) % v.width != 0)
    error(s, id,
          "a vector of " + std::to_string(v.width) + " at offset " +
              std::to_string(active[0].offset) + " is not aligned");
  return true;
}

/// Positions that store: the first copy, and position 0 of the axes that do not matter.
bool Interpreter::stores(const Stmt &s, const ThreadId &id,
                         const std::vector<std::uint32_t> &axes) const {
  if (s.kind != StmtKind::Store) return true;
  if (!machine_.is_first_copy(layout_, id)) return false;
  for (std::uint32_t a = 0; a < layout().axes.size(); ++a) {
    bool matters = std::find(axes.begin(), axes.end(), a) != axes.end();
    if (!matters && !machine_.at_origin(layout_, a, id, axes)) return false;
  }
  return true;
}

void Interpreter::run_access(const Stmt &s) {
  if (s.kind == StmtKind::Load) allocate(s.results[0]);
  std::vector<DimId> dims = dependence(kernel_, s);
  std::vector<std::uint32_t> axes = axes_of(layout(), dims);
  WarpAccess warp;
  AccessStats &stats = stats_[stats_of_[&s]];
  for_each_warp_vector(
      s, layout_, s.vector, dims,
      [&](const ThreadId &id, const Vector &v) {
        std::vector<std::int64_t> slots = v.slots;
        for (int e = 0; s.kind == StmtKind::Load && e < v.width; ++e) {
          if (v.axis != kNone) slots[v.axis] = v.slots[v.axis] + e;
          slot(s.results[0], id, slots) = s.fill;
        }
        if (stores(s, id, axes)) access_vector(s, id, v, warp);
      },
      [&] { warp.count_sectors(stats); });
}

void Interpreter::access_vector(const Stmt &s, const ThreadId &id, const Vector &v,
                                WarpAccess &warp) {
  std::vector<std::uint32_t> axes = axes_of(layout(), dependence(kernel_, s));
  std::vector<Active> active = active_elements(s, layout_, id, v, axes);
  AccessStats &stats = stats_[stats_of_[&s]];
  if (is_whole(s, id, v, active, memory_.phase(s.buffer)))
    ++stats.vector_accesses;
  else
    stats.element_accesses += static_cast<std::int64_t>(active.size());
  auto size = static_cast<std::int64_t>(size_of(kernel_.buffers[s.buffer].dtype));
  for (const Active &a : active) {
    access_element(s, id, v, a);
    warp.add(memory_.byte_address(s.buffer, a.offset), size);
  }
}

void Interpreter::access_element(const Stmt &s, const ThreadId &id, const Vector &v,
                                 const Active &a) {
  std::vector<std::int64_t> slots = v.slots;
  if (v.axis != kNone) slots[v.axis] += a.element;
  std::string message;
  if (s.kind == StmtKind::Load)
    message =
        memory_.load(s.buffer, a.offset, global_thread(id),
                     arrivals_.empty() ? nullptr : arrivals_[static_cast<std::size_t>(id.cta)],
                     slot(s.results[0], id, slots));
  else
    message = memory_.store(s.buffer, a.offset, global_thread(id), !arrivals_.empty(),
                            slot(s.operands[0], id, slots));
  if (!message.empty()) error(s, id, message);
}

void Interpreter::run_move(const Stmt &s) {
  shared_.assign(static_cast<std::size_t>(kernel_.cluster), {});
  allocate(s.results[0]);
  move_vectors(s, layout_, s.vector, true);
  move_vectors(s, s.layout, s.read_vector, false);
}

void Interpreter::move_vectors(const Stmt &s, LayoutId layout, int width, bool writes) {
  ValueId value = writes ? s.operands[0] : s.results[0];
  WarpAccess warp;
  AccessStats &stats = stats_[stats_of_[&s]];
  for_each_warp_vector(
      s, layout, width, kernel_.values[value].dims,
      [&](const ThreadId &id, const Vector &v) { move_vector(s, layout, id, v, writes, warp); },
      [&] { warp.count_banks(stats); });
}

void Interpreter::move_vector(const Stmt &s, LayoutId layout, const ThreadId &id, const Vector &v,
                              bool writes, WarpAccess &warp) {
  ValueId value = writes ? s.operands[0] : s.results[0];
  const std::vector<DimId> &dims = kernel_.values[value].dims;
  std::map<std::int64_t, Shared> &shared = shared_[static_cast<std::size_t>(id.cta)];
  std::vector<std::uint32_t> axes = axes_of(kernel_.layouts[layout], dims);
  std::vector<Active> active = active_elements(s, layout, id, v, axes);
  auto size = static_cast<std::int64_t>(size_of(kernel_.values[value].dtype));
  bool whole = is_whole(s, id, v, active, 0);
  for (const Active &a : active) {
    std::vector<std::int64_t> slots = v.slots, point;
    if (v.axis != kNone) slots[v.axis] += a.element;
    for (DimId d : dims) point.push_back(a.dims[d]);
    std::string offset = "shared offset " + std::to_string(a.offset);
    if (writes) {
      auto [it, is_new] = shared.try_emplace(a.offset, Shared{point, slot(value, id, slots)});
      if (!is_new && it->second.dims != point) error(s, id, offset + " holds two positions");
    } else {
      auto it = shared.find(a.offset);
      if (it == shared.end() || it->second.dims != point)
        error(s, id, offset + " is read, but this block did not write its position there");
      slot(value, id, slots) = it->second.bits;
    }
    if (!whole) warp.add(a.offset * size, size);
  }
  if (whole) warp.add(active[0].offset * size, v.width * size);
}

}  // namespace fuse
