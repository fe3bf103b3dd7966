// Matches by structure, through broadcasts; names of builders play no part.
#include "passes/online.h"

#include <algorithm>

namespace fuse {

namespace {

NodeId below_broadcasts(const GraphData &g, NodeId id) {
  while (g.node(id).op == Op::Broadcast || g.node(id).op == Op::Reshape) id = g.operand(id, 0);
  return id;
}

/// The maximum that exp(u - max(u)) subtracts, if the node is of that form.
std::optional<OnlineSum> match_exponential(const GraphData &g, NodeId id,
                                           const std::vector<int> &axes) {
  if (g.node(id).op != Op::Exp || g.dtype(id) != DType::F32) return std::nullopt;
  NodeId difference = g.operand(id, 0);
  if (g.node(difference).op != Op::Sub) return std::nullopt;
  NodeId u = g.operand(difference, 0);
  NodeId maximum = below_broadcasts(g, g.operand(difference, 1));
  if (g.node(maximum).op != Op::ReduceMax || g.operand(maximum, 0) != u) return std::nullopt;
  if (g.attr<AxesAttr>(maximum).axes != axes) return std::nullopt;
  return OnlineSum{maximum, u, kNoNode, id};
}

bool reads(const GraphData &g, NodeId node, NodeId value) {
  std::span<const NodeId> operands = g.operands(node);
  return std::find(operands.begin(), operands.end(), value) != operands.end();
}

}  // namespace

std::optional<OnlineSum> match_online_sum(const GraphData &g, NodeId sum) {
  if (g.node(sum).op != Op::Sum) return std::nullopt;
  const std::vector<int> &axes = g.attr<AxesAttr>(sum).axes;
  NodeId term = g.operand(sum, 0);
  if (auto plain = match_exponential(g, term, axes)) return plain;
  if (g.node(term).op != Op::Mul) return std::nullopt;
  for (std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    auto weighted = match_exponential(g, g.operand(term, i), axes);
    if (!weighted) continue;
    weighted->weight = g.operand(term, 1 - i);
    return weighted;
  }
  return std::nullopt;
}

TermReaders readers_of_terms(const GraphData &g, NodeId sum, const OnlineSum &online,
                             const std::vector<NodeId> &members) {
  std::vector<NodeId> forms = {sum};  // the sum, and views of it
  TermReaders readers;
  for (NodeId id : members) {
    Op op = g.node(id).op;
    bool reads_sum =
        std::any_of(forms.begin(), forms.end(), [&](NodeId form) { return reads(g, id, form); });
    if (reads_sum && (op == Op::Broadcast || op == Op::Reshape)) {
      forms.push_back(id);
    } else if (op == Op::Div && g.operand(id, 0) == online.exponential && reads_sum) {
      readers.quotients.push_back(id);
    } else {
      readers.read_sum |= reads_sum;
      readers.others |= id != sum && reads(g, id, online.exponential);
    }
  }
  return readers;
}

}  // namespace fuse
