// The whole road from a graph to a program.
#include "ir/env.h"
#include "passes/passes.h"

namespace fuse {

Program lower(const Graph &graph, const Target &target, const LowerOptions &options) {
  Graph strict = canonicalize(graph, true);
  Graph canonical = options.strict ? strict.clone() : loosen(strict);
  Plan planned = plan(canonical, target, options);
  planned.unfused = unfused_totals(strict, target, options);
  if (dumps("plan")) dump("plan", graph.name(), to_string(planned, canonical));
  return schedule(canonical, planned, target, options);
}

}  // namespace fuse
