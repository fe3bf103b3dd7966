// Invariants 21, 25 and 26: scanned axes; what partitioned loops and pipes may hold.
#include "ir/kernel_verify.h"
#include "ir/scan_threads.h"

#include <algorithm>

namespace fuse {

void verify_scan_axis(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                      const std::string &place) {
  std::vector<std::uint32_t> axes = axes_of(layout, stmt.axes);
  require(axes.size() == 1, kernel, place, "it scans more than one axis");
  bool has_scan = stmt.monoid == Monoid::Online || num_results(stmt.monoid) == 1;
  require(has_scan, kernel, place, "{} has no scan", fuse::to_string(stmt.monoid));
  require(scan_threads_of(layout.axes[axes[0]]).has_value(), kernel, place,
          "a scanned axis has digits loop . reg . thread . reg . vec");
}

void verify_bulk_load(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &stmt,
                      const std::string &place) {
  const Layout &layout = kernel.layouts[in];
  const Buffer &b = kernel.buffers[stmt.buffer];
  require(stmt.kind == StmtKind::Load && stmt.guard == kNone && !b.coherent, kernel, place,
          "only loads without a guard, of what nobody writes, come in bulk");
  require(stmt.index.values().empty(), kernel, place, "the place of a bulk load uses a value");
  if (is_uniform_in_block(map, in, stmt.index)) return;
  DimId along = bulk_dim(layout, stmt);
  require(along != kNone, kernel, place,
          "a bulk load needs a dim within the block along which {} advances by 1",
          to_string(kernel, stmt.index));
  std::optional<std::int64_t> extent = kernel.dims[along].extent.constant();
  require(extent && is_exact(kernel, layout.axes[axis_of(layout, along)]), kernel, place,
          "digits and extent of {} differ: a bulk load has no edges", kernel.dims[along].name);
  auto size = static_cast<std::int64_t>(size_of(b.dtype));
  Index row = stmt.index - Index::dim(along);
  bool whole =
      b.alignment % 16 == 0 && *extent * size % 16 == 0 && known_divisor(row) * size % 16 == 0;
  require(whole, kernel, place, "rows of a bulk load are not whole units of 16 bytes");
  require(is_uniform_in_block(map, in, row), kernel, place,
          "the row of a bulk load differs between threads");
}

}  // namespace fuse
