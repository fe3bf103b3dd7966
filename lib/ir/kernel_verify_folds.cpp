// Invariants 21, 24 and 27 of what folds or scans an axis.
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

void verify_reduce(const Kernel &kernel, const Layout &layout, const Stmt &stmt, bool at_once,
                   bool in_last_block, const std::string &place) {
  if (stmt.terms) {
    require(stmt.monoid == Monoid::Online, kernel, place, "{} has no terms",
            fuse::to_string(stmt.monoid));
    require(at_once, kernel, place, "terms are known only after the loop");
  }
  if (!in_last_block) return;
  for (std::uint32_t a : axes_of(layout, stmt.axes))
    for (const Digit &d : layout.axes[a].digits)
      require(d.kind != DigitKind::Cta || d.extent.is_constant(1), kernel, place,
              "a reduction over a cluster in last_block waits for blocks that do not come");
}

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

}  // namespace fuse
