// One group of values as a kernel: whether one kernel can compute it, and what that costs.
//
// Everything here is decided from the sets of atoms that values iterate over; what the scheduler
// can lay out defines what is legal.
#pragma once

#include "passes/plan_graph.h"

#include <array>
#include <functional>
#include <string_view>

namespace fuse {

/// Why a set of values cannot be one kernel.
enum class Reject : std::uint8_t {
  None,
  Domain,           // no iteration space holds all stored values and reductions
  RemappedResult,   // a reduction or scan is read at positions other than its own
  TooManyMaps,      // a value would be computed at more than four index maps
  MixedReductions,  // reductions over different dims
  MixedScans,       // scans from both ends, or along one axis in two orders
  LongRows,         // no block holds a row while it sums columns
  Statements,       // more statements than compilers handle in linear time
  Parameters,       // more arguments than the machine passes
  Apart,            // values that shall not share a kernel
};
std::string_view describe(Reject reject);

/// What the reductions of a group fold, and so what a kernel keeps on chip.
struct ReductionSets {
  AtomList rows;           // folded; all that results are read again along
  AtomList columns;        // beside rows: folded over the whole machine, results known at the end
  bool reexpands = false;  // results are read again along the rows
};

struct Evaluation {
  Reject reject = Reject::None;
  DomainId space = 0;  // iterated over: every stored value and reduction stands in it
  ReductionSets folds;
  Cost cost;
  double body = 0;        // statements that the scheduler emits, at most
  double statements = 0;  // times the slots of a thread that must hold a row
  std::size_t num_reads = 0, num_writes = 0;

  bool legal() const { return reject == Reject::None; }
};

/// Index maps at which one kernel may compute a value.
inline constexpr int kMaxMaps = 4;

struct FoldSet;

/// The index maps at which a kernel computes a value: the value's own place, or a chain of edges
/// that lead to a user's. Each is known by a number; equal chains have equal ones.
class MapSet {
 public:
  using Id = std::uint64_t;
  static constexpr Id kOwn = 0;
  struct Entry {
    Id id;
    double elements;  // computed at it
  };

  /// False once there are more than kMaxMaps.
  inline bool add(Id id, double elements);
  void clear() { count_ = 0; }
  double evaluated() const {
    double sum = 0;
    for (const Entry &e : entries()) sum += e.elements;
    return sum;
  }
  std::span<const Entry> entries() const { return {entries_.data(), count_}; }

  /// The map of what a user at this one reads through an edge, the n-th of the graph.
  static inline Id through(Id user, const PlanEdge &edge, std::uint32_t n);

 private:
  std::array<Entry, kMaxMaps> entries_;
  std::size_t count_ = 0;
};

/// Prices sets of values. Its scratch memory makes a call linear in the values and edges given.
class GroupEvaluator {
 public:
  GroupEvaluator(const PlanGraph &graph, const Target &target, bool batch_invariant = false);

  /// Whether the group must write a value: nullptr means where someone outside the group uses it,
  /// or it must be stored.
  using Writes = std::function<bool(PlanId)>;

  /// `values` ascending, all computed.
  Evaluation evaluate(std::span<const PlanId> values, const Writes &writes = nullptr);

 private:
  struct Scratch {  // of one value of the group
    void clear() {
      written = scanned = false;
      folds = needs = phases = 0;
      level = 0;
      maps.clear();
      changed.clear();
    }

    bool written = false;
    unsigned folds = 0;    // fold sets of the nearest reductions that it depends on or is
    unsigned needs = 0;    // Reduction: that it depends on
    bool scanned = false;  // that it depends on a scan or is one
    int level = 0;         // reductions that it depends on, one after another
    MapSet maps;
    unsigned phases = 0;  // between reductions, in which it is needed: bits
    AtomList changed;     // by the index maps
  };
  struct Features;
  /// What a group reads or writes in memory.
  struct Access {
    PlanId value;
    DomainId domain;  // that it spans; 0: that of the value
    AtomId along;     // that neighbours lie along
    double elements, bytes;
    bool store;
  };

  bool is_member(PlanId v) const { return stamp_[v] == epoch_; }
  bool joins_values_apart() const;
  void find_writes(std::span<const PlanId> values, const Writes &writes, Features &f);
  Reject find_space(std::span<const PlanId> values, Features &f);
  Reject find_maps(std::span<const PlanId> values, const Features &f);
  inline Reject take_own_map(PlanId v, const Features &f);
  inline Reject pass_maps(PlanId v);
  inline bool pass_maps(const PlanValue &user, const Scratch &s, std::uint32_t edge);
  void count_statements(std::span<const PlanId> values, Features &f);
  void count_loads(Features &f);
  Reject find_reductions(std::span<const PlanId> values, Features &f);
  std::size_t fold_set(const PlanValue &value, Features &f) const;
  bool can_fold_online(std::span<const PlanId> values, const Features &f) const;
  void set_one_pass(std::span<const PlanId> values, Features &f);
  double results_of(const PlanValue &value) const;
  Reject agree_on_scan(PlanId v, Features &f) const;
  Reject choose_only_rows(Features &f) const;
  Reject choose_rows(std::span<const PlanId> values, Features &f) const;
  bool folds_beside_rows(const FoldSet &set, Features &f) const;
  Reject count_columns(std::span<const PlanId> values, Features &f) const;
  void count_reads(std::span<const PlanId> values, Features &f);
  double positions_per_thread(const Features &f);
  void count_ops(std::span<const PlanId> values, Features &f);
  void add_write(PlanId v);
  double num_elements(PlanId v) const;
  void add_read(PlanId user, const PlanEdge &edge, double bytes);
  bool runs_along(const Access &access, AtomId atom) const;
  bool stays_in_l2(PlanId v) const;
  bool is_near(const Access &a) const;
  AtomId lanes_of(const Features &f);
  void count_across(Features &f);
  bool folds_in_thread(const Features &f);
  double row_slots(const Features &f) const;
  static double base_registers(const Features &f);
  Work lay_out(const Features &f);
  void lay_out_rows(const Features &f, Work &work) const;
  void lay_out_scanned_columns(const Features &f, Work &work) const;
  void lay_out_split_scan(const Features &f, Work &work) const;
  void lay_out_split(const Features &f, Work &work) const;
  void lay_out_columns(const Features &f, Work &work) const;

  const PlanGraph &p_;
  const Target target_;
  const bool batch_invariant_;             // layouts of rows do not see how many there are
  std::vector<std::uint32_t> stamp_;       // by value: epoch in which it is a member
  std::vector<std::uint32_t> read_stamp_;  // by value
  std::vector<double> read_bytes_;         // by value read
  std::vector<std::uint32_t> view_stamp_;  // by node
  std::vector<Scratch> scratch_;           // by value
  struct Load {
    PlanId from;
    MapSet::Id map;
    DomainId domain;  // of the user
    unsigned phases;
  };
  std::vector<Load> loads_;          // of the group, with repetitions
  std::vector<Access> accesses_;     // of the group
  std::vector<double> bytes_along_;  // by atom
  std::uint32_t epoch_ = 0;
};

}  // namespace fuse
