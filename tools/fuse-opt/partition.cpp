// --grad --explain: forward and backward as two programs, for each target and side by side.
#include "partition.h"

#include "targets.h"
#include "text.h"

#include "ir/graph_data.h"

#include <fuse/grad.h>
#include <fuse/partition.h>

#include <algorithm>

using namespace fuse;
using nlohmann::ordered_json;

namespace {

const Output &derived_output(const GraphData &g, const std::string &name) {
  auto it = std::find_if(g.outputs.begin(), g.outputs.end(),
                         [&](const Output &o) { return o.name == name || name.empty(); });
  // What grad says of names that are not there, it has said before.
  return it == g.outputs.end() ? g.outputs[0] : *it;
}

/// A loss begins with 1; what has more elements gets its cotangent from whoever uses it.
Graph joint_of(const Graph &graph, const Options &options) {
  const Output &y = derived_output(graph.data(), options.grad_output);
  if (graph.data().shape(y.node).empty()) return grad(graph, options.grad, y.name);
  return vjp(graph, options.grad, {y.name});
}

PartitionOptions partitioning_of(const Target &target, const Options &options) {
  PartitionOptions partitioning;
  partitioning.target = target;
  partitioning.strict = options.strict;
  partitioning.expected_sizes = options.dims;
  partitioning.budget_bytes = options.budget_bytes;
  return partitioning;
}

const PartitionPlan *plan_named(const Partition &parts, const char *name) {
  for (const PartitionPlan &plan : parts.plans)
    if (plan.name == name) return &plan;
  return nullptr;
}

std::string cell_of(const PartitionPlan *plan) {
  if (!plan) return "-";
  return formatted("{:.0f} us ({})", plan->predicted_us,
                   plan->forward.passes + plan->backward.passes);
}

std::string saved_of(const PartitionPlan &plan) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, plan.saved.size()); ++i)
    text += (i ? " " : "") + plan.saved[i];
  if (plan.saved.size() > kShown) text += formatted(" +{} more", plan.saved.size() - kShown);
  return text.empty() ? "nothing" : text;
}

/// Times, with tensor-sized accesses in brackets.
std::string side_by_side(const std::vector<Partition> &all) {
  std::string text = formatted("\n{:<12} {:>16} {:>16} {:>16}   {:<12} {}\n", "target", "store all",
                               "recompute", "chosen", "bound by", "saves");
  for (const Partition &p : all) {
    std::string bound = p.chosen.forward.bound + " " + p.chosen.backward.bound;
    text += formatted("{:<12} {:>16} {:>16} {:>16}   {:<12} {}\n", p.target.name,
                      cell_of(plan_named(p, "store all")), cell_of(plan_named(p, "recompute")),
                      cell_of(&p.chosen), bound, saved_of(p.chosen));
  }
  return text;
}

ordered_json json_of(const ProgramPrice &price) {
  ordered_json pipes = ordered_json::object();
  for (const PipeTime &t : price.pipes) pipes[t.pipe] = t.us;
  return {{"predicted_us", price.predicted_us},
          {"bound", price.bound},
          {"pipes_us", std::move(pipes)},
          {"hbm_bytes", price.hbm_bytes},
          {"passes", price.passes}};
}

ordered_json json_of(const PartitionPlan &plan) {
  return {{"name", plan.name},
          {"saved", plan.saved},
          {"inputs", plan.inputs},
          {"forward", json_of(plan.forward)},
          {"backward", json_of(plan.backward)},
          {"predicted_us", plan.predicted_us},
          {"kept_bytes", plan.kept_bytes}};
}

ordered_json json_of(const SavedChoice &choice) {
  ordered_json recompute = ordered_json::object();
  for (const PipeTime &t : choice.recompute) recompute[t.pipe] = t.us;
  return {{"value", choice.value},     {"bytes", choice.bytes},
          {"saved", choice.saved},     {"write_us", choice.write_us},
          {"read_us", choice.read_us}, {"recompute_us", std::move(recompute)},
          {"gain_us", choice.gain_us}, {"why", choice.why}};
}

template <class T>
ordered_json json_list(const std::vector<T> &items) {
  ordered_json list = ordered_json::array();
  for (const T &item : items) list.push_back(json_of(item));
  return list;
}

std::vector<Partition> partitions_of(const Graph &graph, const Options &options) {
  Graph joint = joint_of(graph, options);
  std::vector<Partition> all;
  for (const Target &target : targets_of(options))
    all.push_back(partition(joint, partitioning_of(target, options)));
  return all;
}

}  // namespace

nlohmann::ordered_json partitions_json(const Graph &graph, const Options &options) {
  ordered_json all = ordered_json::array();
  for (const Partition &p : partitions_of(graph, options))
    all.push_back({{"target", p.target.name},
                   {"saved", p.saved},
                   {"chosen", json_of(p.chosen)},
                   {"plans", json_list(p.plans)},
                   {"frontier", json_list(p.frontier)},
                   {"values", json_list(p.values)}});
  return all;
}

Graph part_of(const Graph &graph, const Options &options) {
  Target target = targets_of(options)[0];
  Partition parts = partition(joint_of(graph, options), partitioning_of(target, options));
  return std::move(options.part == "forward" ? parts.forward : parts.backward);
}

std::string explain_partition(const Graph &graph, const Options &options) {
  std::vector<Partition> all = partitions_of(graph, options);
  std::string text;
  for (const Partition &p : all) text += (text.empty() ? "" : "\n") + explain(p);
  return all.size() > 1 ? text + side_by_side(all) : text;
}
