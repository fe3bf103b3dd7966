// The planner: value graph, greedy contraction, recomputation, and the Plan with its reasons.
#include "ir/format.h"
#include "passes/plan_domain.h"
#include "passes/plan_merge.h"
#include "passes/plan_overrides.h"
#include "passes/plan_recompute.h"
#include "passes/row_symbols.h"
#include "passes/size_class.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace fuse {

namespace {

constexpr double kMicro = 1e6;

class Writer {
 public:
  /// `pricing` predicts for the sizes at hand, `evaluator` for those that decisions see.
  Writer(const Graph &graph, const PlanGraph &values, GroupEvaluator &evaluator,
         GroupEvaluator &pricing, GroupOrder &order, const PlanGroups &groups)
      : g_(graph.data()),
        p_(values),
        evaluator_(evaluator),
        pricing_(pricing),
        order_(order),
        groups_(groups),
        name_(groups.members.size()) {}

  Plan write(const std::vector<RecomputeChoice> &choices) {
    for (std::uint32_t g = 0; g < groups_.members.size(); ++g) add_step(g);
    for (std::uint32_t g = 0; g < groups_.members.size(); ++g) explain_kernel(g);
    explain_boundaries();
    explain_stores(choices);
    return std::move(plan_);
  }

 private:
  void add_step(std::uint32_t group);
  PlannedKernel make_kernel(std::uint32_t group);
  void collect_operands(std::uint32_t group, PlanId v, std::set<NodeId> &nodes,
                        std::set<NodeId> &reads) const;
  void explain_kernel(std::uint32_t group);
  void explain_boundaries();
  GroupId merged_group(std::uint32_t group) const;
  void explain_boundary(std::uint32_t a, std::uint32_t b);
  void explain_stores(const std::vector<RecomputeChoice> &choices);
  void decide(std::string about, std::string chosen, std::string why, std::string rejected = {},
              double gain = 0) {
    plan_.decisions.push_back(
        {std::move(about), std::move(chosen), std::move(why), gain, std::move(rejected)});
  }

  const GraphData &g_;
  const PlanGraph &p_;
  GroupEvaluator &evaluator_, &pricing_;
  GroupOrder &order_;
  const PlanGroups &groups_;
  std::vector<std::string> name_;  // by group; empty for extern ops and for what vanished
  Plan plan_;
};

void Writer::add_step(std::uint32_t group) {
  const auto &members = groups_.members[group];
  if (members.empty()) return;
  PlanStep step;
  const PlanValue &first = p_.values[members[0]];
  if (first.kind == ValueKind::Input) return;
  if (first.kind == ValueKind::Extern) {
    if (g_.node(first.node).op != Op::Extern) return;
    step.is_extern = true;
    step.extern_node = first.node;
  } else {
    step.kernel = plan_.kernels.size();
    name_[group] = "k" + std::to_string(step.kernel);
    plan_.kernels.push_back(make_kernel(group));
  }
  plan_.steps.push_back(step);
}

/// Adds the views, constants and loads between a value and its operands.
void Writer::collect_operands(std::uint32_t group, PlanId v, std::set<NodeId> &nodes,
                              std::set<NodeId> &reads) const {
  auto operands = g_.operands(p_.values[v].node);
  std::vector<NodeId> stack(operands.begin(), operands.end());
  while (!stack.empty()) {
    NodeId id = stack.back();
    stack.pop_back();
    PlanId operand = p_.value_of[id];
    if (operand != kNoPlan) {
      if (!groups_.holds(group, operand)) reads.insert(id);
    } else if (nodes.insert(id).second) {
      for (NodeId next : g_.operands(id)) stack.push_back(next);
    }
  }
}

PlannedKernel Writer::make_kernel(std::uint32_t group) {
  PlannedKernel kernel;
  std::set<NodeId> nodes, reads;
  for (PlanId v : groups_.members[group]) {
    NodeId id = p_.values[v].node;
    if (p_.values[v].is_copy)
      reads.insert(id);
    else {
      nodes.insert(id);
      collect_operands(group, v, nodes, reads);
    }
    if (groups_.writes(p_, group, v)) kernel.stores.push_back(id);
  }
  std::sort(kernel.stores.begin(), kernel.stores.end());
  kernel.nodes.assign(nodes.begin(), nodes.end());
  kernel.reads.assign(reads.begin(), reads.end());
  auto writes = [&](PlanId v) { return groups_.writes(p_, group, v); };
  Evaluation e = evaluator_.evaluate(groups_.members[group], writes);
  Evaluation priced = pricing_.evaluate(groups_.members[group], writes);
  const Cost &cost = (priced.legal() ? priced : e).cost;
  FUSE_CHECK(e.legal(), "planned kernel {} is not legal: {}", name_[group], describe(e.reject));
  kernel.domain = make_domain(p_, groups_.members[group], e);
  kernel.name = name_[group];
  kernel.seconds = cost.seconds;
  kernel.bound = to_string(cost.bound);
  kernel.bytes = cost.bytes;
  kernel.moved_bytes = cost.moved_bytes;
  kernel.statements = e.body;
  for (std::size_t i = 0; i < kNumPipes; ++i)
    kernel.pipes.push_back(
        {std::string(to_string(static_cast<Pipe>(i))), kMicro * cost.pipe_seconds[i]});
  return kernel;
}

void Writer::explain_kernel(std::uint32_t group) {
  const auto &members = groups_.members[group];
  if (name_[group].empty() || members.size() < 2) return;
  double alone = 0;
  for (PlanId v : members) alone += evaluator_.evaluate({{v}}).cost.seconds;
  double gain = alone - groups_.seconds[group];
  std::string why;
  append(why, "a kernel for each operation, of the dtypes it has here, would take {:.1f} us",
         alone * kMicro);
  decide("kernel " + name_[group], "one kernel", std::move(why),
         std::to_string(members.size()) + " kernels", gain);
}

void Writer::explain_boundaries() {
  for (std::uint32_t g = 0; g < groups_.members.size(); ++g) {
    if (name_[g].empty()) continue;
    std::set<std::uint32_t> producers;
    for (PlanId v : groups_.members[g])
      for (const PlanEdge &e : p_.edges(v))
        if (!groups_.holds(g, e.from)) producers.insert(groups_.owner[e.from]);
    for (std::uint32_t producer : producers)
      if (!name_[producer].empty()) explain_boundary(producer, g);
  }
}

/// Where the merger had the values that a group owns; recomputed ones are another group's.
GroupId Writer::merged_group(std::uint32_t group) const {
  const auto &members = groups_.members[group];
  auto own = std::find_if(members.begin(), members.end(),
                          [&](PlanId v) { return groups_.owner[v] == group; });
  return order_.group_of(own == members.end() ? members[0] : *own);
}

void Writer::explain_boundary(std::uint32_t a, std::uint32_t b) {
  std::vector<PlanId> both;
  std::set_union(groups_.members[a].begin(), groups_.members[a].end(), groups_.members[b].begin(),
                 groups_.members[b].end(), std::back_inserter(both));
  Evaluation merged = evaluator_.evaluate(both);
  std::string about = "boundary " + name_[a] + "/" + name_[b];
  if (!merged.legal()) return decide(about, "two kernels", std::string(describe(merged.reject)));
  if (order_.closes_cycle(merged_group(a), merged_group(b)))
    return decide(about, "two kernels", "what runs between them needs one and feeds the other");
  double gain = merged.cost.seconds - groups_.seconds[a] - groups_.seconds[b];
  std::string why;
  append(why, "one kernel would take {:.1f} us, bound by {}", merged.cost.seconds * kMicro,
         to_string(merged.cost.bound));
  decide(about, "two kernels", std::move(why), "one kernel", gain);
}

/// Why the graph wants values in memory, by the node that holds them; of an output that is plain.
std::map<NodeId, std::string> needs_of(const GraphData &graph) {
  std::map<NodeId, std::string> needs;
  for (const Output &o : graph.outputs) needs[memory_root(graph, o.node)];
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op != Op::Extern) continue;
    for (NodeId operand : graph.operands(id))
      needs[memory_root(graph, operand)] =
          fmt::format("extern \"{}\" reads it", graph.attr<ExternAttr>(id).name);
  }
  for (const auto &[id, marked] : graph.keep_marks)
    if (marked) needs[memory_root(graph, id)] = "the graph marks it to be kept";
  return needs;
}

void Writer::explain_stores(const std::vector<RecomputeChoice> &choices) {
  std::map<NodeId, std::string> needs = needs_of(g_);
  std::vector<const RecomputeChoice *> by_value(p_.values.size());
  for (const RecomputeChoice &c : choices) by_value[c.value] = &c;
  for (PlanId v = 0; v < p_.values.size(); ++v) {
    if (!p_.is_computed(v)) continue;
    const PlanValue &value = p_.values[v];
    std::string about = "store %" + value_label(g_, value.node);
    const RecomputeChoice *choice = by_value[v];
    bool stored = groups_.is_stored(p_, v);
    if (choice && choice->recomputed) {
      std::string why;
      append(why, "its {:.0f} bytes would be written and read back", value.bytes);
      if (value.recompute) why = "asked for; " + why;
      decide(about, "recomputed", std::move(why), "stored", choice->gain_seconds);
    } else if (stored && value.must_store) {
      if (auto need = needs.find(value.node); need == needs.end())
        decide(about, "stored", "it was asked to be kept");
      else if (!need->second.empty())
        decide(about, "stored", need->second);
    } else if (stored && choice) {
      std::string why =
          choice->why.empty() ? "its readers would take longer to compute it again" : choice->why;
      bool possible = choice->why.empty();
      decide(about, "stored", std::move(why), possible ? "recomputed" : "", choice->gain_seconds);
    } else if (stored) {
      decide(about, "stored", "another kernel reads it, and reductions are not computed twice");
    }
  }
}

void require_what_was_asked(const GraphData &graph, const PlanGraph &values,
                            const std::vector<RecomputeChoice> &choices) {
  for (const RecomputeChoice &choice : choices) {
    const PlanValue &value = values.values[choice.value];
    if (value.recompute && !choice.recomputed)
      fail(ErrorCode::InvalidArgument, "%{} cannot be recomputed: {}",
           value_label(graph, value.node), choice.why);
  }
}

}  // namespace

PlanTotals unfused_totals(const Graph &graph, const Target &target, const LowerOptions &options) {
  PlanGraph values = build_plan_graph(graph.data(), options);
  GroupEvaluator evaluator(values, target);
  PlanTotals totals;
  for (PlanId v = 0; v < values.values.size(); ++v) {
    if (!values.is_computed(v)) continue;
    Cost alone = evaluator.evaluate({{v}}).cost;
    ++totals.kernels;
    totals.bytes += alone.bytes;
    totals.moved_bytes += alone.moved_bytes;
    totals.predicted_us += kMicro * alone.seconds;
  }
  return totals;
}

namespace {

Plan plan_alone(const Graph &graph, const Target &target, const LowerOptions &options) {
  LowerOptions seen = options;
  if (options.batch_invariant) seen.sizes = sizes_without_rows(graph.data(), options.sizes);
  PlanGraph values = build_plan_graph(graph.data(), seen);
  apply_overrides(graph.data(), options.overrides, values);
  GroupEvaluator evaluator(values, target, options.batch_invariant);
  GroupOrder order(values);
  partition(values, evaluator, order);
  PlanGroups groups(values, order);
  std::vector<RecomputeChoice> choices = choose_recomputation(values, evaluator, groups);
  require_what_was_asked(graph.data(), values, choices);
  PlanGraph sized =
      seen.sizes == options.sizes ? PlanGraph() : build_plan_graph(graph.data(), options);
  GroupEvaluator pricing(seen.sizes == options.sizes ? values : sized, target,
                         options.batch_invariant);
  Plan plan = Writer(graph, values, evaluator, pricing, order, groups).write(choices);
  plan.sizes = expected_sizes(graph.data().symbols, options.sizes);
  return plan;
}

double seconds_of(const Plan &plan) {
  double seconds = 0;
  for (const PlannedKernel &kernel : plan.kernels) seconds += kernel.seconds;
  return seconds;
}

/// The plan without batch_invariant, which may refuse overrides: it sees other sizes.
std::optional<Plan> plan_freely(const Graph &graph, const Target &target, LowerOptions options) {
  options.batch_invariant = false;
  try {
    return plan_alone(graph, target, options);
  } catch (const Error &error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;
    return {};
  }
}

/// What it costs that rows are alike, for the sizes at hand.
Decision price_of_invariance(const Plan &plan, const std::optional<Plan> &other,
                             const Bindings &seen) {
  Decision d{"batch_invariant", "rows alike", "a row's bits do not depend on how many there are", 0,
             ""};
  bool differs = false;
  for (const auto &[name, size] : seen) {
    if (plan.sizes.at(name) == size) continue;
    append(d.why, "{} {} = {}", differs ? "," : "; decisions are those for", name, size);
    differs = true;
  }
  if (!other) return d;
  append(d.why, "; without it {} kernels would take {:.1f} us", other->kernels.size(),
         kMicro * seconds_of(*other));
  d.rejected = "any mapping";
  d.gain_seconds = seconds_of(*other) - seconds_of(plan);
  return d;
}

}  // namespace

Plan plan(const Graph &graph, const Target &target, const LowerOptions &options) {
  Plan plan = plan_alone(graph, target, options);
  if (!options.batch_invariant) return plan;
  const GraphData &g = graph.data();
  Bindings seen = expected_sizes(g.symbols, sizes_without_rows(g, options.sizes));
  plan.decisions.push_back(price_of_invariance(plan, plan_freely(graph, target, options), seen));
  return plan;
}

}  // namespace fuse
