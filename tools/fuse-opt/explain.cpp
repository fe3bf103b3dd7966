// --explain: for one target the library's own screen, for several a table side by side, or JSON.
#include "partition.h"
#include "stages.h"
#include "targets.h"

#include "ir/format.h"
#include "ir/suggest.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace fuse;
using nlohmann::ordered_json;

namespace {

Executable compile_for(const Graph &graph, const Target &target, const Options &options) {
  CompileOptions compiling;
  compiling.executor = Executor::None;
  compiling.target = target;
  compiling.strict = options.strict;
  compiling.batch_invariant = options.batch_invariant;
  compiling.expected_sizes = options.dims;
  compiling.overrides = options.overrides;
  return compile(graph, compiling);
}

void check_dims(const Executable &executable, const Bindings &dims) {
  std::vector<std::string> symbols = executable.symbols();
  for (const auto &[name, size] : dims)
    if (std::find(symbols.begin(), symbols.end(), name) == symbols.end())
      throw UsageError("--dim: " + name + " is no symbol of the graph" +
                       suggest(name, {symbols.begin(), symbols.end()}));
}

ordered_json json_of(const PlanTotals &totals) {
  return {
      {"kernels", totals.kernels}, {"bytes", totals.bytes}, {"predicted_us", totals.predicted_us}};
}

ordered_json json_of(const KernelReport &kernel) {
  ordered_json pipes = ordered_json::object();
  for (const PipeTime &t : kernel.pipes) pipes[t.pipe] = t.us;
  return {{"name", kernel.name},
          {"predicted_us", kernel.predicted_us},
          {"bound", kernel.bound},
          {"pipes_us", std::move(pipes)},
          {"hbm_bytes", kernel.hbm_bytes},
          {"bytes", kernel.bytes},
          {"blocks", kernel.grid},
          {"threads", kernel.threads},
          {"text", kernel.text}};
}

ordered_json json_of(const Decision &decision) {
  return {{"about", decision.about},
          {"chosen", decision.chosen},
          {"why", decision.why},
          {"rejected", decision.rejected},
          {"rejected_costs_us", 1e6 * decision.gain_seconds}};
}

ordered_json json_of(const Executable &executable, const Target &target) {
  PlanOverview overview = executable.overview();
  ordered_json kernels = ordered_json::array(), decisions = ordered_json::array();
  for (const KernelReport &k : executable.kernels(overview.sizes)) kernels.push_back(json_of(k));
  for (const Decision &d : executable.decisions()) decisions.push_back(json_of(d));
  return {{"target", target.name},
          {"sm", target.sm},
          {"measured", target.measured},
          {"copy_bytes_per_second", target.hbm_bytes},
          {"sizes", overview.sizes},
          {"unfused", json_of(overview.unfused)},
          {"fused", json_of(overview.fused)},
          {"kernels", std::move(kernels)},
          {"decisions", std::move(decisions)}};
}

/// "hbm" where all kernels are bound alike, else each: "hbm mufu hbm".
std::string bounds_of(const std::vector<KernelReport> &kernels) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, kernels.size()); ++i)
    append(text, "{}{}", i ? " " : "", kernels[i].bound);
  bool alike = std::all_of(kernels.begin(), kernels.end(),
                           [&](const KernelReport &k) { return k.bound == kernels[0].bound; });
  if (alike) return kernels.empty() ? "" : kernels[0].bound;
  return kernels.size() > kShown ? text + " .." : text;
}

std::string row_of(const Target &target, const Executable &executable) {
  PlanOverview overview = executable.overview();
  double copy_us = 1e6 * overview.fused.bytes / target.hbm_bytes;
  std::string text;
  append(text,
         "{:<10} {:>8} {:>11.1f} {:>11.1f} {:>8} {:>11.1f} {:>11.1f} {:>7.0f} % {:>7.1f} x   {}\n",
         target.name, overview.unfused.kernels, 1e-6 * overview.unfused.bytes,
         overview.unfused.predicted_us, overview.fused.kernels, 1e-6 * overview.fused.bytes,
         overview.fused.predicted_us, 100 * copy_us / overview.fused.predicted_us,
         overview.unfused.predicted_us / overview.fused.predicted_us,
         bounds_of(executable.kernels(overview.sizes)));
  return text;
}

std::string side_by_side(const std::string &name, const std::vector<Target> &targets,
                         const std::vector<Executable> &executables) {
  std::string text = name;
  for (const auto &[symbol, size] : executables[0].overview().sizes)
    append(text, "   {} = {}", symbol, size);
  append(text, "\n\n{:<10} {:>32} {:>32}\n", "", "one kernel each operation", "fused");
  append(text, "{:<10} {:>8} {:>11} {:>11} {:>8} {:>11} {:>11} {:>9} {:>9}   {}\n", "target",
         "kernels", "HBM MB", "time us", "kernels", "HBM MB", "time us", "of copy", "gain",
         "bound by");
  for (std::size_t i = 0; i < targets.size(); ++i) text += row_of(targets[i], executables[i]);
  return text;
}

}  // namespace

std::string explain(const Graph &given, const Graph &graph, const Options &options) {
  bool is_divided = !options.grad.empty() && options.part.empty();
  std::vector<Target> targets = targets_of(options);
  std::vector<Executable> executables;
  for (const Target &target : targets) {
    executables.push_back(compile_for(graph, target, options));
    check_dims(executables.back(), options.dims);
  }
  if (options.explain == Explain::Json) {
    ordered_json all = {{"graph", graph.name()}, {"targets", ordered_json::array()}};
    for (std::size_t i = 0; i < targets.size(); ++i)
      all["targets"].push_back(json_of(executables[i], targets[i]));
    if (is_divided) all["partitions"] = partitions_json(given, options);
    return all.dump(2) + "\n";
  }
  std::string text;
  if (targets.size() > 1)
    text = side_by_side(std::string(graph.name()), targets, executables) + "\n";
  for (const Executable &e : executables) text += e.explain(e.overview().sizes);
  return is_divided ? explain_partition(given, options) + "\nas one program\n" + text : text;
}

std::string serialized(const Graph &graph, const Options &options) {
  CompileOptions compiling;
  compiling.executor = Executor::None;
  compiling.targets = targets_of(options);
  compiling.strict = options.strict;
  compiling.batch_invariant = options.batch_invariant;
  compiling.expected_sizes = options.dims;
  compiling.overrides = options.overrides;
  Executable executable = compile(graph, compiling);
  if (options.dims.size() == executable.symbols().size()) executable.prepare({options.dims});
  return executable.serialize();
}
