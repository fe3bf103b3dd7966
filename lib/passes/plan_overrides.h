// Decisions that the caller took: marks on the value graph that the planner obeys.
#pragma once

#include "passes/plan_graph.h"

namespace fuse {

/// Marks the values that the overrides name. Throws Error{InvalidArgument} for a label of no value
/// and for what no plan can do.
void apply_overrides(const GraphData &graph, const PlanOverrides &overrides, PlanGraph &values);

}  // namespace fuse
