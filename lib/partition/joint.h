// The joint graph of forward and backward, and how a set of saved values divides it.
#pragma once

#include "ir/graph_data.h"

#include <fuse/partition.h>

#include <vector>

namespace fuse {

inline bool is_extern(Op op) { return op == Op::Extern || op == Op::ExternResult; }

/// A canonical graph, its values told apart. Vectors are by node.
struct Joint {
  const GraphData &graph;
  Bindings sizes;
  std::vector<bool> forward;     // outputs of forward need it
  std::vector<bool> backward;    // only backward can compute it
  std::vector<bool> may_save;    // forward may write it for backward
  std::vector<bool> may_repeat;  // backward may compute it again
  std::vector<bool> kept;        // marked so
  std::vector<double> bytes, elements;
  std::vector<NodeId> inputs, cotangents;  // of the graph: of forward, and of backward alone
  std::vector<Output> outputs, derivatives;

  bool is_input(NodeId id) const { return graph.node(id).op == Op::Input; }
  bool is_output(NodeId id) const;  // of forward
};

/// Throws Error{InvalidArgument} as partition() does.
Joint read_joint(const Graph &canonical, const PartitionOptions &options);

/// What backward computes and what it reads, all ascending.
struct Division {
  std::vector<bool> in_backward;  // by node
  std::vector<NodeId> saved;      // computed by forward
  std::vector<NodeId> inputs;     // of the graph, without cotangents
};

/// Backward computes what it needs down to the values that are saved, to inputs, and to what it may
/// not repeat.
Division divide(const Joint &joint, const std::vector<bool> &save);

/// Bytes that lie in memory from forward to backward.
double kept_bytes(const Joint &joint, const Division &division);

/// A part of the joint graph as a graph, with the new nodes of the old ones.
struct Part {
  Graph graph;
  std::vector<NodeId> node_of;  // by node of the joint graph; kNoNode: of the other part
};
Part forward_part(const Joint &joint, const Division &division);
Part backward_part(const Joint &joint, const Division &division);

/// Names of saved values, in their order: those of outputs where they are some, else of values,
/// else the operation with a number.
std::vector<std::string> saved_names(const Joint &joint, const Division &division);

}  // namespace fuse
