// Invariant 21: scanned axes.
#include "ir/kernel_verify.h"

#include <algorithm>

namespace fuse {

void verify_scan_axis(const Kernel &kernel, const Layout &layout, const Stmt &stmt,
                      const std::string &place) {
  std::vector<std::uint32_t> axes = axes_of(layout, stmt.axes);
  require(axes.size() == 1, kernel, place, "it scans more than one axis");
  require(num_operands(stmt.monoid) == 1 && num_results(stmt.monoid) == 1, kernel, place,
          "{} has no scan", fuse::to_string(stmt.monoid));
  auto rank = [](DigitKind kind) {
    return kind == DigitKind::Loop ? 0 : kind == DigitKind::Thread ? 1 : 2;
  };
  int last = -1;
  for (const Digit &d : layout.axes[axes[0]].digits) {
    bool in_block =
        (d.kind != DigitKind::Grid && d.kind != DigitKind::Cta) || d.extent.is_constant(1);
    require(in_block && (rank(d.kind) > last || rank(d.kind) == 2), kernel, place,
            "a scanned axis has digits loop . thread . reg . vec");
    last = in_block && d.extent.is_constant(1) ? last : rank(d.kind);
  }
}

}  // namespace fuse
