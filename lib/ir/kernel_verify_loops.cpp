// Invariants 21, 25 and 26: scanned axes; what partitioned loops and pipes may hold.
#include "ir/kernel_verify.h"
#include "ir/scan_threads.h"

#include <algorithm>

namespace fuse {

namespace {

/// What a scan starts from is one state for the whole axis.
void verify_scan_start(const Kernel &kernel, const Stmt &stmt, const std::string &place) {
  std::span<const ValueId> start = scan_start(stmt);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const KernelValue &value = kernel.values[start[i]];
    DType wanted = kernel.values[stmt.results[i]].dtype;
    require(value.dtype == wanted, kernel, place, "it starts from %{}, which is {}, not {}",
            value.name, to_string(value.dtype), to_string(wanted));
    for (DimId d : value.dims)
      require(std::find(stmt.axes.begin(), stmt.axes.end(), d) == stmt.axes.end(), kernel, place,
              "it starts from %{}, which depends on {}", value.name, kernel.dims[d].name);
  }
}

/// Iterations come in the order of the scan.
void verify_scan_direction(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                           const std::vector<std::string> &loops,
                           const std::vector<bool> &is_reverse, const std::string &place) {
  auto outer = loops.begin();
  for (const Digit &d : layout.axes[axes_of(layout, stmt.axes)[0]].digits) {
    if (d.kind != DigitKind::Loop) continue;
    auto loop = std::find(loops.begin(), loops.end(), d.name);
    require(loop >= outer, kernel, place,
            "loop {} is bound outside a loop that is outside it on the axis", d.name);
    require(is_reverse[static_cast<std::size_t>(loop - loops.begin())] == stmt.reverse, kernel,
            place, "loop {} runs against the direction of the scan", d.name);
    outer = loop;
  }
}

}  // namespace

void verify_scan(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                 const std::vector<std::string> &loops, const std::vector<bool> &is_reverse,
                 const std::string &place) {
  std::vector<std::uint32_t> axes = axes_of(layout, stmt.axes);
  require(axes.size() == 1, kernel, place, "it scans more than one axis");
  bool has_scan = stmt.monoid == Monoid::Online || num_results(stmt.monoid) == 1;
  require(has_scan, kernel, place, "{} has no scan", fuse::to_string(stmt.monoid));
  require(scan_threads_of(layout.axes[axes[0]]).has_value(), kernel, place,
          "a scanned axis has digits grid . loop . reg . thread . reg . vec");
  verify_scan_direction(kernel, layout, stmt, loops, is_reverse, place);
  verify_scan_start(kernel, stmt, place);
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
