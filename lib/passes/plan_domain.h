// The iteration domain of a planned kernel, from the atoms that its values stand in.
#pragma once

#include "ir/domain.h"
#include "passes/plan_group.h"

namespace fuse {

/// Places the stored values and reductions of a legal group: what the evaluation found is what the
/// scheduler builds.
Domain make_domain(const PlanGraph &graph, std::span<const PlanId> values,
                   const Evaluation &evaluation);

}  // namespace fuse
