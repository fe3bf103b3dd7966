// The body of a kernel before it is laid on the machine: statements over the domain's dims.
//
// A value is emitted once per (node, position, guard). Views and gathers disappear into the
// offsets of loads; pads and concats become guarded loads and selects.
#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"
#include "passes/online.h"
#include "passes/schedule/access.h"
#include "passes/schedule/index_map.h"
#include "passes/tolerance.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fuse {

/// A tensor in memory that the kernel reads or writes.
struct TensorRef {
  BufferId buffer = kNone;
  Shape shape;
  bool strided = false;
  std::string stride_prefix;  // strided: symbols "<prefix>.stride<axis>"
  bool has_rows = false;      // strided: the last axis has stride 1
};

/// What the nodes of a kernel are in memory. A node may be stored to several outputs.
struct KernelTensors {
  std::map<NodeId, TensorRef> reads;
  std::map<NodeId, std::vector<TensorRef>> writes;
};

/// Monoid of a scan.
Monoid monoid_of_scan(Op op);

/// Element offset of a position in the tensor.
Index offset_of(const TensorRef &tensor, std::span<const Index> position);

/// `in layout { body }`
Stmt in_layout(LayoutId layout, std::vector<Stmt> body);

/// Emits statements for nodes of one kernel into two lists: `inner` for values that depend on
/// looped dims, `outer` for all others. They may be the same list.
class BodyBuilder {
 public:
  BodyBuilder(const GraphData &graph, const PlannedKernel &planned, const Domain &domain,
              Kernel &kernel, const KernelTensors &tensors, const Leeway &leeway);

  std::vector<Stmt> *outer = nullptr;
  std::vector<Stmt> *inner = nullptr;
  LayoutId layout = 0;  // of the values that follow

  /// The value of a node at its own place in the domain.
  ValueId lower(NodeId node);

  /// Emits the store of a node at its own place.
  void store(NodeId node);

  /// Emits the operands, then the reduce statements of reductions of one level to `inner`: side by
  /// side, so that they meet other threads together. Their results become available to users.
  void reduce(const std::vector<NodeId> &nodes);
  /// The same for a sum and the maximum that scales it, folded as one.
  void reduce_online(NodeId sum, const OnlineFold &fold);

  /// Results of a reduction's monoid, before conversion.
  const std::vector<ValueId> &reduced(NodeId node) const { return reduce_results_.at(node); }
  /// Replaces them: the finished state of a split reduction.
  void set_reduced(NodeId node, std::vector<ValueId> results);
  /// Monoid of a reduction.
  static Monoid monoid_of(Op op);

  /// The combination of all that a scan runs over, folded by a reduce statement.
  std::vector<ValueId> total_of_scan(NodeId node);
  /// Scans of the node start from this state.
  void start_scan_from(NodeId node, std::vector<ValueId> state);

  const GuardConditions &guard_conditions() const { return guard_conditions_; }

  /// A barrier follows. Threads hold 16- and 8-bit elements across it as they came, packed: few
  /// cheap operations bring back what was computed from them, and registers are what blocks share.
  void cross_barrier();

  /// Forgets values that depend on looped dims: they belong to a loop that is over.
  void leave_loop();
  /// Forgets all values: another layout begins. Reductions stay available.
  void leave_layout();

  /// False once some reduction or scan was needed at a position that is not its own, or a reduction
  /// was needed before it was emitted: the kernel cannot be built from these nodes.
  bool ok() const { return ok_; }

  ValueId add_value(DType dtype, std::vector<DimId> dims);
  void emit(Stmt stmt);  // into outer or inner, by the dims of its operands and index

 private:
  struct Key {
    NodeId node;
    ValueId guard;
    Position at;
    bool operator<(const Key &other) const;
  };
  struct Emitted {
    ValueId value;
    bool in_loop;
  };

  const GraphData &g_;
  const Domain &domain_;
  Kernel &kernel_;
  const KernelTensors &tensors_;
  const Leeway &leeway_;
  std::set<NodeId> members_;
  std::map<NodeId, int> depth_;  // of members: operations behind one another that lead to it
  std::map<Key, Emitted> memo_;
  std::map<std::pair<Key, std::size_t>, ValueId> part_guards_;  // by node, position and part
  std::map<std::pair<ValueId, ValueId>, ValueId> conjunctions_;
  std::map<ValueId, std::pair<ValueId, ValueId>> reciprocals_;  // scale, reciprocal; by divisor
  std::set<ValueId> moderate_;  // divisors whose reciprocals keep their digits
  GuardConditions guard_conditions_;
  std::map<NodeId, std::vector<ValueId>> reduce_results_;
  std::map<NodeId, NodeId> maxima_;  // of sums folded online that more than quotients read
  std::map<NodeId, std::vector<ValueId>> scan_starts_;
  std::map<Key, ValueId> crossed_;  // packed elements, made opaque where they are used again
  std::vector<int> cheap_ops_;      // by value: operations that bring it back from what is held
  bool ok_ = true;

  ValueId lower_at(const Key &key);
  bool is_member(NodeId id) const { return members_.count(id) > 0; }
  std::optional<ValueId> find(const Key &key) const;

  /// Operands that must be emitted before the key; for a gather, first the index.
  std::vector<Key> demands(const Key &key);
  ValueId emit_node(const Key &key);
  ValueId emit_crossed(const Key &key);
  int cheap_ops(ValueId value) const;
  void count_cheap_ops(const Stmt &stmt);
  ValueId emit_load(const Key &key);
  Index offset_at(const TensorRef &tensor, NodeId node, const Position &at) const;
  ValueId emit_elementwise(const Key &key);
  bool is_shared_divisor(ValueId a, ValueId divisor) const;
  bool has_reciprocal(const Stmt &stmt) const;
  ValueId emit_shared_division(ValueId a, ValueId divisor);
  std::pair<ValueId, ValueId> reciprocal_of(ValueId divisor);
  ValueId emit_pad(const Key &key);
  ValueId emit_concat(const Key &key);
  static void hoist(std::vector<Stmt> &body, std::size_t first);
  ValueId emit_gather(const Key &key);
  ValueId emit_reduced(const Key &key);
  std::vector<Key> scan_demands(const Key &key) const;
  bool is_at_home(const Key &key) const;
  std::vector<ValueId> scan_operands(NodeId node);
  DType scan_state_type(NodeId node) const;
  ValueId emit_scan(const Key &key);
  ValueId emit_log_sum(const std::vector<ValueId> &state);
  ValueId emit_iota(const Key &key);
  Key seed_key(const Key &key) const { return {g_.operand(key.node, 0), kNone, {}}; }
  ValueId emit_random(const Key &key);
  ValueId emit_constant(Literal literal);

  int depth(NodeId id) const { return depth_.contains(id) ? depth_.at(id) : 0; }
  void put_long_chains_first(std::vector<Key> &keys) const;
  Key operand_key(const Key &key, std::size_t i);
  Key gather_source(const Key &key);
  ValueId in_range(ValueId position, const Index &extent);
  ValueId part_guard(const Key &key, std::size_t i);
  ValueId read_guard(const Key &key, std::size_t i);
  ValueId index_value(const Index &index);
  /// Guards: kNone where they are true at every position.
  ValueId not_negative(const Index &index);  // index >= 0
  ValueId is_zero(const Index &index);
  ValueId chosen(DType type, ValueId guard, ValueId value, ValueId otherwise);
  ValueId compare_with_zero(Op op, const Index &index);
  ValueId compute(Op op, DType dtype, std::vector<ValueId> operands);
  ValueId both(ValueId a, ValueId b);
  ValueId nan_with_infinite(ValueId maximum, ValueId sum);
  std::vector<ValueId> reduce_operands(NodeId node);
  ValueId depend_on_all_folded(ValueId value, const std::vector<DimId> &folded);
  std::vector<ValueId> emit_reduce(Monoid monoid, const std::vector<DimId> &folded,
                                   std::vector<ValueId> operands, std::vector<DType> result_types);
  std::vector<DimId> dims_of(const Index &index) const;
  std::vector<DimId> union_dims(const std::vector<ValueId> &values) const;
  bool is_looped(const std::vector<DimId> &dims) const;
  bool runs_along_row(ValueId value) const;
  std::vector<Stmt> &list_of(const std::vector<DimId> &dims);
};

}  // namespace fuse
