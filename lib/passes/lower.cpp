// The whole road from a graph to a program.
#include "ir/env.h"
#include "ir/format.h"
#include "passes/passes.h"

#include <map>

namespace fuse {

namespace {

/// Where one kernel is all of the graph, its alternative is that of the graph: of operations as
/// they were given, not as they were joined for it.
void compare_whole(Plan &plan) {
  if (plan.steps.size() != 1 || plan.kernels.size() != 1) return;
  for (Decision &d : plan.decisions) {
    if (d.about != "kernel " + plan.kernels[0].name) continue;
    d.why =
        fmt::format("a kernel for each operation would take {:.1f} us", plan.unfused.predicted_us);
    d.rejected = std::to_string(plan.unfused.kernels) + " kernels";
    d.gain_seconds = 1e-6 * plan.unfused.predicted_us - plan.kernels[0].seconds;
  }
}

/// By the names of planned kernels that became instances: those of the kernels they are in.
std::map<std::string, std::string> packs_of(const Plan &before, const Plan &after) {
  std::map<NodeId, std::string> writer;
  for (const PlannedKernel &k : after.kernels)
    for (NodeId id : k.stores) writer[id] = k.name;
  std::map<std::string, std::string> packs;
  for (const PlannedKernel &k : before.kernels)
    if (!k.stores.empty() && writer[k.stores[0]] != k.name) packs[k.name] = writer[k.stores[0]];
  return packs;
}

/// "k0" and "k1" of "boundary k0/k1"; of stores none.
std::vector<std::string> kernels_in(const std::string &about) {
  std::size_t first = about.find(' ') + 1, slash = about.find('/', first);
  if (about.starts_with("kernel ")) return {about.substr(first)};
  if (!about.starts_with("boundary ") || slash == about.npos) return {};
  return {about.substr(first, slash - first), about.substr(slash + 1)};
}

/// Decisions were taken before kernels became instances, and name kernels that are no more.
void name_packs(const Plan &before, Plan &after) {
  std::map<std::string, std::string> packs = packs_of(before, after);
  for (Decision &d : after.decisions)
    for (const std::string &name : kernels_in(d.about))
      if (auto pack = packs.find(name); pack != packs.end())
        append(d.why, "; {} is an instance of {}", name, pack->second);
}

}  // namespace

PlannedGraph plan_graph(const Graph &graph, const Target &target, const LowerOptions &options,
                        const PassListener &listener) {
  Graph strict = options.fixed.empty()
                     ? canonicalize(graph, true, listener)
                     : canonicalize(fix_sizes(graph, options.fixed), true, listener);
  Graph canonical = options.strict ? strict.clone() : loosen(strict, listener);
  Plan planned = plan(canonical, target, options);
  planned.unfused = unfused_totals(strict, target, options);
  compare_whole(planned);
  if (environment().verify) verify(planned, canonical);
  if (dumps("plan")) dump("plan", graph.name(), to_string(planned, canonical));
  return {std::move(canonical), std::move(planned)};
}

LoweredGraph lower_graph(const Graph &graph, const Target &target, const LowerOptions &options,
                         const PassListener &listener) {
  PlannedGraph planned = plan_graph(graph, target, options, listener);
  Program program = schedule(planned.graph, planned.plan, target, options);
  name_packs(planned.plan, program.plan);
  if (environment().verify)
    for (const Kernel &kernel : program.kernels) verify(kernel);
  return {std::move(planned.graph), std::move(program)};
}

Program lower(const Graph &graph, const Target &target, const LowerOptions &options) {
  return lower_graph(graph, target, options).program;
}

}  // namespace fuse
