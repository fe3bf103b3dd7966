// Checks that a Plan computes its graph: every operand is at hand, everything is stored once and
// before it is read, every output and every operand of an extern op lies in memory.
#include "ir/format.h"
#include "ir/plan.h"

#include <algorithm>

namespace fuse {

namespace {

class PlanVerifier {
 public:
  PlanVerifier(const Plan &plan, const GraphData &graph)
      : plan_(plan), g_(graph), in_memory_(graph.size()), ran_(plan.kernels.size()) {
    for (NodeId id : g_.inputs) in_memory_[id] = true;
  }

  void run() {
    for (const PlanStep &step : plan_.steps) {
      if (step.is_extern)
        run_extern(step.extern_node);
      else
        run_kernel(step.kernel);
    }
    for (std::size_t k = 0; k < ran_.size(); ++k)
      FUSE_CHECK(ran_[k], "kernel {} is in no step", plan_.kernels[k].name);
    for (const Output &o : g_.outputs) check_output(o);
  }

 private:
  NodeId memory_root(NodeId id) const {
    while (g_.node(id).op == Op::Reshape && !in_memory_[id]) id = g_.operand(id, 0);
    return id;
  }

  bool is_extern(NodeId id) const {
    return g_.node(id).op == Op::Extern || g_.node(id).op == Op::ExternResult;
  }

  /// Whether kernels store it although no kernel computes it.
  bool is_copied(NodeId id) const { return g_.node(id).op == Op::Input || is_extern(id); }

  void check_output(const Output &output) const {
    NodeId root = memory_root(output.node);
    FUSE_CHECK(in_memory_[root], "output {} is stored by no kernel", output.name);
    auto shown = std::count_if(g_.outputs.begin(), g_.outputs.end(),
                               [&](const Output &o) { return memory_root(o.node) == root; });
    if (g_.node(root).op == Op::Input || (is_extern(root) && shown > 1))
      FUSE_CHECK(copied(root), "output {} is a value that no kernel copies", output.name);
  }

  bool copied(NodeId id) const {
    return std::any_of(plan_.kernels.begin(), plan_.kernels.end(), [&](const PlannedKernel &k) {
      return std::find(k.stores.begin(), k.stores.end(), id) != k.stores.end();
    });
  }

  void run_extern(NodeId id) {
    FUSE_CHECK(g_.node(id).op == Op::Extern, "step of %{}, which is no extern operation", id);
    FUSE_CHECK(!in_memory_[id], "extern operation %{} runs twice", id);
    for (NodeId operand : g_.operands(id))
      FUSE_CHECK(in_memory_[memory_root(operand)], "extern operation %{} needs %{}, not yet stored",
                 id, operand);
    in_memory_[id] = true;
    for (NodeId r = id + 1; r < g_.size() && g_.node(r).op == Op::ExternResult; ++r)
      if (g_.operand(r, 0) == id) in_memory_[r] = true;
  }

  void run_kernel(std::size_t index) {
    FUSE_CHECK(index < ran_.size() && !ran_[index], "kernel {} runs twice or is missing", index);
    ran_[index] = true;
    const PlannedKernel &kernel = plan_.kernels[index];
    std::vector<NodeId> held;  // reads and nodes, ascending
    std::set_union(kernel.reads.begin(), kernel.reads.end(), kernel.nodes.begin(),
                   kernel.nodes.end(), std::back_inserter(held));
    auto has = [&](NodeId id) { return std::binary_search(held.begin(), held.end(), id); };
    for (NodeId id : kernel.reads)
      FUSE_CHECK(in_memory_[id], "kernel {} reads %{}, not yet stored", kernel.name, id);
    for (NodeId id : kernel.nodes) {
      Op op = g_.node(id).op;
      FUSE_CHECK(op != Op::Input && op != Op::Extern && op != Op::ExternResult,
                 "kernel {} computes %{}, which no kernel can", kernel.name, id);
      for (NodeId operand : g_.operands(id))
        FUSE_CHECK(has(operand), "kernel {} has no %{} for %{}", kernel.name, operand, id);
    }
    FUSE_CHECK(!kernel.stores.empty(), "kernel {} stores nothing", kernel.name);
    for (NodeId id : kernel.stores) {
      FUSE_CHECK(has(id), "kernel {} does not have %{} to store", kernel.name, id);
      FUSE_CHECK(!in_memory_[id] || is_copied(id), "%{} is stored twice", id);
      in_memory_[id] = true;
    }
  }

  const Plan &plan_;
  const GraphData &g_;
  std::vector<bool> in_memory_;  // by node
  std::vector<bool> ran_;        // by kernel
};

}  // namespace

void verify(const Plan &plan, const Graph &graph) { PlanVerifier(plan, graph.data()).run(); }

}  // namespace fuse
