// The order of the graph passes, and the runner: it times, verifies, dumps and skips.
#include "ir/env.h"
#include "ir/format.h"
#include "ir/verify_graph.h"
#include "passes/passes.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace fuse {

namespace {

constexpr GraphPass kPasses[] = {
#define FUSE_PASS(name, doc) {#name, name, doc},
#include "passes/passes.def"
};

const GraphPass &find_pass(std::string_view name) {
  auto named = [&](const GraphPass &p) { return p.name == name; };
  auto it = std::find_if(std::begin(kPasses), std::end(kPasses), named);
  if (it != std::end(kPasses)) return *it;
  std::string known;
  for (const GraphPass &p : kPasses) append(known, "{}{}", known.empty() ? "" : ", ", p.name);
  fail(ErrorCode::InvalidArgument, "no pass is named '{}'; there are {}", name, known);
}

Graph run_pass(const GraphPass &pass, const Graph &graph, const PassListener &listener) {
  auto start = std::chrono::steady_clock::now();
  Graph after = pass.run(graph);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  verify(after);
  bool changed = !(after == graph);
  if (changed && dumps("graph")) dump("graph", pass.name, to_string(after));
  if (listener) listener({pass.name, elapsed.count(), changed, after});
  return after;
}

}  // namespace

std::span<const GraphPass> graph_passes() { return kPasses; }

Graph run_passes(const Graph &graph, std::span<const std::string_view> names,
                 const PassListener &listener) {
  Graph result = graph.clone();
  for (std::string_view name : names) {
    const GraphPass &pass = find_pass(name);
    if (!environment().disable.contains(name)) result = run_pass(pass, result, listener);
  }
  return result;
}

Graph canonicalize(const Graph &graph, bool strict, const PassListener &listener) {
  // Dead nodes first: the other passes count uses. Folding before simplify, whose rules look for
  // constants, and after it, because rules make operations of constants alone.
  constexpr std::array<std::string_view, 4> canonical = {"eliminate_dead", "fold_constants",
                                                         "simplify", "fold_constants"};
  // Widen once the chains are canonical; its casts and products then simplify once more.
  constexpr std::array<std::string_view, 3> wide = {"widen", "fold_constants", "simplify"};
  Graph result = run_passes(graph, canonical, listener);
  return strict ? std::move(result) : run_passes(result, wide, listener);
}

}  // namespace fuse
