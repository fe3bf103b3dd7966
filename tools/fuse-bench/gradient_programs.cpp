#include "gradient_programs.h"

#include "runtime/worker.h"

#include <fuse/grad.h>

#include <algorithm>
#include <optional>

namespace fuse::bench {

namespace {

void add_unless_there(std::vector<PartitionPlan> &plans, const PartitionPlan &plan) {
  auto is_it = [&](const PartitionPlan &p) { return p.saved == plan.saved; };
  if (std::none_of(plans.begin(), plans.end(), is_it)) plans.push_back(plan);
}

Partition partition_of(const Graph &joint, const Target &target, const PartitionPlan &plan) {
  PartitionOptions options;
  options.target = target;
  options.save = plan.saved;
  return partition(joint, options);
}

}  // namespace

Graph joint_of(const Row &row, const Bindings &sizes) {
  Source source(row, sizes);
  if (!source.graph)
    throw Error(ErrorCode::InvalidArgument,
                row.name + ": kernels have no derivatives: name a graph (.fuse)");
  const GraphData &g = source.graph->data();
  std::vector<std::string> outputs;
  for (const Output &o : g.outputs)
    if (is_float(g.dtype(o.node))) outputs.push_back(o.name);
  return vjp(*source.graph, row.grad, outputs);
}

std::vector<PartitionPlan> plans_to_compare(const Partition &partition) {
  std::vector<PartitionPlan> plans = {partition.chosen};
  for (const char *name : {"store all", "outputs again", "recompute"})
    for (const PartitionPlan &plan : partition.plans)
      if (plan.name == name) add_unless_there(plans, plan);
  return plans;
}

std::map<std::string, Tensor> random_inputs(const Row &row, const Graph &joint,
                                            const Bindings &sizes) {
  const GraphData &g = joint.data();
  std::vector<ArgumentInfo> infos;
  for (NodeId id : g.inputs)
    infos.push_back({g.attr<InputAttr>(id).name, g.dtype(id), g.shape(id)});
  std::vector<Tensor> tensors = random_inputs(row, sizes, infos, {});
  std::map<std::string, Tensor> by_name;
  for (std::size_t i = 0; i < infos.size(); ++i) by_name[infos[i].name] = std::move(tensors[i]);
  return by_name;
}

void PlanInstance::set_arguments(const std::map<std::string, Tensor> &inputs) {
  forward.set_arguments(inputs, {});
  backward.set_arguments(inputs, forward.addresses());
}

std::vector<Tensor> PlanInstance::outputs(const Graph &joint) const {
  std::vector<Tensor> tensors;
  for (const Output &o : joint.data().outputs) {
    std::optional<Tensor> output = forward.output(o.name);
    tensors.push_back(output ? std::move(*output) : backward.output(o.name).value());
  }
  return tensors;
}

std::vector<PlanInstance> compile_plans(const Graph &joint, const Target &target,
                                        const std::vector<PartitionPlan> &plans,
                                        Executor executor) {
  std::vector<std::optional<Partition>> parts(plans.size());
  run_on_workers(parts.size(), 0,
                 [&](std::size_t i) { parts[i] = partition_of(joint, target, plans[i]); });
  std::vector<std::optional<Instance>> programs(2 * plans.size());
  run_on_workers(programs.size(), 0, [&](std::size_t i) {
    Partition &of_plan = *parts[i / 2];
    Source source(std::move(i % 2 ? of_plan.backward : of_plan.forward), target);
    programs[i].emplace(source, executor);
  });
  std::vector<PlanInstance> compiled;
  for (std::size_t i = 0; i < programs.size(); i += 2)
    compiled.push_back({std::move(*programs[i]), std::move(*programs[i + 1])});
  return compiled;
}

}  // namespace fuse::bench
