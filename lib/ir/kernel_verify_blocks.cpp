// Invariants 24 and 28: the blocks that a last_block counts, and the parts that it reads.
#include "ir/kernel_verify.h"

#include <algorithm>

namespace fuse {

namespace {

bool is_grid(const Digit &digit) {
  return digit.kind == DigitKind::Grid && !digit.extent.is_constant(1);
}

bool has_load_of(const std::vector<Stmt> &body, BufferId buffer) {
  return std::any_of(body.begin(), body.end(), [&](const Stmt &s) {
    return (s.kind == StmtKind::Load && s.buffer == buffer) || has_load_of(s.body, buffer);
  });
}

/// Every block arrives once, at one of the counters.
void verify_count(const Kernel &kernel, const Stmt &last, const std::string &place) {
  const Buffer &counter = kernel.buffers[last.buffer];
  Index counters = product(counter.shape);
  Index blocks = grid_size(kernel), difference = blocks - counters * last.count;
  Ranges ranges;  // without a block nothing arrives
  ranges.symbol_min = [](const std::string &) { return INT64_C(1); };
  bool differs =
      is_nonnegative(difference - 1, ranges) || is_nonnegative(Index(-1) - difference, ranges);
  require(!differs, kernel, place, "{} counters of {} blocks each, but {} blocks are launched",
          to_string(kernel, counters), to_string(kernel, last.count), to_string(kernel, blocks));
}

}  // namespace

std::vector<const Digit *> grid_digits_at_0(const Kernel &kernel, const Layout &layout,
                                            const Stmt &store) {
  std::vector<const Digit *> digits;
  std::vector<std::uint32_t> axes = axes_of(layout, dependence(kernel, store));
  for (std::uint32_t a = 0; a < layout.axes.size(); ++a) {
    if (std::find(axes.begin(), axes.end(), a) != axes.end()) continue;
    for (const Digit &d : layout.axes[a].digits)
      if (is_grid(d) && !is_shared_digit(layout, axes, d)) digits.push_back(&d);
  }
  return digits;
}

void verify_last_block(const Kernel &kernel, const MachineMap &map, LayoutId in, const Stmt &last,
                       const std::vector<std::vector<const Digit *>> &only_at_0,
                       const std::string &place) {
  const Buffer &counter = kernel.buffers[last.buffer];
  require(counter.role == BufferRole::Workspace && counter.dtype == DType::U32, kernel, place,
          "counter %{} is no u32 workspace", counter.name);
  require(!last.count.uses(Atom::Kind::Dim) && !last.count.uses(Atom::Kind::Value), kernel, place,
          "the number of blocks uses more than symbols");
  require(last.index.values().empty() && is_uniform_in_block(map, in, last.index), kernel, place,
          "the counter differs within a block");
  verify_count(kernel, last, place);
  for (DimId id : map.place(last.index, in).dims())
    for (BufferId b = 0; b < kernel.buffers.size(); ++b)
      for (const Digit *d : only_at_0[b]) {
        const Digit &told = *map.atom(id).digit;
        bool apart = !is_grid(told) || nests(told, *d) || nests(*d, told);
        require(apart || !has_load_of(last.body, b), kernel, place,
                "%{} is stored only where grid {}@{} is 0, but counter {} counts the others too",
                kernel.buffers[b].name, to_string(kernel, d->extent), to_string(kernel, d->stride),
                to_string(kernel, last.index));
      }
}

}  // namespace fuse
