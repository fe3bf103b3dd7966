// Scans along an axis whose digits keep the order: loops, reg, thread, reg and vec, outermost
// first.
//
// A thread scans its chunks (one for each value of the reg digits outside the thread digits), then
// lanes scan the totals of each chunk by doubling steps. Totals of warps meet in shared memory, all
// chunks at once: every warp scans them again, as many at a time as it has lanes. A carry goes from
// iteration to iteration. Invalid positions contribute the identity. A reverse scan is the same
// with places, chunks and slots counted from the other end.
#include "codegen/emitter.h"
#include "codegen/state_array.h"
#include "codegen/warp.h"
#include "ir/format.h"
#include "ir/scan_threads.h"

#include <algorithm>

namespace fuse {

/// One scan statement while it is emitted. `slot` is a slot of the axes beside the scanned one,
/// times the number of chunks, plus a chunk, in the order of the scan.
struct Emitter::Scan {
  const Stmt *stmt;
  MonoidOps monoid;
  std::uint32_t axis;
  ScanThreads along;
  SlotSpace chunks, inner, rest;  // of the axis outside and inside the threads; beside it
  std::vector<State> memory = {}, carries = {};  // by slot of the rest
  std::vector<std::vector<State>> within = {};   // by slot: states at its positions, inclusive
  std::vector<State> totals = {}, before = {};   // by slot
  llvm::Value *lane = nullptr, *warp = nullptr;  // place of the thread, in the order of the scan

  /// Slots of a space in the order of the scan.
  Assignment decode(const SlotSpace &space, std::size_t n) const {
    return space.decode(stmt->reverse ? space.size() - 1 - n : n);
  }
};

/// The slots of a value on its other axes.
SlotSpace Emitter::slots_without(ValueId value, std::uint32_t axis) const {
  std::vector<std::uint32_t> axes = axes_of(kernel_.layouts[layout_], kernel_.values[value].dims);
  std::erase(axes, axis);
  return map_.slots(layout_, axes);
}

Emitter::Scan Emitter::make_scan(const Stmt &stmt) {
  std::uint32_t axis = axes_of(kernel_.layouts[layout_], stmt.axes)[0];
  const Axis &digits = kernel_.layouts[layout_].axes[axis];
  std::optional<ScanThreads> along = scan_threads_of(digits);
  FUSE_CHECK(along, "kernel {}: a scan along digits in another order", kernel_.name);
  std::vector<DType> dtypes;
  for (ValueId result : stmt.results) dtypes.push_back(kernel_.values[result].dtype);
  std::vector<DimId> outer, inner;
  std::vector<std::int64_t> outer_extents, inner_extents;
  std::int64_t chunks = scan_chunks_of(digits), found = 1;
  for (const Digit &d : digits.digits) {
    if (d.kind != DigitKind::Reg && d.kind != DigitKind::Vec) continue;
    bool is_outer = found < chunks;
    (is_outer ? outer : inner).push_back(map_.atom_of(d));
    (is_outer ? outer_extents : inner_extents).push_back(*d.extent.constant());
    found *= *d.extent.constant();
  }
  return {&stmt,
          MonoidOps(b_, ops_, stmt.monoid, dtypes),
          axis,
          *along,
          SlotSpace(outer, outer_extents),
          SlotSpace(inner, inner_extents),
          slots_without(stmt.results[0], axis)};
}

void Emitter::emit_scan(const Stmt &stmt) {
  Scan scan = make_scan(stmt);
  const std::vector<DType> &dtypes = scan.monoid.dtypes();
  Loop *loop = accumulating_loop({scan.axis});
  for (std::size_t s = 0; s < scan.rest.size(); ++s) {
    if (loop) scan.memory.push_back(make_accumulator(*loop, scan.monoid));
    scan.carries.push_back(carry_of_scan(scan, loop, s));
  }
  scan_slots(scan);
  llvm::Value *place = scan_place(scan), *lanes = b_.getInt32(std::uint32_t(scan.along.lanes));
  scan.lane = b_.CreateURem(place, lanes);
  scan.warp = b_.CreateUDiv(place, lanes);
  for (State &total : scan.totals) total = scan_lanes(scan, total);
  if (scan.along.warps() > 1)
    scan_warps(scan);
  else
    scan_chunks(scan);
  for (std::size_t s = 0; loop && s < scan.rest.size(); ++s)
    for (std::size_t c = 0; c < dtypes.size(); ++c)
      b_.CreateStore(scan.carries[s][c], scan.memory[s][c]);
  define_scan(scan);
}

/// What a slot of the rest goes on from: in the first iteration, or where there are none, the
/// start.
State Emitter::carry_of_scan(Scan &scan, const Loop *loop, std::size_t slot) {
  State start;
  for (ValueId v : scan_start(*scan.stmt)) start.push_back(value_at(v, scan.rest.decode(slot)));
  if (!loop) return start.empty() ? scan.monoid.identity() : start;
  State carry = load_accumulator(scan.memory[slot], scan.monoid.dtypes());
  if (start.empty()) return carry;
  llvm::Value *is_first = b_.getTrue();
  for (const Loop *inner = loop; inner <= &loops_.back(); ++inner)
    is_first = b_.CreateAnd(is_first, b_.CreateIsNull(inner->count));
  return select_state(b_, is_first, start, carry);
}

/// Each chunk of the thread: its states, and its total.
void Emitter::scan_slots(Scan &scan) {
  for (std::size_t s = 0; s < scan.rest.size(); ++s)
    for (std::size_t c = 0; c < scan.chunks.size(); ++c) {
      std::vector<State> &states = scan.within.emplace_back();
      Assignment chunk = merge(scan.rest.decode(s), scan.decode(scan.chunks, c));
      for (std::size_t i = 0; i < scan.inner.size(); ++i) {
        Assignment at = merge(chunk, scan.decode(scan.inner, i));
        State one =
            scan.monoid.lift(gather_element(*scan.stmt, at, {scan.axis}, scan.monoid.dtypes()));
        states.push_back(i == 0 ? one : scan.monoid.combine(states.back(), one));
      }
      scan.totals.push_back(states.back());
    }
}

/// Place of the thread on the axis, counted as the scan runs.
llvm::Value *Emitter::scan_place(const Scan &scan) {
  llvm::Value *extent = b_.getInt32(std::uint32_t(scan.along.extent));
  llvm::Value *digit =
      b_.CreateURem(b_.CreateUDiv(thread_, b_.getInt32(std::uint32_t(scan.along.stride))), extent);
  if (!scan.stmt->reverse) return digit;
  return b_.CreateSub(b_.CreateSub(extent, b_.getInt32(1)), digit);
}

/// The lane of the warp that has the place among the lanes of the scan.
llvm::Value *Emitter::lane_at(const Scan &scan, llvm::Value *place) {
  llvm::Value *stride = b_.getInt32(std::uint32_t(scan.along.stride));
  llvm::Value *own = b_.CreateAnd(thread_, kWarp - 1);
  llvm::Value *distance =
      scan.stmt->reverse ? b_.CreateSub(scan.lane, place) : b_.CreateSub(place, scan.lane);
  return b_.CreateAdd(own, b_.CreateMul(distance, stride));
}

/// The state of the lane so many places before; of some lane where there is none.
State Emitter::state_before(const Scan &scan, const State &state, std::int64_t distance) {
  auto lanes = static_cast<std::uint32_t>(distance * scan.along.stride);
  if (!scan.stmt->reverse) return shuffle(b_, Shuffle::Up, state, b_.getInt32(lanes), members());
  llvm::Value *lane = b_.CreateAnd(b_.CreateAdd(thread_, b_.getInt32(lanes)), kWarp - 1);
  return shuffle(b_, Shuffle::Index, state, lane, members());
}

/// Inclusive scan over the lanes.
State Emitter::scan_lanes(Scan &scan, State state) {
  for (std::int64_t step = 1; step < scan.along.lanes; step *= 2) {
    llvm::Value *has = b_.CreateICmpUGE(scan.lane, b_.getInt32(std::uint32_t(step)));
    State lower = state_before(scan, state, step);
    state = select_state(b_, has, scan.monoid.combine(lower, state), state);
  }
  return state;
}

/// Chunks follow one another within the warp.
void Emitter::scan_chunks(Scan &scan) {
  llvm::Value *is_first = b_.CreateIsNull(scan.lane);
  llvm::Value *last = lane_at(scan, b_.getInt32(std::uint32_t(scan.along.lanes - 1)));
  bool has_lanes = scan.along.lanes > 1;
  for (std::size_t s = 0; s < scan.rest.size(); ++s) {
    State running = scan.monoid.identity();
    for (std::size_t c = 0; c < scan.chunks.size(); ++c) {
      const State &total = scan.totals[s * scan.chunks.size() + c];
      State before = running, all = total;
      if (has_lanes) {
        State lower =
            select_state(b_, is_first, scan.monoid.identity(), state_before(scan, total, 1));
        before = scan.monoid.combine(running, lower);
        all = shuffle(b_, Shuffle::Index, total, last, members());
      }
      scan.before.push_back(scan.monoid.combine(scan.carries[s], before));
      running = scan.monoid.combine(running, all);
    }
    scan.carries[s] = scan.monoid.combine(scan.carries[s], running);
  }
}

/// The total of each warp and chunk, warps of a group side by side in the order of the scan.
StateArray Emitter::store_totals(Scan &scan) {
  std::int64_t entries = scan_total_entries(kernel_, layout_, *scan.stmt);
  StateArray array = make_state_array(scan.monoid.dtypes(), scan.totals.size(), entries);
  llvm::Value *is_last =
      b_.CreateICmpEQ(scan.lane, b_.getInt32(std::uint32_t(scan.along.lanes - 1)));
  llvm::Value *entry = b_.CreateAdd(scan_group(scan), scan.warp);
  emit_if(b_, scan.along.lanes > 1 ? is_last : nullptr,
          [&] { array.store(array.region(), scan.totals, entry); });
  emit_barrier();
  return array;
}

/// The first entry of the thread's group.
llvm::Value *Emitter::scan_group(const Scan &scan) {
  llvm::Value *stride = b_.getInt32(std::uint32_t(scan.along.stride));
  llvm::Value *span = b_.getInt32(std::uint32_t(scan.along.stride * scan.along.extent));
  llvm::Value *outer = b_.CreateMul(b_.CreateUDiv(thread_, span), stride);
  llvm::Value *group = b_.CreateAdd(outer, b_.CreateURem(thread_, stride));
  return b_.CreateMul(group, b_.getInt32(std::uint32_t(scan.along.warps())));
}

/// Of the entries of a slot of the rest, chunk after chunk, the one at first + the thread's lane.
State Emitter::load_total(Scan &scan, StateArray &array, std::size_t slot, std::int64_t first) {
  std::int64_t warps = scan.along.warps(), entries = kernel_.threads / scan.along.lanes;
  auto count = static_cast<std::int64_t>(scan.chunks.size()) * warps;
  llvm::Value *number = b_.CreateAdd(scan.lane, b_.getInt32(std::uint32_t(first)));
  llvm::Value *exists = b_.CreateICmpULT(number, b_.getInt32(std::uint32_t(count)));
  bool all_exist = first + scan.along.lanes <= count;
  if (!all_exist) number = b_.CreateSelect(exists, number, b_.getInt32(0));
  llvm::Value *divisor = b_.getInt32(std::uint32_t(warps));
  llvm::Value *chunk =
      b_.CreateMul(b_.CreateUDiv(number, divisor), b_.getInt32(std::uint32_t(entries)));
  llvm::Value *entry =
      b_.CreateAdd(b_.CreateAdd(chunk, scan_group(scan)), b_.CreateURem(number, divisor));
  std::size_t start = slot * scan.chunks.size();
  State state = array.load(array.region(), scan.totals[start], start, entry, 0);
  return all_exist ? state : select_state(b_, exists, state, scan.monoid.identity());
}

void Emitter::scan_warps(Scan &scan) {
  StateArray array = store_totals(scan);
  State none = scan.monoid.identity();
  scan.before.assign(scan.totals.size(), none);
  llvm::Value *is_first = b_.CreateIsNull(scan.lane);
  for (std::size_t t = 0; t < scan.totals.size() && scan.along.lanes > 1; ++t)
    scan.before[t] = select_state(b_, is_first, none, state_before(scan, scan.totals[t], 1));
  for (std::size_t s = 0; s < scan.rest.size(); ++s) scan_entries(scan, array, s);
}

/// What precedes the thread's warp in each chunk: from the lane that has the entry.
void Emitter::scan_entries(Scan &scan, StateArray &array, std::size_t slot) {
  std::int64_t lanes = scan.along.lanes, warps = scan.along.warps();
  auto chunks = static_cast<std::int64_t>(scan.chunks.size());
  llvm::Value *is_first = b_.CreateIsNull(scan.lane);
  llvm::Value *last = lane_at(scan, b_.getInt32(std::uint32_t(lanes - 1)));
  State running = scan.monoid.identity();
  std::vector<State> groups;
  for (std::int64_t first = 0; first < chunks * warps; first += lanes) {
    State row = scan_lanes(scan, load_total(scan, array, slot, first)), all = row;
    if (lanes > 1) {
      State lower = scan.monoid.combine(running, state_before(scan, row, 1));
      groups.push_back(select_state(b_, is_first, running, lower));
      all = shuffle(b_, Shuffle::Index, row, last, members());
    } else {
      groups.push_back(running);
    }
    running = scan.monoid.combine(running, all);
  }
  for (std::int64_t c = 0; c < chunks; ++c) {
    llvm::Value *entry = b_.CreateAdd(scan.warp, b_.getInt32(std::uint32_t(c * warps)));
    llvm::Value *width = b_.getInt32(std::uint32_t(lanes));
    llvm::Value *lane = lane_at(scan, b_.CreateURem(entry, width));
    State found;
    for (std::int64_t g = c * warps / lanes; g <= ((c + 1) * warps - 1) / lanes; ++g) {
      State there = groups[static_cast<std::size_t>(g)];
      if (lanes > 1) there = shuffle(b_, Shuffle::Index, there, lane, members());
      llvm::Value *is_here =
          b_.CreateICmpEQ(b_.CreateUDiv(entry, width), b_.getInt32(std::uint32_t(g)));
      found = found.empty() ? there : select_state(b_, is_here, there, found);
    }
    State &before = scan.before[slot * scan.chunks.size() + static_cast<std::size_t>(c)];
    before = scan.monoid.combine(scan.carries[slot], scan.monoid.combine(found, before));
  }
  scan.carries[slot] = scan.monoid.combine(scan.carries[slot], running);
}

void Emitter::define_scan(Scan &scan) {
  const Stmt &stmt = *scan.stmt;
  SlotSpace space = slots_of(stmt.results[0]);
  std::vector<Values> slots(stmt.results.size(), Values(space.size()));
  for (std::size_t t = 0; t < scan.within.size(); ++t) {
    std::size_t chunks = scan.chunks.size();
    Assignment chunk = merge(scan.rest.decode(t / chunks), scan.decode(scan.chunks, t % chunks));
    for (std::size_t i = 0; i < scan.inner.size(); ++i) {
      std::size_t at = space.slot_at(merge(chunk, scan.decode(scan.inner, i)));
      bool is_start = stmt.exclusive && i == 0;
      State state = is_start ? scan.before[t]
                             : scan.monoid.combine(scan.before[t],
                                                   scan.within[t][stmt.exclusive ? i - 1 : i]);
      for (std::size_t c = 0; c < slots.size(); ++c) slots[c][at] = state[c];
    }
  }
  for (std::size_t c = 0; c < slots.size(); ++c) define(stmt.results[c], std::move(slots[c]));
}

}  // namespace fuse
