// How much code a kernel is.
#include "ir/kernel.h"
#include "ir/philox.h"
#include "ir/scan_threads.h"

#include <bit>

namespace fuse {

namespace {

bool is_scope(const Stmt &s) {
  return s.kind == StmtKind::For || s.kind == StmtKind::In || s.kind == StmtKind::LastBlock;
}

/// Dims that the code of a statement runs along: those of what it reads and makes.
std::vector<DimId> dims_of(const Kernel &kernel, const Stmt &s) {
  std::vector<DimId> dims = dependence(kernel, s);
  for (ValueId v : s.operands)
    dims.insert(dims.end(), kernel.values[v].dims.begin(), kernel.values[v].dims.end());
  return dims;
}

/// Sums count(statement, its layout); bodies of partitioned loops count `partitioned` times.
template <class Count>
std::int64_t sum(const std::vector<Stmt> &body, LayoutId layout, int partitioned,
                 const Count &count) {
  std::int64_t n = 0;
  for (const Stmt &s : body) {
    if (is_scope(s))
      n += (s.partition ? partitioned : 1) *
           sum(s.body, s.kind == StmtKind::In ? s.layout : layout, partitioned, count);
    else
      n += count(s, layout);
  }
  return n;
}

std::int64_t slots(const Kernel &kernel, LayoutId layout, const std::vector<DimId> &dims) {
  if (layout == kNone) return 1;
  return num_slots(kernel.layouts[layout], axes_of(kernel.layouts[layout], dims));
}

/// Steps that combine the states of threads, warps and ranks.
std::int64_t steps_of(const Layout &layout, const Stmt &reduction) {
  std::int64_t threads = 1, ranks = 1;
  for (std::uint32_t a : axes_of(layout, reduction.axes))
    for (const Digit &d : layout.axes[a].digits) {
      if (d.kind == DigitKind::Thread) threads *= *d.extent.constant();
      if (d.kind == DigitKind::Cta) ranks *= *d.extent.constant();
    }
  return std::bit_width(static_cast<std::uint64_t>(threads)) + threads / 32 + ranks;
}

/// Steps of a scan for one slot beside its axis: lanes of each chunk, and of the totals of warps.
std::int64_t scan_steps_of(const Layout &layout, const Stmt &scan) {
  const Axis &axis = layout.axes[axes_of(layout, scan.axes)[0]];
  std::optional<ScanThreads> along = scan_threads_of(axis);
  if (!along) return 0;
  std::int64_t chunks = scan_chunks_of(axis), entries = chunks * along->warps();
  std::int64_t rows = along->warps() > 1 ? (entries + along->lanes - 1) / along->lanes : 0;
  std::int64_t steps = std::bit_width(static_cast<std::uint64_t>(along->lanes)) + 1;
  return (chunks + rows) * steps + chunks * (rows > 0 ? along->warps() / along->lanes + 3 : 2);
}

/// Slots beside the axis of a scan.
std::int64_t slots_beside(const Kernel &kernel, const Stmt &scan, const Layout &layout) {
  std::vector<std::uint32_t> axes = axes_of(layout, dependence(kernel, scan));
  std::erase(axes, axes_of(layout, scan.axes)[0]);
  return num_slots(layout, axes);
}

/// Statements that the emitter writes down beside one for every slot.
std::int64_t extra_of(const Kernel &kernel, const Stmt &s, LayoutId layout) {
  if (s.kind == StmtKind::Random && s.vector < kPhiloxWords)
    return slots(kernel, layout, dependence(kernel, s)) * (kPhiloxWords / s.vector - 1) *
           kRandomStatements;
  if (s.kind == StmtKind::Move) return slots(kernel, s.layout, kernel.values[s.operands[0]].dims);
  if (s.kind == StmtKind::Scan)
    return slots(kernel, layout, dependence(kernel, s)) +
           slots_beside(kernel, s, kernel.layouts[layout]) *
               scan_steps_of(kernel.layouts[layout], s);
  if (s.kind != StmtKind::Reduce) return 0;
  return slots(kernel, layout, dependence(kernel, s)) * steps_of(kernel.layouts[layout], s);
}

}  // namespace

std::int64_t statements_of(const Stmt &s) {
  return s.kind == StmtKind::Random ? kRandomStatements : 1;
}

std::int64_t num_statements(const Kernel &kernel) {
  return sum(kernel.body, kNone, 1, [](const Stmt &, LayoutId) { return 1; });
}

std::int64_t num_unrolled(const Kernel &kernel) {
  return sum(kernel.body, kNone, 1, [&](const Stmt &s, LayoutId layout) {
    return slots(kernel, layout, dims_of(kernel, s)) * statements_of(s);
  });
}

std::int64_t num_emitted(const Kernel &kernel) {
  return sum(kernel.body, kNone, 2, [&](const Stmt &s, LayoutId layout) {
    return slots(kernel, layout, dims_of(kernel, s)) * statements_of(s) +
           extra_of(kernel, s, layout);
  });
}

}  // namespace fuse
