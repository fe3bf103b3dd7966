// The order of scans behind a thread's own slots (docs/kernel.md, "Order").
#include "ir/interpret/scan.h"

namespace fuse {

namespace {

class ScanOrder {
 public:
  ScanOrder(const ScanThreads &along, bool reverse) : along_(along), reverse_(reverse) {}

  /// Place of a thread, counted as the scan runs.
  std::int64_t place(std::int64_t thread) const { return mirrored(digit(thread)); }
  /// The thread of the same group at another place.
  std::size_t thread_at(std::int64_t thread, std::int64_t place) const {
    return static_cast<std::size_t>(thread + (mirrored(place) - digit(thread)) * along_.stride);
  }

 private:
  std::int64_t digit(std::int64_t thread) const { return thread / along_.stride % along_.extent; }
  std::int64_t mirrored(std::int64_t n) const { return reverse_ ? along_.extent - 1 - n : n; }

  ScanThreads along_;
  bool reverse_;
};

/// Inclusive scan of one row of states (Kogge-Stone).
void scan_row(const MonoidFold &fold, std::vector<MonoidState> &row) {
  for (std::size_t d = 1; d < row.size(); d *= 2) {
    std::vector<MonoidState> before = row;
    for (std::size_t i = d; i < row.size(); ++i) row[i] = fold.combine(before[i - d], before[i]);
  }
}

/// What precedes each entry, and all of them together; `group` entries are scanned at a time.
std::vector<MonoidState> exclusive(const MonoidFold &fold, std::vector<MonoidState> entries,
                                   std::int64_t group, MonoidState &total) {
  auto step = static_cast<std::size_t>(group);
  std::vector<MonoidState> before;
  total = fold.identity();
  entries.resize((entries.size() + step - 1) / step * step, fold.identity());
  for (auto at = entries.begin(); at != entries.end(); at += group) {
    std::vector<MonoidState> row(at, at + group);
    scan_row(fold, row);
    before.push_back(total);
    for (std::size_t i = 1; i < step; ++i) before.push_back(fold.combine(total, row[i - 1]));
    total = fold.combine(total, row.back());
  }
  return before;
}

}  // namespace

void scan_totals(const MonoidFold &fold, const ScanThreads &along, bool reverse,
                 std::vector<std::vector<MonoidState>> &totals, std::span<MonoidState> carries) {
  ScanOrder order(along, reverse);
  auto num_threads = static_cast<std::int64_t>(carries.size());
  auto warps = static_cast<std::size_t>(along.warps());
  std::size_t chunks = totals.size();
  for (std::int64_t first = 0; first < num_threads; ++first) {
    if (order.place(first) != 0) continue;
    std::vector<MonoidState> entries;
    std::vector<std::vector<MonoidState>> lanes(chunks * warps);
    for (std::size_t e = 0; e < lanes.size(); ++e) {
      auto warp = static_cast<std::int64_t>(e % warps);
      for (std::int64_t lane = 0; lane < along.lanes; ++lane)
        lanes[e].push_back(totals[e / warps][order.thread_at(first, warp * along.lanes + lane)]);
      scan_row(fold, lanes[e]);
      entries.push_back(lanes[e].back());
    }
    MonoidState all, carry = carries[static_cast<std::size_t>(first)];
    std::vector<MonoidState> before = exclusive(fold, entries, along.group(), all);
    for (std::size_t e = 0; e < lanes.size(); ++e) {
      for (std::int64_t lane = 0; lane < along.lanes; ++lane) {
        std::int64_t place = static_cast<std::int64_t>(e % warps) * along.lanes + lane;
        MonoidState own = lane > 0 ? lanes[e][static_cast<std::size_t>(lane) - 1] : fold.identity();
        totals[e / warps][order.thread_at(first, place)] =
            fold.combine(carry, fold.combine(before[e], own));
      }
    }
    for (std::int64_t place = 0; place < along.extent; ++place)
      carries[order.thread_at(first, place)] = fold.combine(carry, all);
  }
}

}  // namespace fuse
