// Walks a body as the emitter does.
#include "ir/shared_memory.h"

#include "ir/format.h"
#include "ir/scan_threads.h"
#include "ir/thread_parts.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kAlignment = 16;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<Part> folded_parts(const Kernel &kernel, LayoutId layout, const Stmt &reduce,
                               DigitKind kind) {
  const Layout &l = kernel.layouts[layout];
  return parts_of(l, axes_of(l, reduce.axes), kind);
}

class Counter {
 public:
  explicit Counter(const Kernel &kernel) : k_(kernel) {}

  std::int64_t run() {
    walk(k_.body, kNone);
    if (has_moves_) bytes_ += aligned(move_bytes(k_, MachineMap(k_)));
    return bytes_;
  }

 private:
  const Kernel &k_;
  StateRegions regions_;
  std::int64_t bytes_ = 0;
  int copies_ = 1;
  bool has_moves_ = false;

  void walk(const std::vector<Stmt> &body, LayoutId layout) {
    for (const Stmt &s : body) count(s, layout);
  }

  void count(const Stmt &s, LayoutId layout) {
    switch (s.kind) {
      case StmtKind::Reduce:
        take_states(s, layout, warp_entries(k_, layout, s));
        take_states(s, layout, cluster_entries(k_, layout, s));
        return;
      case StmtKind::Scan: return take_states(s, layout, scan_total_entries(k_, layout, s));
      case StmtKind::Move: has_moves_ = true; return;
      case StmtKind::Keep: return count_kept(s, layout);
      case StmtKind::For: return count_loop(s, layout);
      case StmtKind::In: return walk(s.body, s.layout);
      case StmtKind::LastBlock:
        bytes_ += kAlignment;  // whether the block is it
        regions_.release();
        return walk(s.body, layout);
      default: return;
    }
  }

  /// A partitioned loop is written down twice; its statements stay within the thread.
  void count_loop(const Stmt &s, LayoutId layout) {
    bytes_ += aligned(8 * s.pipe);  // a barrier of each stage
    int outer = copies_;
    if (s.partition) copies_ *= 2;
    walk(s.body, layout);
    copies_ = outer;
  }

  std::int64_t slots(ValueId value, LayoutId layout) const {
    const Layout &l = k_.layouts[layout];
    return num_slots(l, axes_of(l, k_.values[value].dims));
  }

  /// Slots that hold a state each; along the axis of a scan, chunks of them.
  std::int64_t states_of(const Stmt &s, LayoutId layout) const {
    if (s.kind == StmtKind::Reduce) return slots(s.results[0], layout);
    const Layout &l = k_.layouts[layout];
    std::uint32_t axis = axes_of(l, s.axes)[0];
    std::vector<std::uint32_t> axes = axes_of(l, k_.values[s.results[0]].dims);
    std::erase(axes, axis);
    return num_slots(l, axes) * scan_chunks_of(l.axes[axis]);
  }

  void take_states(const Stmt &s, LayoutId layout, std::int64_t entries) {
    if (entries == 0) return;
    std::vector<DType> dtypes;
    auto results = static_cast<std::size_t>(num_results(s.monoid));
    for (std::size_t i = 0; i < results; ++i) dtypes.push_back(k_.values[s.results[i]].dtype);
    auto states = static_cast<std::size_t>(states_of(s, layout));
    std::int64_t bytes = state_starts(dtypes, states, entries).back();
    std::size_t known = regions_.size();
    if (regions_.take(bytes) == known) bytes_ += aligned(bytes);
  }

  void count_kept(const Stmt &s, LayoutId layout) {
    if (s.residence != Residence::Shared) return;
    auto size = static_cast<std::int64_t>(size_of(k_.values[s.operands[0]].dtype));
    bytes_ += copies_ * aligned(slots(s.results[0], layout) * size * k_.threads);
  }
};

/// Visits moves with the layouts that they stand in.
template <class Visit>
void for_each_move(const std::vector<Stmt> &body, LayoutId layout, const Visit &visit) {
  for (const Stmt &s : body) {
    if (s.kind == StmtKind::Move) visit(s, layout);
    for_each_move(s.body, s.kind == StmtKind::In ? s.layout : layout, visit);
  }
}

}  // namespace

std::vector<std::int64_t> state_starts(const std::vector<DType> &dtypes, std::size_t states,
                                       std::int64_t entries) {
  std::vector<std::int64_t> starts = {0};
  for (DType t : dtypes)
    starts.push_back(starts.back() +
                     aligned(static_cast<std::int64_t>(states * size_of(t)) * entries));
  return starts;
}

std::int64_t warp_entries(const Kernel &kernel, LayoutId layout, const Stmt &reduce) {
  std::vector<Part> threads = folded_parts(kernel, layout, reduce, DigitKind::Thread);
  if (warp_parts(threads).empty()) return 0;
  return kernel.threads / (is_per_lane(threads) ? 1 : kWarpThreads);
}

std::int64_t cluster_entries(const Kernel &kernel, LayoutId layout, const Stmt &reduce) {
  if (folded_parts(kernel, layout, reduce, DigitKind::Cta).empty()) return 0;
  std::size_t folded = numbers(folded_parts(kernel, layout, reduce, DigitKind::Thread)).size();
  bool is_one = folded == static_cast<std::size_t>(kernel.threads);
  return std::int64_t{kernel.cluster} * (is_one ? 1 : kernel.threads);
}

std::int64_t scan_total_entries(const Kernel &kernel, LayoutId layout, const Stmt &scan) {
  const Layout &l = kernel.layouts[layout];
  std::optional<ScanThreads> along = scan_threads_of(l.axes[axes_of(l, scan.axes)[0]]);
  return along && along->warps() > 1 ? kernel.threads / along->lanes : 0;
}

std::int64_t move_bytes(const Kernel &kernel, const MachineMap &map) {
  std::int64_t bytes = 0;
  for_each_move(kernel.body, kNone, [&](const Stmt &s, LayoutId from) {
    auto size = static_cast<std::int64_t>(size_of(kernel.values[s.operands[0]].dtype));
    for (LayoutId layout : {from, s.layout}) {
      std::optional<Interval> range = interval(map.place(s.index, layout), map.ranges());
      FUSE_CHECK(range && range->lo >= 0, "kernel {}: a move whose shared offsets have no bounds",
                 kernel.name);
      bytes = std::max(bytes, (range->hi + 1) * size);
    }
  });
  return bytes;
}

std::size_t StateRegions::take(std::int64_t bytes) {
  std::size_t best = bytes_.size();
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if (!taken_[i] && bytes_[i] >= bytes && (best == bytes_.size() || bytes_[i] < bytes_[best]))
      best = i;
  if (best == bytes_.size()) {
    bytes_.push_back(bytes);
    taken_.push_back(false);
  }
  taken_[best] = true;
  return best;
}

void StateRegions::release() { taken_.assign(bytes_.size(), false); }

std::int64_t static_shared_bytes(const Kernel &kernel) { return Counter(kernel).run(); }

}  // namespace fuse
