// Scans along an axis whose digits keep the order: loops, reg, thread, reg and vec, outermost
// first.
//
// Each chunk (one value of the reg digits outside the thread digit) is scanned in the thread, then
// over lanes by doubling steps, then over warps in order; a carry goes from chunk to chunk and from
// iteration to iteration. Invalid positions contribute the identity.
#include "codegen/emitter.h"
#include "codegen/state_array.h"
#include "codegen/warp.h"
#include "ir/format.h"

#include <algorithm>

namespace fuse {

struct Emitter::ScanShape {
  SlotSpace outer, inner;                // slots of the axis outside and inside the thread digit
  std::int64_t threads = 1, stride = 1;  // the thread digit
  std::int64_t lanes = 1, warps = 1;     // its parts
};

namespace {

std::int64_t slot_extent(const Digit &d) {
  bool is_slot = d.kind == DigitKind::Reg || d.kind == DigitKind::Vec;
  return is_slot ? *d.extent.constant() : 0;
}

bool spans_blocks(const Digit &d) {
  return (d.kind == DigitKind::Grid || d.kind == DigitKind::Cta) && !d.extent.is_constant(1);
}

}  // namespace

Emitter::ScanShape Emitter::scan_shape(std::uint32_t axis) const {
  ScanShape shape;
  std::vector<DimId> outer, inner;
  std::vector<std::int64_t> outer_extents, inner_extents;
  bool inside = false;
  const Axis &a = kernel_.layouts[layout_].axes[axis];
  bool has_threads = std::any_of(a.digits.begin(), a.digits.end(), [](const Digit &d) {
    return d.kind == DigitKind::Thread && !d.extent.is_constant(1);
  });
  for (const Digit &d : a.digits) {
    if (spans_blocks(d))
      fail(ErrorCode::Unsupported, "kernel {}: a scan over several blocks", kernel_.name);
    if (d.kind == DigitKind::Thread && !d.extent.is_constant(1)) {
      std::int64_t stride = *d.stride.constant(), extent = *d.extent.constant();
      if (inside && shape.stride != stride * extent)
        fail(ErrorCode::Unsupported, "kernel {}: a scan over thread digits that do not adjoin",
             kernel_.name);
      shape.threads *= extent;
      shape.stride = stride;
      inside = true;
    }
    if (std::int64_t extent = slot_extent(d)) {
      bool is_inner = inside || !has_threads;
      (is_inner ? inner : outer).push_back(map_.atom_of(d));
      (is_inner ? inner_extents : outer_extents).push_back(extent);
    }
  }
  shape.outer = SlotSpace(outer, outer_extents);
  shape.inner = SlotSpace(inner, inner_extents);
  shape.lanes = std::min(shape.threads, std::max<std::int64_t>(1, kWarp / shape.stride));
  shape.warps = shape.threads / shape.lanes;
  return shape;
}

/// The state before each thread's part of the chunk; the carries move past the chunk.
std::vector<State> Emitter::scan_threads(const ScanShape &shape, MonoidOps &monoid,
                                         const std::vector<State> &totals,
                                         std::vector<State> &carries) {
  auto stride = static_cast<std::uint32_t>(shape.stride);
  auto lanes = static_cast<std::uint32_t>(shape.lanes);
  llvm::Value *position =
      b_.CreateURem(b_.CreateUDiv(thread_, b_.getInt32(stride)), b_.getInt32(lanes));
  llvm::Value *last_lane = b_.CreateAdd(
      b_.CreateAnd(thread_, kWarp - 1),
      b_.CreateMul(b_.CreateSub(b_.getInt32(lanes - 1), position), b_.getInt32(stride)));
  std::vector<State> before, sums;
  for (const State &total : totals) {
    State inclusive = total;
    for (std::uint32_t step = 1; step < lanes; step *= 2) {
      llvm::Value *has = b_.CreateICmpUGE(position, b_.getInt32(step));
      State lower = shuffle(b_, Shuffle::Up, inclusive, b_.getInt32(step * stride), members());
      inclusive = select_state(b_, has, monoid.combine(lower, inclusive), inclusive);
    }
    State lower = inclusive;
    if (lanes > 1) lower = shuffle(b_, Shuffle::Up, inclusive, b_.getInt32(stride), members());
    llvm::Value *is_first = b_.CreateIsNull(position);
    before.push_back(select_state(b_, is_first, monoid.identity(), lower));
    sums.push_back(lanes > 1 ? shuffle(b_, Shuffle::Index, inclusive, last_lane, members())
                             : inclusive);
  }
  if (shape.warps > 1) scan_warps(shape, monoid, sums, before);
  for (std::size_t s = 0; s < totals.size(); ++s) {
    before[s] = monoid.combine(carries[s], before[s]);
    carries[s] = monoid.combine(carries[s], sums[s]);
  }
  return before;
}

/// From the sums of warps, their total and what precedes each thread.
void Emitter::scan_warps(const ScanShape &shape, MonoidOps &monoid, std::vector<State> &sums,
                         std::vector<State> &before) {
  StateArray array = make_state_array(monoid.dtypes(), sums.size(), kernel_.threads);
  array.store(array.region(), sums, thread_);
  emit_barrier();
  std::int64_t step = shape.stride * shape.lanes;  // threads from warp to warp
  llvm::Value *warp = b_.CreateURem(b_.CreateUDiv(thread_, b_.getInt32(std::uint32_t(step))),
                                    b_.getInt32(std::uint32_t(shape.warps)));
  llvm::Value *start = b_.CreateSub(thread_, b_.CreateMul(warp, b_.getInt32(std::uint32_t(step))));
  for (std::size_t s = 0; s < sums.size(); ++s) {
    State running = monoid.identity(), preceding = running, own = sums[s];
    for (std::int64_t w = 0; w < shape.warps; ++w) {
      llvm::Value *is_own = b_.CreateICmpEQ(warp, b_.getInt32(std::uint32_t(w)));
      preceding = select_state(b_, is_own, running, preceding);
      running = monoid.combine(running, array.load(array.region(), own, s, start, w * step));
    }
    before[s] = monoid.combine(preceding, before[s]);
    sums[s] = running;
  }
}

/// The slots of a value on its other axes.
SlotSpace Emitter::slots_without(ValueId value, std::uint32_t axis) const {
  std::vector<std::uint32_t> axes = axes_of(kernel_.layouts[layout_], kernel_.values[value].dims);
  std::erase(axes, axis);
  return map_.slots(layout_, axes);
}

void Emitter::emit_scan(const Stmt &stmt) {
  std::vector<std::uint32_t> axes = axes_of(kernel_.layouts[layout_], stmt.axes);
  FUSE_CHECK(axes.size() == 1, "kernel {}: a scan over {} axes", kernel_.name, axes.size());
  ScanShape shape = scan_shape(axes[0]);
  std::vector<DType> dtypes;
  for (ValueId result : stmt.results) dtypes.push_back(kernel_.values[result].dtype);
  MonoidOps monoid(b_, ops_, stmt.monoid, dtypes);
  SlotSpace space = slots_of(stmt.results[0]), rest = slots_without(stmt.results[0], axes[0]);
  Loop *loop = accumulating_loop(axes);
  std::vector<State> memory, carries;
  for (std::size_t s = 0; s < rest.size(); ++s) {
    if (loop) memory.push_back(make_accumulator(*loop, monoid));
    carries.push_back(loop ? load_accumulator(memory[s], dtypes) : monoid.identity());
  }
  std::vector<Values> slots(dtypes.size(), Values(space.size()));
  for (std::size_t o = 0; o < shape.outer.size(); ++o)
    scan_chunk(stmt, shape, monoid, rest, shape.outer.decode(o), axes[0], carries, slots);
  for (std::size_t s = 0; loop && s < rest.size(); ++s)
    for (std::size_t c = 0; c < dtypes.size(); ++c) b_.CreateStore(carries[s][c], memory[s][c]);
  for (std::size_t c = 0; c < dtypes.size(); ++c) define(stmt.results[c], std::move(slots[c]));
}

void Emitter::scan_chunk(const Stmt &stmt, const ScanShape &shape, MonoidOps &monoid,
                         const SlotSpace &rest, const Assignment &chunk, std::uint32_t axis,
                         std::vector<State> &carries, std::vector<Values> &slots) {
  SlotSpace space = slots_of(stmt.results[0]);
  std::vector<std::vector<State>> inclusive(rest.size());
  std::vector<Assignment> positions;
  std::vector<State> totals;
  for (std::size_t s = 0; s < rest.size(); ++s) {
    State running = monoid.identity();
    for (std::size_t i = 0; i < shape.inner.size(); ++i) {
      Assignment at = merge(rest.decode(s), merge(chunk, shape.inner.decode(i)));
      Element element = gather_element(stmt, at, {axis}, monoid.dtypes());
      State one = monoid.fold(std::span(&element, 1), {});
      running = i == 0 ? one : monoid.combine(running, one);
      inclusive[s].push_back(running);
    }
    totals.push_back(running);
  }
  std::vector<State> before = scan_threads(shape, monoid, totals, carries);
  for (std::size_t s = 0; s < rest.size(); ++s)
    for (std::size_t i = 0; i < shape.inner.size(); ++i) {
      Assignment at = merge(rest.decode(s), merge(chunk, shape.inner.decode(i)));
      std::size_t last = stmt.exclusive ? i - 1 : i;
      State state =
          stmt.exclusive && i == 0 ? before[s] : monoid.combine(before[s], inclusive[s][last]);
      for (std::size_t c = 0; c < slots.size(); ++c) slots[c][space.slot_at(at)] = state[c];
    }
}

}  // namespace fuse
