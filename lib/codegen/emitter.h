// The state of emitting one kernel; its functions are spread over emit_*.cpp by topic.
//
// The kernel decides everything: the emitter writes each statement down in order. Values are held
// as one LLVM value per slot. Offsets, predicates and other functions of the position are emitted
// where they dominate the rest of the scope, outside guarded branches, and remembered per scope.
#pragma once

#include "codegen/hooks.h"
#include "codegen/llvm.h"
#include "codegen/monoid.h"
#include "codegen/ops.h"
#include "codegen/state_array.h"
#include "ir/bulk.h"
#include "ir/instances.h"
#include "ir/invalid_values.h"
#include "ir/machine_map.h"
#include "ir/shared_memory.h"

#include <fuse/target.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fuse {

/// base + constant; a null base is 0.
struct Offset {
  llvm::Value *base = nullptr;
  std::int64_t constant = 0;
};

/// Shared memory that a kernel may declare without asking the driver for more.

/// Emits `then` where the condition holds; a null condition always does.
void emit_if(Builder &b, llvm::Value *condition, const std::function<void()> &then);

void emit_if_else(Builder &b, llvm::Value *condition, const std::function<void()> &then,
                  const std::function<void()> &otherwise);

/// The value where control came from one block, the constant where it came from the other.
llvm::Value *emit_or(Builder &b, llvm::Value *value, llvm::BasicBlock *from,
                     llvm::Constant *constant, llvm::BasicBlock *otherwise);

/// Elements <-> one LLVM vector; a single element is itself.
llvm::Value *join_vector(Builder &b, const Values &elements);
Values split_vector(Builder &b, llvm::Value *joined);

class Emitter {
 public:
  Emitter(const Kernel &kernel, const Target &target, llvm::Module &module);
  llvm::Function *run();

 private:
  struct IndexLess {
    bool operator()(const Index &a, const Index &b) const { return compare(a, b) < 0; }
  };

  /// What was emitted in a scope and dominates the rest of it.
  struct Scope {
    std::map<Index, llvm::Value *, IndexLess> narrow, wide;  // 32, 64 bits
    std::map<std::pair<llvm::Value *, llvm::Value *>, llvm::Value *>
        conjunctions;  // looked up only
    std::map<Index, std::map<std::pair<std::uint32_t, std::int64_t>, llvm::Value *>, IndexLess>
        valid;
  };

  struct Reduction;

  /// A `for` being emitted. Accumulators start in the preheader.
  struct Loop {
    const Stmt *stmt = nullptr;
    llvm::Value *iteration = nullptr;  // the value of the digit
    llvm::Value *count = nullptr;      // of iterations before this one
    llvm::BasicBlock *preheader = nullptr;
    int barriers = 0;
    int cluster_barriers = 0;
    bool interior = false;                               // every position of an iteration is valid
    std::vector<std::shared_ptr<Reduction>> reductions;  // that end with it
  };

  /// Where a statement touches memory.
  struct Access {
    const Index &index;
    int vector;
    ValueId guard;
  };

  /// Consecutive elements that one instruction moves.
  struct Group {
    Assignment first;   // of element 0, over the slots of the access
    DimId vec = kNone;  // the atom that counts the elements
    int size = 1;
    Offset offset;                   // of element 0
    llvm::Value *uniform = nullptr;  // all elements or none take part
    llvm::Value *whole = nullptr;    // every element is valid on the vector's axis
    std::uint32_t axis = kNone;      // the vector's, if `whole` is not null
  };

  /// A group as a load sees it.
  struct LoadGroup {
    llvm::Value *pointer;
    llvm::Value *touches;    // some element takes part
    llvm::Value *is_inside;  // the buffer holds what the access reads; null: it does
    llvm::Value *complete;   // what the access reads is all that is wanted; null: it is
  };

  /// Elements first .. last of a vector are valid; in 32 bits, none if last < first.
  struct Span {
    llvm::Value *first, *last;
  };

  // emit_kernel.cpp: parameters, the body, scopes.
  void declare();
  void check_shared_memory() const;
  std::vector<llvm::Type *> parameter_types() const;
  void name_parameters();
  void emit_machine_registers();
  void emit_body(const std::vector<Stmt> &body);
  void emit_stmt(const Stmt &stmt);
  void emit_for(const Stmt &stmt);
  void emit_iteration(const Stmt &stmt);
  void emit_loop_body(const Stmt &stmt);
  void emit_in(const Stmt &stmt);
  void emit_last_block(const Stmt &stmt);

  SlotSpace slots_of(const std::vector<DimId> &dims) const;
  SlotSpace slots_of(ValueId value) const { return slots_of(kernel_.values[value].dims); }
  llvm::Value *value_at(ValueId value, const Assignment &assignment);
  void define(ValueId value, Values slots);

  // emit_instances.cpp: which instance the block runs, and what is the instance's own.
  void emit_instance();
  llvm::Value *emit_instance_number(llvm::Value *table, const TableShape &shape);
  llvm::Value *load_entry(llvm::Value *table, const TableColumn &column, llvm::Value *instance,
                          llvm::Type *type);

  // emit_compute.cpp: values of each slot, in runs.
  static std::size_t end_of_local(const std::vector<Stmt> &body, std::size_t begin);
  std::vector<DimId> widest_dims(std::span<const Stmt> run) const;
  void emit_run(std::span<const Stmt> run, std::span<const Stmt> reductions);
  void emit_all_slots(const Stmt &stmt);
  /// Values of a few slots, the first of which is slot `first` of the result.
  void emit_slots(const Stmt &stmt, std::span<const Assignment> slots, std::size_t first);
  void emit_constant(const Stmt &stmt);
  llvm::Constant *constant_of(DType dtype, std::uint64_t bits);
  Values indices(const Stmt &stmt, std::span<const Assignment> slots);
  Values computed(const Stmt &stmt, std::span<const Assignment> slots);
  Values divided(const Values &dividends, const Values &divisors);
  Values kept(const Stmt &stmt, std::span<const Assignment> slots);
  void keep_shared(DType dtype, Values &slots);

  // emit_random.cpp: random words.
  Values random_words(const Stmt &stmt, std::span<const Assignment> slots);
  void emit_random_call(const Stmt &stmt, const Index &placed, const Assignment &slot, DimId vec);

  // emit_index.cpp: positions, offsets and validity.
  Offset emit_offset(const Index &placed, const Assignment &assignment, unsigned bits);
  llvm::Value *emit_sum(const Index &index, const Assignment &assignment, unsigned bits);
  llvm::Value *emit_term(const Index::Term &term, const Assignment &assignment, unsigned bits);
  llvm::Value *emit_atom(const Atom &atom, const Assignment &assignment, unsigned bits);
  llvm::Value *emit_quotient(const Atom &atom, const Assignment &assignment, unsigned bits);
  llvm::Value *emit_machine_atom(DimId id, const Assignment &assignment);
  llvm::Value *emit_phase(const MachineAtom &atom, const Assignment &assignment);
  llvm::Value *emit_digit(const Digit &digit);
  llvm::Value *emit_count(const Index &count);
  llvm::Value *materialize(const Offset &offset, unsigned bits);
  bool is_local(const Index &index) const;
  bool fits_32(const Index &index) const;
  /// Whether positions start .. start+count-1 on the axis are all valid; null: always.
  llvm::Value *emit_valid(std::uint32_t axis, const Assignment &assignment, std::int64_t count);
  llvm::Value *emit_range_check(const AxisMap &axis, const Assignment &assignment,
                                std::int64_t count);
  /// Whether all positions of this iteration are valid, for every thread of the block; null:
  /// always.
  llvm::Value *emit_interior(const std::string &loop);
  bool is_interior(std::uint32_t axis) const;
  unsigned position_bits(const AxisMap &axis) const;
  /// The position on the axis and so many beyond, and the axis's extent, in position_bits.
  llvm::Value *emit_position(const AxisMap &axis, const Assignment &assignment, std::int64_t ahead);
  llvm::Value *emit_extent(const AxisMap &axis);
  bool is_below(const AxisMap &axis, const Assignment &assignment, std::int64_t count) const;
  llvm::Value *emit_below(const AxisMap &axis, const Assignment &assignment, std::int64_t count);
  llvm::Value *emit_above(const AxisMap &axis, const Assignment &assignment);
  /// Whether a vector of that many elements on the axis is valid as a whole or not at all.
  bool is_uniform(const AxisMap &axis, int vector) const;

  // emit_access.cpp: loads and stores.
  void emit_load(const Stmt &stmt);
  void emit_store(const Stmt &stmt);
  std::vector<Group> group_access(const Access &access, const std::vector<DimId> &dims);
  void emit_group_validity(Group &group, std::uint32_t axis);
  llvm::Value *emit_replica_guard(const std::vector<std::uint32_t> &axes);
  llvm::Value *emit_first(const Digit &digit);
  llvm::Value *emit_first_copy(DigitKind kind, std::int64_t size, llvm::Value *id);
  llvm::Value *conjunction(llvm::Value *a, llvm::Value *b);
  void emit_whole_or_edge(const Group &group, const std::function<void()> &whole,
                          const std::function<void(std::size_t)> &one);
  Span emit_span(const Group &group);
  llvm::Constant *fill_of(const Stmt &load, int count);
  Values load_groups(const Stmt &stmt, const std::vector<Group> &groups);
  LoadGroup load_group(const Stmt &stmt, const Group &group);
  llvm::Value *emit_touches(const Group &group);
  llvm::Value *emit_inside(const Buffer &buffer, const Group &group);
  llvm::Value *mend_edge(const Stmt &stmt, const Group &group, const LoadGroup &load,
                         llvm::Value *loaded);
  llvm::Value *mask_or_load_edge(const Stmt &stmt, const Group &group, const LoadGroup &load,
                                 const Span &span, llvm::Value *loaded);
  llvm::Value *mask_edge(const Stmt &stmt, const Span &span, llvm::Value *loaded);
  llvm::Value *in_span(const Span &span, std::size_t i);
  Values scalar_slots(const Stmt &stmt);
  llvm::Value *load_edge(const Stmt &stmt, const Group &group, const Span &span,
                         llvm::Value *pointer);
  void store_group(const Stmt &stmt, const Group &group, llvm::Value *pointer,
                   const Values &elements);

  // emit_memory.cpp: addresses and the instructions that touch memory.
  llvm::Value *address(BufferId buffer, const Offset &offset);
  llvm::Value *read_vector(llvm::Value *pointer, llvm::Type *element, int count);
  void write_vector(llvm::Value *pointer, const Values &elements);
  llvm::Value *load_vector(const Stmt &stmt, llvm::Value *pointer, int count);
  llvm::Value *read_words(const Stmt &stmt, llvm::Value *pointer, int words);
  llvm::Value *emit_elements(const Buffer &buffer, unsigned bits);
  void store_vector(const Stmt &stmt, llvm::Value *pointer, const Values &elements);

  // emit_unaligned.cpp: vectors that start at any element.
  /// Aligned pieces of a buffer.
  struct Blocks {
    std::int64_t size, elements;    // bytes of an element, elements of a block
    std::size_t count;              // that a vector may touch
    Index extent;                   // elements of the buffer
    bool begins_block, ends_block;  // the buffer begins and ends at boundaries of blocks
  };
  /// The blocks around one vector.
  struct Window {
    struct Block {
      llvm::Value *pointer;
      llvm::Value *below = nullptr, *above = nullptr;  // begins, ends outside; null: never
    };
    std::vector<Block> blocks;
    llvm::Value *ahead = nullptr;  // elements before the vector
  };
  Blocks blocks_of(const Stmt &stmt);
  llvm::Value *elements_ahead(const Stmt &stmt, const Blocks &blocks, llvm::Value *offset);
  std::optional<Interval> starts_of(const Stmt &stmt, const Blocks &blocks, const Group &group,
                                    std::size_t n) const;
  Window window_of(const Stmt &stmt, const Blocks &blocks, const Group &group);
  llvm::Value *held_block(const Stmt &stmt, const Blocks &blocks);
  Values edge_block(const Stmt &stmt, const Blocks &blocks, bool is_last);
  Values last_elements(const Stmt &stmt, const Blocks &blocks, std::int64_t extent);
  Values clamped_elements(const Stmt &stmt, const Blocks &blocks, bool is_last);
  Values load_unaligned(const Stmt &stmt, const std::vector<Group> &groups);
  Values load_by_element(const Stmt &stmt, const std::vector<Group> &groups);
  Values load_by_blocks(const Stmt &stmt, const Blocks &blocks, const std::vector<Group> &groups);
  void load_windows(const Stmt &stmt, const Blocks &blocks, std::span<const Group> groups,
                    std::span<const Window> windows, Values &loaded);
  llvm::Value *load_window(const Stmt &stmt, const Blocks &blocks, const Window &window);
  llvm::Value *shift_window(const Stmt &stmt, const Blocks &blocks, const Window &window,
                            llvm::Value *loaded, llvm::Value *condition, const Values &head,
                            const Values &tail);

  // emit_pipe.cpp: bulk loads ahead of their iteration.
  struct Pipe {
    const Stmt *loop = nullptr;
    llvm::Value *count = nullptr;      // of iterations
    std::vector<const Stmt *> values;  // one for the block
    Values ahead, current;             // memory of the next ones, those of this iteration
    struct Load {
      const Stmt *stmt;
      BulkShape shape;
      std::int64_t offset;  // bytes from the start of a stage
    };
    std::vector<Load> loads;
    std::int64_t stage_bytes = 0;
    llvm::Value *stages = nullptr;    // shared memory
    llvm::Value *barriers = nullptr;  // shared memory: one for each stage
    int reads_since = 0;              // barriers of the loop's body when the last row was read
  };
  void begin_pipe(const Stmt &loop, llvm::Value *count);
  void await_pipe();
  void advance_pipe();
  void emit_bulk_load(const Stmt &stmt);
  void emit_bulk_copies(llvm::Value *iteration);
  void ask_for_runs(llvm::Value *iteration);
  llvm::Value *emit_run_bytes(const Pipe::Load &load, const Assignment &run);
  void copy_run(std::size_t load, std::size_t run, llvm::Value *stage, llvm::Value *bytes);
  void load_ahead(llvm::Value *iteration);
  void at_iteration(llvm::Value *iteration, const std::function<void()> &emit);
  llvm::Value *pipe_stage(llvm::Value *iteration);
  llvm::Value *pipe_barrier(llvm::Value *stage);
  llvm::Value *pipe_buffer(std::size_t load, llvm::Value *stage);
  llvm::Value *dynamic_shared();
  void call(Hook hook, const Values &arguments);

  // emit_reduce.cpp: reductions.
  /// End of the neighbours that no result of one of them feeds.
  static std::size_t end_of_reductions(const std::vector<Stmt> &body, std::size_t begin);
  /// Reductions side by side, behind per-slot statements of the given dims that may feed them.
  void emit_reductions(std::span<const Stmt> stmts, std::span<const Stmt *const> computes,
                       const std::vector<DimId> &dims);
  std::shared_ptr<Reduction> make_reduction(const Stmt &stmt);
  std::shared_ptr<Reduction> begin_fold(const Stmt &stmt);
  bool folds_in_groups(const Stmt &stmt, const std::vector<DimId> &dims) const;
  void fold_all(Reduction &reduction);
  void fold_slot(Reduction &reduction, const Assignment &slot);
  void end_fold(Reduction &reduction);
  std::shared_ptr<Reduction> accumulating_reduction(Loop &loop, const Stmt &stmt,
                                                    std::size_t slots);
  void finish_reductions(const Loop &loop);
  Element gather_element(const Stmt &stmt, const Assignment &assignment,
                         const std::vector<std::uint32_t> &axes, const std::vector<DType> &dtypes);
  std::uint32_t members() const;
  StateArray make_state_array(const std::vector<DType> &dtypes, std::size_t slots,
                              std::int64_t entries);
  Loop *accumulating_loop(const std::vector<std::uint32_t> &axes);
  State make_accumulator(const Loop &loop, MonoidOps &monoid);
  State load_accumulator(const State &memory, const std::vector<DType> &dtypes);
  void combine_threads(const std::vector<std::shared_ptr<Reduction>> &reductions);
  void combine_online_lanes(MonoidOps &monoid, std::int64_t lanes, State &state);
  void define_terms(const Reduction &reduction);
  void combine_lanes(Reduction &reduction, std::int64_t lanes);
  void read_warps(Reduction &reduction, StateArray &array, llvm::Value *start);
  void read_warps_by_lanes(Reduction &reduction, StateArray &array, llvm::Value *start);
  void combine_warps(const std::vector<std::shared_ptr<Reduction>> &reductions);
  llvm::Value *cluster_entry(const Reduction &reduction, llvm::Value *rank);
  std::int64_t cluster_unit(const Reduction &reduction) const;
  void send_to_cluster(const Reduction &reduction, StateArray &array);
  void combine_cluster(const std::vector<std::shared_ptr<Reduction>> &reductions);

  // emit_move.cpp: moves between layouts.
  void emit_move(const Stmt &stmt);
  void write_moved(const Stmt &stmt, llvm::Value *region);
  llvm::Value *move_region();
  llvm::Value *shared_element(llvm::Value *region, llvm::Type *type, const Offset &offset);

  // emit_scan.cpp: scans.
  struct Scan;
  void emit_scan(const Stmt &stmt);
  Scan make_scan(const Stmt &stmt);
  SlotSpace slots_without(ValueId value, std::uint32_t axis) const;
  State carry_of_scan(Scan &scan, const Loop *loop, std::size_t slot);
  void scan_slots(Scan &scan);
  llvm::Value *scan_place(const Scan &scan);
  llvm::Value *lane_at(const Scan &scan, llvm::Value *place);
  State state_before(const Scan &scan, const State &state, std::int64_t distance);
  State scan_lanes(Scan &scan, State state);
  void scan_chunks(Scan &scan);
  void scan_warps(Scan &scan);
  StateArray store_totals(Scan &scan);
  llvm::Value *scan_group(const Scan &scan);
  State load_total(Scan &scan, StateArray &array, std::size_t slot, std::int64_t first);
  void scan_entries(Scan &scan, StateArray &array, std::size_t slot);
  void define_scan(Scan &scan);

  // emit_shared.cpp: shared memory and barriers.
  llvm::Value *allocate_shared(std::int64_t bytes, std::string_view purpose);
  llvm::Value *state_region(std::int64_t bytes);
  void emit_barrier();
  void emit_cluster_barrier();
  void emit_cluster_arrive();
  void emit_cluster_wait();
  void emit_cluster_start();

  const Kernel &kernel_;
  const Target &target_;
  llvm::Module &module_;
  MachineMap map_;
  InvalidValues invalid_;
  Builder b_;
  Ops ops_;
  llvm::Function *function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr;
  unsigned bits_;  // of offsets

  std::vector<llvm::Value *> buffers_;
  std::map<std::string, llvm::Value *> symbols_;
  llvm::Value *thread_ = nullptr, *block_ = nullptr, *rank_ = nullptr;

  std::vector<Values> values_;
  LayoutId layout_ = kNone;
  std::vector<Scope> scopes_;
  std::vector<Loop> loops_;

  Pipe pipe_;  // of the loop being emitted, if it has one
  std::int64_t shared_bytes_ = 0;
  StateRegions state_regions_;
  std::vector<llvm::Value *> states_;  // by region
  llvm::Value *move_region_ = nullptr;
  bool awaits_cluster_ = false;  // blocks of the cluster may not have started yet
};

}  // namespace fuse
