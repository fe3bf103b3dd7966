// Forward and backward of a row's graph as two programs, for several plans of what is saved.
#pragma once

#include "instance.h"

#include <fuse/partition.h>

#include <map>
#include <string>
#include <vector>

namespace fuse::bench {

/// The program of the row with the cotangents of its inputs, given those of all float outputs.
Graph joint_of(const Row &row, const Bindings &sizes);

/// The plans to set beside one another: the chosen one, and those that store all, compute outputs
/// again, and compute all again, where they differ.
std::vector<PartitionPlan> plans_to_compare(const Partition &partition);

/// Random inputs of the joint graph, by name.
std::map<std::string, Tensor> random_inputs(const Row &row, const Graph &joint,
                                            const Bindings &sizes);

/// The two programs of a plan in memory. Backward reads what forward was given and what it wrote.
struct PlanInstance {
  Instance forward, backward;

  void set_arguments(const std::map<std::string, Tensor> &inputs);
  /// What both give, in the order of the joint graph's outputs.
  std::vector<Tensor> outputs(const Graph &joint) const;
};

/// Compiled on several threads.
std::vector<PlanInstance> compile_plans(const Graph &joint, const Target &target,
                                        const std::vector<PartitionPlan> &plans, Executor executor);

}  // namespace fuse::bench
