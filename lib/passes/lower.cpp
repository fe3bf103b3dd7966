// The whole road from a graph to a program.
#include "passes/passes.h"

namespace fuse {

Program lower(const Graph &graph, const Target &target, const LowerOptions &options) {
  Graph canonical = canonicalize(graph, options.strict);
  return schedule(canonical, plan(canonical, target, options), target, options);
}

}  // namespace fuse
