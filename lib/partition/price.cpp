// What divisions cost: both parts as the planner would run them.
#include "partition/price.h"

#include "ir/op.h"
#include "passes/tolerance.h"

#include <functional>

namespace fuse {

namespace {

double seconds_of(const Plan &plan) {
  double seconds = 0;
  for (const PlannedKernel &k : plan.kernels) seconds += k.seconds;
  return seconds;
}

void for_each_access(const PlannedPart &part, const std::function<void(NodeId)> &visit) {
  for (const PlannedKernel &k : part.plan.kernels) {
    for (NodeId id : k.reads) visit(part.joint_node[id]);
    for (NodeId id : k.stores) visit(part.joint_node[id]);
  }
}

}  // namespace

Pricer::Pricer(const Joint &joint, const PartitionOptions &options)
    : joint_(joint), target_(options.target) {
  lowering_.strict = true;  // the parts are canonical
  lowering_.sizes = joint.sizes;
  std::vector<bool> approximate = approximable(joint.graph);
  for (NodeId id = 0; id < joint.graph.size(); ++id)
    instructions_.push_back(count_instructions(id, approximate[id]));
}

std::array<double, kNumPipes> Pricer::count_instructions(NodeId id, bool approximate) const {
  const GraphData &g = joint_.graph;
  OpKind kind = info(g.node(id).op).kind;
  std::array<double, kNumPipes> seconds{};
  if (kind == OpKind::Leaf || kind == OpKind::View || g.operands(id).empty()) return seconds;
  NodeId first = g.operand(id, 0);
  OpCost cost = op_cost(g.node(id).op, g.dtype(g.operands(id).back()), approximate);
  double elements = kind == OpKind::Reduce ? joint_.elements[first] : joint_.elements[id];
  double clocks = target_.num_sms * target_.clock_hz;
  auto set = [&](Pipe pipe, double count, double rate) {
    seconds[static_cast<std::size_t>(pipe)] = elements * count / (clocks * rate);
  };
  set(Pipe::Fma, cost.fma, target_.fma_per_clock);
  set(Pipe::F64, cost.f64, target_.f64_per_clock);
  set(Pipe::Int, cost.integer, target_.int_per_clock);
  set(Pipe::Mufu, cost.mufu, target_.mufu_per_clock);
  set(Pipe::Issue, cost.fma + cost.f64 + cost.integer + cost.mufu, 32 * target_.issue_per_clock);
  return seconds;
}

PlannedPart Pricer::plan_part(const Part &part) const {
  PlannedPart planned;
  planned.plan = plan(part.graph, target_, lowering_);
  planned.seconds = seconds_of(planned.plan);
  planned.joint_node.resize(part.graph.data().size(), kNoNode);
  for (NodeId id = 0; id < part.node_of.size(); ++id)
    if (part.node_of[id] != kNoNode) planned.joint_node[part.node_of[id]] = id;
  return planned;
}

const PricedDivision &Pricer::price(const std::vector<bool> &save) {
  Division division = divide(joint_, save);
  auto [it, is_new] = priced_.try_emplace(division.saved);
  PricedDivision &priced = it->second;
  if (!is_new) return priced;
  priced.save.resize(joint_.graph.size());
  for (NodeId id : division.saved) priced.save[id] = true;
  priced.forward = plan_part(forward_part(joint_, division));
  priced.backward = plan_part(backward_part(joint_, division));
  priced.seconds = priced.forward.seconds + priced.backward.seconds;
  priced.kept_bytes = kept_bytes(joint_, division);
  priced.division = std::move(division);
  return priced;
}

int count_passes(const Joint &joint, const PlannedPart &part, double elements) {
  int passes = 0;
  for_each_access(part, [&](NodeId id) { passes += joint.elements[id] == elements; });
  return passes;
}

NodeId largest_access(const Joint &joint, const PlannedPart &part) {
  NodeId largest = kNoNode;
  for_each_access(part, [&](NodeId id) {
    if (largest == kNoNode || joint.elements[id] > joint.elements[largest]) largest = id;
  });
  return largest;
}

}  // namespace fuse
