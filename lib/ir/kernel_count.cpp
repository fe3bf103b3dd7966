// How much code a kernel is.
#include "ir/kernel.h"

#include <algorithm>

namespace fuse {

namespace {

bool is_scope(const Stmt &s) {
  return s.kind == StmtKind::For || s.kind == StmtKind::In || s.kind == StmtKind::LastBlock;
}

/// Dims that the code of a statement runs along: those of what it reads and makes.
std::vector<DimId> dims_of(const Kernel &kernel, const Stmt &s) {
  std::vector<DimId> dims = s.index.dims();
  auto add = [&](ValueId v) {
    dims.insert(dims.end(), kernel.values[v].dims.begin(), kernel.values[v].dims.end());
  };
  for (ValueId v : used_values(s)) add(v);
  for (ValueId v : s.results) add(v);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

template <class Count>
std::int64_t sum(const std::vector<Stmt> &body, LayoutId layout, const Count &count) {
  std::int64_t n = 0;
  for (const Stmt &s : body) {
    bool enters = s.kind == StmtKind::In;
    n += is_scope(s) ? sum(s.body, enters ? s.layout : layout, count) : count(s, layout);
  }
  return n;
}

}  // namespace

std::int64_t num_statements(const Kernel &kernel) {
  return sum(kernel.body, kNone, [](const Stmt &, LayoutId) { return 1; });
}

std::int64_t num_unrolled(const Kernel &kernel) {
  return sum(kernel.body, kNone, [&](const Stmt &s, LayoutId layout) {
    if (layout == kNone) return std::int64_t{1};
    const Layout &l = kernel.layouts[layout];
    return num_slots(l, axes_of(l, dims_of(kernel, s)));
  });
}

}  // namespace fuse
