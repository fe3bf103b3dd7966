// The whole road from a graph to a program.
#include "ir/env.h"
#include "passes/passes.h"

namespace fuse {

Program lower(const Graph &graph, const Target &target, const LowerOptions &options) {
  Graph canonical = canonicalize(graph, options.strict);
  Plan planned = plan(canonical, target, options);
  if (dumps("plan")) dump("plan", graph.name(), to_string(planned, canonical));
  return schedule(canonical, planned, target, options);
}

}  // namespace fuse
