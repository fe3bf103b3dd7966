// Scans of the interpreter: threads scan their chunks, scan.h goes on over threads.
#include "ir/interpret/interpreter.h"
#include "ir/interpret/scan.h"

#include <algorithm>

namespace fuse {

namespace {

std::vector<std::uint32_t> axes_beside(const SlotRange &all, std::uint32_t axis) {
  std::vector<std::uint32_t> others = all.axes();
  std::erase(others, axis);
  return others;
}

}  // namespace

/// Carries of the scans in the body that the innermost bound loop carries.
void Interpreter::start_carries(const std::vector<Stmt> &body) {
  for (const Stmt &s : body) {
    start_carries(s.body);
    if (s.kind != StmtKind::Scan) continue;
    const Layout &layout = kernel_.layouts[kernel_.values[s.results[0]].layout];
    if (accumulating_loop(layout, axes_of(layout, s.axes)) == loop_order_.back())
      carries_[&s].clear();
  }
}

/// Step 1 of the order: every thread scans its chunks, in the order of the scan.
Interpreter::ScanStates Interpreter::scan_slots(const Stmt &s, std::vector<std::int64_t> slots) {
  MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
  std::vector<std::uint32_t> scanned = axes_of(layout(), s.axes);
  SlotRange along(layout(), scanned);
  auto chunks = static_cast<std::size_t>(scan_chunks_of(layout().axes[scanned[0]]));
  std::size_t threads = local_thread({0, kernel_.cluster, 0});
  std::size_t inner = static_cast<std::size_t>(along.size()) / chunks;
  ScanStates states;
  states.totals.assign(chunks, std::vector<MonoidState>(threads, fold.identity()));
  states.within.assign(chunks, std::vector<std::vector<MonoidState>>(threads));
  for_each_thread([&](const ThreadId &id) {
    std::vector<FoldElement> elements = elements_at(s, id, along, slots);
    if (s.reverse) std::reverse(elements.begin(), elements.end());
    std::size_t t = local_thread(id);
    for (std::size_t n = 0; n < elements.size(); ++n) {
      MonoidState &running = states.totals[n / inner][t];
      if (s.exclusive) states.within[n / inner][t].push_back(running);
      if (elements[n].valid) running = fold.combine(running, fold.fold({&elements[n], 1}, nullptr));
      if (!s.exclusive) states.within[n / inner][t].push_back(running);
    }
  });
  return states;
}

/// The prefixes of threads meet the states within them.
void Interpreter::write_scanned(const Stmt &s, const ScanStates &states,
                                std::vector<std::int64_t> slots) {
  MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
  std::uint32_t axis = axes_of(layout(), s.axes)[0];
  SlotRange along(layout(), {axis});
  std::size_t inner = states.within[0][0].size();
  std::vector<std::int64_t> at(slots.size());
  for_each_thread([&](const ThreadId &id) {
    std::size_t t = local_thread(id);
    for (std::int64_t n = 0; n < along.size(); ++n) {
      auto order = static_cast<std::size_t>(s.reverse ? along.size() - 1 - n : n);
      along.decode(n, at);
      slots[axis] = at[axis];
      MonoidState state = fold.combine(states.totals[order / inner][t],
                                       states.within[order / inner][t][order % inner]);
      for (std::size_t r = 0; r < s.results.size(); ++r) slot(s.results[r], id, slots) = state[r];
    }
  });
}

/// What each thread starts from, for each slot beside the axis.
std::vector<MonoidState> Interpreter::scan_starts(const Stmt &s, const SlotRange &across) {
  std::size_t threads = local_thread({0, kernel_.cluster, 0});
  MonoidState none = identity(s.monoid, kernel_.values[s.results[0]].dtype);
  std::vector<MonoidState> starts(threads * static_cast<std::size_t>(across.size()), none);
  std::span<const ValueId> given = scan_start(s);
  std::vector<std::int64_t> slots(layout().axes.size());
  for (std::int64_t n = 0; n < across.size() && !given.empty(); ++n) {
    across.decode(n, slots);
    for_each_thread([&](const ThreadId &id) {
      MonoidState &state = starts[static_cast<std::size_t>(n) * threads + local_thread(id)];
      for (std::size_t i = 0; i < given.size(); ++i) state[i] = slot(given[i], id, slots);
    });
  }
  return starts;
}

void Interpreter::run_scan(const Stmt &s) {
  MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
  std::vector<std::uint32_t> scanned = axes_of(layout(), s.axes);
  SlotRange across(layout(), axes_beside(slots_of(s.results[0]), scanned[0]));
  auto num_threads = static_cast<std::size_t>(kernel_.threads);
  std::size_t threads = num_threads * static_cast<std::size_t>(kernel_.cluster);
  std::vector<MonoidState> at_once;
  bool is_carried = !accumulating_loop(layout(), scanned).empty();
  std::vector<MonoidState> &carries = is_carried ? carries_[&s] : at_once;
  if (carries.empty()) carries = scan_starts(s, across);
  for (ValueId v : s.results) allocate(v);
  ScanThreads along = *scan_threads_of(layout().axes[scanned[0]]);
  std::vector<std::int64_t> slots(layout().axes.size());
  for (std::int64_t n = 0; n < across.size(); ++n) {
    across.decode(n, slots);
    ScanStates states = scan_slots(s, slots);
    for (std::size_t c = 0; c < static_cast<std::size_t>(kernel_.cluster); ++c) {
      std::vector<std::vector<MonoidState>> block;
      auto begin = static_cast<std::ptrdiff_t>(c * num_threads);
      auto end = begin + static_cast<std::ptrdiff_t>(num_threads);
      for (const auto &chunk : states.totals)
        block.emplace_back(chunk.begin() + begin, chunk.begin() + end);
      std::size_t first = static_cast<std::size_t>(n) * threads + c * num_threads;
      scan_totals(fold, along, s.reverse, block, std::span(carries).subspan(first, num_threads));
      for (std::size_t i = 0; i < block.size(); ++i)
        std::copy(block[i].begin(), block[i].end(), states.totals[i].begin() + begin);
    }
    write_scanned(s, states, slots);
  }
}

}  // namespace fuse
