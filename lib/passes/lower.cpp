// The whole road from a graph to a program.
#include "ir/env.h"
#include "passes/passes.h"

namespace fuse {

PlannedGraph plan_graph(const Graph &graph, const Target &target, const LowerOptions &options,
                        const PassListener &listener) {
  bool is_fixed = !options.fixed.empty();
  Graph strict =
      canonicalize(is_fixed ? fix_sizes(graph, options.fixed) : graph.clone(), true, listener);
  Graph canonical = options.strict ? strict.clone() : loosen(strict, listener);
  Plan planned = plan(canonical, target, options);
  planned.unfused = unfused_totals(strict, target, options);
  if (environment().verify) verify(planned, canonical);
  if (dumps("plan")) dump("plan", graph.name(), to_string(planned, canonical));
  return {std::move(canonical), std::move(planned)};
}

Program lower(const Graph &graph, const Target &target, const LowerOptions &options) {
  PlannedGraph planned = plan_graph(graph, target, options);
  Program program = schedule(planned.graph, planned.plan, target, options);
  if (environment().verify)
    for (const Kernel &kernel : program.kernels) verify(kernel);
  return program;
}

}  // namespace fuse
