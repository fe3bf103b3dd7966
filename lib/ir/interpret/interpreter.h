// The state of an interpreted launch. Statements run one after another for all threads of a
// cluster at once: bodies have no divergent control flow but last_block, which masks whole blocks.
#pragma once

#include "ir/interpret/fold.h"
#include "ir/interpret/machine.h"
#include "ir/interpret/memory.h"
#include "ir/kernel_interpret.h"
#include "ir/machine_map.h"

#include <functional>
#include <map>
#include <unordered_map>

namespace fuse {

class Interpreter {
 public:
  Interpreter(const Kernel &kernel, const InterpreterLaunch &launch);
  std::vector<AccessStats> run();

 private:
  /// One vector of an access: its slots differ in the vec digit only.
  struct Vector {
    std::vector<std::int64_t> slots;  // by axis, of element 0
    std::uint32_t axis = kNone;       // that the elements advance on
    int width = 1;
  };

  /// An element of a vector that takes part: its place in the vector, its offset and position.
  struct Active {
    int element;
    std::int64_t offset;
    std::vector<std::int64_t> dims;
  };

  // interpreter.cpp
  void list_accesses(const std::vector<Stmt> &body);
  void run_body(const std::vector<Stmt> &body);
  void run_statement(const Stmt &s);
  void run_elementwise(const Stmt &s);
  std::uint64_t element_value(const Stmt &s, const ThreadId &id,
                              std::span<const std::int64_t> slots);
  void run_random(const Stmt &s);
  void random_vector(const Stmt &s, const ThreadId &id, const Vector &v,
                     const std::vector<std::uint32_t> &axes);
  void run_for(const Stmt &s);
  void run_last_block(const Stmt &s);

  // interpret_access.cpp
  void run_access(const Stmt &s);
  void access_vector(const Stmt &s, const ThreadId &id, const Vector &v, WarpAccess &warp);
  void access_element(const Stmt &s, const ThreadId &id, const Vector &v, const Active &a);
  bool stores(const Stmt &s, const ThreadId &id, const std::vector<std::uint32_t> &axes) const;
  void run_move(const Stmt &s);
  void move_vectors(const Stmt &s, LayoutId layout, int width, bool writes);
  void move_vector(const Stmt &s, LayoutId layout, const ThreadId &id, const Vector &v, bool writes,
                   WarpAccess &warp);
  void for_each_warp_vector(const Stmt &s, LayoutId layout, int width,
                            const std::vector<DimId> &dims,
                            const std::function<void(const ThreadId &, const Vector &)> &access,
                            const std::function<void()> &end_of_warp);
  std::vector<Active> active_elements(const Stmt &s, LayoutId layout, const ThreadId &id,
                                      const Vector &v, const std::vector<std::uint32_t> &axes);
  bool is_whole(const Stmt &s, const ThreadId &id, const Vector &v,
                const std::vector<Active> &active, std::int64_t phase) const;

  // interpret_fold.cpp
  void run_reduce(const Stmt &s);
  void start_accumulators(const std::vector<Stmt> &body);
  void finish_accumulators(const std::vector<Stmt> &body);
  std::size_t num_states(const Stmt &s) const;
  void scale_terms(const Stmt &s, const std::vector<MonoidState> &own);
  void fold_slots(const Stmt &s, std::vector<MonoidState> &states, bool accumulate);
  void finish_reduce(const Stmt &s, std::vector<MonoidState> &states);
  std::string accumulating_loop(const Layout &layout, const std::vector<std::uint32_t> &axes) const;
  std::vector<FoldElement> elements_at(const Stmt &s, const ThreadId &id, const SlotRange &reduced,
                                       std::vector<std::int64_t> &slots);

  // interpret_scan.cpp
  /// The states of a scan for one slot of the axes beside it: by chunk, then by thread.
  struct ScanStates {
    std::vector<std::vector<MonoidState>> totals;
    std::vector<std::vector<std::vector<MonoidState>>> within;  // then by slot of the chunk
  };
  void start_carries(const std::vector<Stmt> &body);
  void run_scan(const Stmt &s);
  std::vector<MonoidState> scan_starts(const Stmt &s, const SlotRange &across);
  ScanStates scan_slots(const Stmt &s, std::vector<std::int64_t> slots);
  void write_scanned(const Stmt &s, const ScanStates &states, std::vector<std::int64_t> slots);

  // Common.
  template <class F>
  void for_each_thread(const F &f) {
    for (std::int64_t c = 0; c < kernel_.cluster; ++c)
      for (std::int64_t t = 0; active_[static_cast<std::size_t>(c)] && t < kernel_.threads; ++t)
        f(ThreadId{grid_, c, t});
  }

  const Layout &layout() const { return kernel_.layouts[layout_]; }
  const SlotRange &slots_of(ValueId value) const { return slots_[value]; }
  std::uint64_t &slot(ValueId value, const ThreadId &id, std::span<const std::int64_t> slots);
  void allocate(ValueId value);
  std::int64_t value_of(const Atom &atom, const ThreadId &id, const Position &position,
                        std::span<const std::int64_t> slots);
  std::int64_t offset_at(const Index &index, const ThreadId &id, const Position &position,
                         std::span<const std::int64_t> slots);
  std::int64_t block_of(const ThreadId &id) const { return id.grid * kernel_.cluster + id.cta; }
  std::int64_t global_thread(const ThreadId &id) const {
    return block_of(id) * kernel_.threads + id.thread;
  }
  std::size_t local_thread(const ThreadId &id) const {
    return static_cast<std::size_t>(id.cta * kernel_.threads + id.thread);
  }
  [[noreturn]] void error(const Stmt &s, const ThreadId &id, const std::string &message) const;

  const Kernel &kernel_;
  const InterpreterLaunch &launch_;
  MachineMap map_;
  Machine machine_;
  InterpreterMemory memory_;
  std::vector<SlotRange> slots_;  // by value
  std::vector<AccessStats> stats_;
  std::unordered_map<const Stmt *, std::size_t> stats_of_;  // looked up, never iterated

  // Of the cluster that runs.
  std::int64_t grid_ = 0;
  LayoutId layout_ = kNone;
  std::vector<bool> active_;                                   // by rank
  std::vector<const InterpreterMemory::Arrivals *> arrivals_;  // by rank; empty outside last_block
  std::map<std::string, std::int64_t> loops_;                  // bound loops and their iterations
  std::vector<std::string> loop_order_;                        // outermost first
  std::vector<std::vector<std::uint64_t>> values_;             // by value: threads * slots
  struct Shared {
    std::vector<std::int64_t> dims;
    std::uint64_t bits;
  };
  std::vector<std::map<std::int64_t, Shared>> shared_;  // by rank: offset -> what was written
  // Looked up by statement, never iterated: states of looped reductions, carries of scans.
  std::unordered_map<const Stmt *, std::vector<MonoidState>> accumulators_, carries_;
};

}  // namespace fuse
