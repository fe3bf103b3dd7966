// What of a graph its text shows; shared by the printer and the comparison of graphs.
#pragma once

#include "ir/graph_data.h"

#include <vector>

namespace fuse {

/// Whether the operand is a constant that the text may write as a literal in its place.
bool is_inline_literal(const GraphData &graph, NodeId id, std::size_t operand);

/// Nodes that have a statement of their own: all but inputs, further results of extern operations,
/// and constants that are literals.
std::vector<bool> graph_statements(const GraphData &graph);

/// The result nodes of an extern operation, itself first; kNoNode for those that a pass dropped.
/// Results directly follow their operation.
std::vector<NodeId> extern_results(const GraphData &graph, NodeId id);

}  // namespace fuse
