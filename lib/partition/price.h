// What divisions cost: both parts as the planner would run them.
#pragma once

#include "partition/joint.h"
#include "passes/cost.h"
#include "passes/passes.h"

#include <array>
#include <map>
#include <vector>

namespace fuse {

/// A planned part, its nodes those of the joint graph.
struct PlannedPart {
  Plan plan;
  std::vector<NodeId> joint_node;  // by node of the part
  double seconds = 0;
};

struct PricedDivision {
  std::vector<bool> save;  // what was asked for
  Division division;
  PlannedPart forward, backward;
  double seconds = 0, kept_bytes = 0;
};

/// Plans divisions and remembers them.
class Pricer {
 public:
  Pricer(const Joint &joint, const PartitionOptions &options);

  /// The reference stays valid.
  const PricedDivision &price(const std::vector<bool> &save);
  /// All that were priced.
  const std::map<std::vector<NodeId>, PricedDivision> &all() const { return priced_; }

  /// Time of the instructions of a value, by pipe, the whole machine busy.
  const std::array<double, kNumPipes> &instructions(NodeId id) const { return instructions_[id]; }
  /// Of writing or reading it.
  double pass_seconds(NodeId id) const { return joint_.bytes[id] / target_.hbm_bytes; }
  const Target &target() const { return target_; }

 private:
  PlannedPart plan_part(const Part &part) const;
  std::array<double, kNumPipes> count_instructions(NodeId id, bool approximate) const;

  const Joint &joint_;
  Target target_;
  LowerOptions lowering_;
  std::vector<std::array<double, kNumPipes>> instructions_;
  std::map<std::vector<NodeId>, PricedDivision> priced_;  // by what is saved
};

/// Reads and writes of kernels of values with this many elements.
int count_passes(const Joint &joint, const PlannedPart &part, double elements);

/// The largest value that a kernel of the part reads or writes; kNoNode for none.
NodeId largest_access(const Joint &joint, const PlannedPart &part);

}  // namespace fuse
