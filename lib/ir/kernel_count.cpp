// How much code a kernel is.
#include "ir/kernel.h"
#include "ir/philox.h"

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

/// Statements that the emitter writes down beside one for every slot.
std::int64_t extra_of(const Kernel &kernel, const Stmt &s, LayoutId layout) {
  if (s.kind == StmtKind::Random && s.vector < kPhiloxWords)
    return slots(kernel, layout, dependence(kernel, s)) * (kPhiloxWords / s.vector - 1) *
           kRandomStatements;
  if (s.kind == StmtKind::Move) return slots(kernel, s.layout, kernel.values[s.operands[0]].dims);
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
