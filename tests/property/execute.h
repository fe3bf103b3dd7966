// Runs a graph operation by operation on bits, every node rounded to its dtype: what a plain
// implementation would give. The evaluator must accept it.
#pragma once

#include "ir/graph_data.h"
#include "ir/tensor.h"

#include <span>
#include <vector>

namespace fuse {

/// One tensor for each node. No extern operations.
std::vector<Tensor> execute(const GraphData &graph, std::span<const Tensor> inputs,
                            const Bindings &symbols);

}  // namespace fuse
