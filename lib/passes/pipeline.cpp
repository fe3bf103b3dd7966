// The order of the graph passes, and the runner: it times, verifies, dumps and skips.
#include "ir/build.h"
#include "ir/env.h"
#include "ir/format.h"
#include "ir/graph_data.h"
#include "ir/graph_verify.h"
#include "ir/log.h"
#include "passes/passes.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace fuse {

namespace {

constexpr GraphPass kPasses[] = {
#define FUSE_PASS(name, doc) {#name, name, doc},
#include "passes/passes.def"
};

// Plans have no place for what it drops.
constexpr std::string_view kAlwaysRun = "forget_gradients";

const GraphPass &find_pass(std::string_view name) {
  auto named = [&](const GraphPass &p) { return p.name == name; };
  auto it = std::find_if(std::begin(kPasses), std::end(kPasses), named);
  if (it != std::end(kPasses)) return *it;
  std::string known;
  for (const GraphPass &p : kPasses) append(known, "{}{}", known.empty() ? "" : ", ", p.name);
  fail(ErrorCode::InvalidArgument, "no pass is named '{}'; there are {}", name, known);
}

/// Outputs keep the dtypes that callers allocate them with.
void check_outputs(std::string_view pass, const GraphData &before, const GraphData &after) {
  for (std::size_t i = 0; i < before.outputs.size(); ++i) {
    NodeId from = before.outputs[i].node, to = after.outputs[i].node;
    FUSE_CHECK(before.dtype(from) == after.dtype(to), "pass {} makes {} of output {}, which is {}",
               pass, type_string(after, to), before.outputs[i].name, type_string(before, from));
  }
}

Graph run_pass(const GraphPass &pass, const Graph &graph, const PassListener &listener) {
  auto start = std::chrono::steady_clock::now();
  Graph after = pass.run(graph);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  verify(after);
  check_outputs(pass.name, graph.data(), after.data());
  bool changed = !(after == graph);
  if (environment().time)
    log_asked(LogLevel::Info, fmt::format("pass {}: {:.3f} ms, {} nodes", pass.name,
                                          elapsed.count() * 1e3, after.data().size()));
  if (changed && dumps("graph")) dump("graph", pass.name, to_string(after));
  if (listener) listener({pass.name, elapsed.count(), changed, after});
  return after;
}

/// Here and not with the other variables: the names are those of passes.
void tell_of_unknown_passes() {
  static std::atomic<bool> told{false};
  if (environment().disable.empty() || told.exchange(true)) return;
  std::vector<std::string_view> known;
  for (const GraphPass &p : kPasses) known.push_back(p.name);
  known.push_back("instances");
  for (const std::string &word : environment().disable)
    if (std::find(known.begin(), known.end(), word) == known.end())
      log_asked(LogLevel::Warning, unknown_word("FUSE_DISABLE", word, known));
}

Graph run_named(std::string_view name, const Graph &graph, const PassListener &listener) {
  tell_of_unknown_passes();
  const GraphPass &pass = find_pass(name);
  bool skips = environment().disable.contains(name) && name != kAlwaysRun;
  return skips ? graph.clone() : run_pass(pass, graph, listener);
}

/// Folding makes constants that rules look for; rules make operations of constants alone.
Graph settle(const Graph &graph, const PassListener &listener) {
  Graph folded = run_named("fold_constants", graph, listener);
  for (;;) {
    Graph simple = run_named("simplify", folded, listener);
    folded = run_named("fold_constants", simple, listener);
    if (folded == simple) return simple;
  }
}

}  // namespace

std::span<const GraphPass> graph_passes() { return kPasses; }

Graph run_passes(const Graph &graph, std::span<const std::string_view> names,
                 const PassListener &listener) {
  Graph result = graph.clone();
  for (std::string_view name : names) result = run_named(name, result, listener);
  return result;
}

Graph canonicalize(const Graph &graph, bool strict, const PassListener &listener) {
  Graph plain = run_named("forget_gradients", graph, listener);
  // Dead readers would hide chains.
  Graph result = settle(run_named("eliminate_dead", plain, listener), listener);
  return strict ? std::move(result) : loosen(result, listener);
}

Graph loosen(const Graph &canonical, const PassListener &listener) {
  // Once, on canonical chains; its casts and products settle again.
  Graph wide = settle(run_named("widen", canonical, listener), listener);
  return settle(run_named("relax", wide, listener), listener);
}

}  // namespace fuse
