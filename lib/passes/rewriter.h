// Rewriter: the frame of every graph pass, one forward loop from an old graph to a new one.
//
// A pass visits the old nodes in order and says what each became; operands were visited before.
// The rewriter carries over what is not a node: the name, symbols, inputs, outputs, and the names,
// source lines and keep marks of values. Every input survives, used or not: it is part of the
// program's signature.
#pragma once

#include "ir/graph_data.h"

#include <vector>

namespace fuse {

class Rewriter {
 public:
  explicit Rewriter(const Graph &graph);

  const GraphData &from() const { return from_; }
  GraphData &to() { return to_.data(); }

  /// What an old node became; it has been set.
  NodeId operator[](NodeId old_id) const { return map_[old_id]; }

  /// What the operands of an old node became.
  std::vector<NodeId> operands(NodeId old_id) const;

  /// The old node over the new operands, not yet set.
  NodeId copy(NodeId old_id);

  /// Says what an old node became, and moves its name, source line and keep mark there.
  void set(NodeId old_id, NodeId new_id);

  /// The new graph, with the outputs of the old one. Ends the rewriter.
  Graph finish();

 private:
  const GraphData &from_;
  Graph to_;
  std::vector<NodeId> map_;  // kNoNode: not visited
};

/// How often each node is an operand or an output.
std::vector<std::uint32_t> count_uses(const GraphData &graph);

}  // namespace fuse
