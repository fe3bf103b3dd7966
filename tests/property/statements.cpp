// The planner's bound on the statements of a kernel, and the limit that it keeps.
#include "ir/op.h"
#include "passes/passes.h"
#include "property/properties.h"

#include <algorithm>

namespace fuse {

namespace {

bool is_one_operation(const PlannedKernel &planned, const GraphData &g) {
  auto computes = [&](NodeId id) {
    OpKind kind = info(g.node(id).op).kind;
    return kind != OpKind::View && kind != OpKind::Leaf;
  };
  return std::count_if(planned.nodes.begin(), planned.nodes.end(), computes) < 2;
}

std::string fault_of(const Kernel &kernel, const PlannedKernel &planned, const GraphData &g) {
  std::int64_t emitted = num_statements(kernel), unrolled = num_unrolled(kernel);
  std::string name = "kernel " + kernel.name + ": ";
  if (static_cast<double>(emitted) > planned.statements)
    return name + std::to_string(emitted) + " statements, planned " +
           std::to_string(planned.statements) + "\n" + to_string(kernel);
  if (unrolled > kMaxStatements && !is_one_operation(planned, g))
    return name + std::to_string(unrolled) + " statements in slots\n" + to_string(kernel);
  return "";
}

}  // namespace

std::string statements_are_planned(const RandomGraph &random) {
  Graph canonical = canonicalize(random.graph);
  for (const char *name : {"h200", "host"}) {
    Target target = Target::named(name);
    LowerOptions options;
    options.sizes = random.symbols;
    Program program = schedule(canonical, plan(canonical, target, options), target, options);
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
      std::string fault = fault_of(program.kernels[k], program.plan.kernels[k], canonical.data());
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

}  // namespace fuse
