// Rules of the pass `simplify`: tables of rewrites, by the op they start from.
//
// A rule sees a node of the new graph whose operands are already simplified, and returns a node
// that computes the same bits, or kNoNode where it does not apply. Rules go downhill: the result
// has fewer nodes, or as many of a cheaper op. Rules do not look through values that the user
// keeps. In commutative operations a constant stands on the right when other rules see them.
#pragma once

#include "ir/graph_data.h"
#include "ir/literal.h"

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace fuse {

/// The graph under construction, and what rules ask of it.
class Simplifier {
 public:
  Simplifier(GraphData &graph, const std::vector<std::uint32_t> &uses) : g(graph), uses_(uses) {}

  GraphData &g;

  Op op(NodeId id) const { return g.node(id).op; }
  NodeId arg(NodeId id, std::size_t i) const { return g.operand(id, i); }
  const Shape &shape(NodeId id) const { return g.shape(id); }
  DType dtype(NodeId id) const { return g.dtype(id); }

  /// The node is of the op and nobody keeps it.
  bool is(NodeId id, Op op) const;
  bool is_constant(NodeId id) const { return op(id) == Op::Constant; }
  /// A constant of exactly this value; -0 is not 0.
  bool is_number(NodeId id, double value) const;
  bool is_all_ones(NodeId id) const;
  const Literal &literal(NodeId id) const { return g.attr<Literal>(id); }
  bool has_int_type(NodeId id) const { return is_int(dtype(id)); }

  /// At most one node or output reads the value.
  bool single_use(NodeId id) const { return id >= uses_.size() || uses_[id] <= 1; }

  /// A constant of the node's type; a float literal is rounded to it.
  NodeId constant(NodeId like, double value);
  NodeId constant(NodeId like, Literal literal);
  /// An operand as the node's value: literals are rounded to its dtype.
  NodeId value(NodeId like, NodeId operand);
  /// An operation with the node's type.
  NodeId make(NodeId like, Op op, std::initializer_list<NodeId> operands);
  /// 0 <= x < count, of integers whose dtype has count - 1, which may be its largest.
  NodeId is_inside(NodeId x, std::int64_t count);

 private:
  const std::vector<std::uint32_t> &uses_;
};

struct Rule {
  Op op;
  std::string_view identity;
  NodeId (*rewrite)(Simplifier &s, NodeId node);
};

std::span<const Rule> arithmetic_rules();
std::span<const Rule> logic_rules();
std::span<const Rule> convert_rules();
std::span<const Rule> view_rules();
std::span<const Rule> join_rules();
std::span<const Rule> reduce_rules();
std::span<const Rule> scan_rules();
std::span<const Rule> pick_rules();
std::span<const Rule> gather_rules();
std::span<const Rule> position_rules();
std::span<const Rule> select_rules();
std::span<const Rule> transpose_rules();

}  // namespace fuse
