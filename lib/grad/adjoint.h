// Adjoint: one node as its rule sees it, and where the rule puts the cotangents of its operands.
//
// Rules compute in the compute type: of 16- and 8-bit floats they see f32 values, and the result of
// the node before it is rounded. What they give is rounded where docs/grad.md says.
#pragma once

#include "ir/graph_data.h"

#include <cstdint>
#include <vector>

namespace fuse {

/// Where a cotangent may be 0 because something else was chosen, and a derivative that is not
/// finite must not make a NaN of it: nowhere, in functions (below min and max, which choose among
/// values that were computed), in all products (below select, whose operands may be anything).
enum class Dead : std::uint8_t { Nowhere, Functions, Products };

/// A part of the cotangent of a node.
struct Term {
  NodeId value;
  Dead dead;
};

class Adjoint {
 public:
  /// `terms` has an entry for each node that needs a cotangent; others are ignored.
  struct Sink {
    std::vector<std::vector<Term>> &terms;
    const std::vector<bool> &is_active;
  };
  Adjoint(GraphData &graph, NodeId node, Term cotangent, const Sink &sink)
      : g_(graph), node_(node), cotangent_(cotangent), sink_(sink) {}

  GraphData &graph() const { return g_; }
  NodeId node() const { return node_; }
  const Shape &shape() const { return g_.shape(node_); }
  std::size_t num_operands() const { return g_.operands(node_).size(); }
  template <class T>
  const T &attr() const {
    return g_.attr<T>(node_);
  }

  /// The cotangent of the node as it is, and in the compute type.
  Value cotangent() const { return g_.value(cotangent_.value); }
  Value dy() const;
  /// The operand as it is, and in the compute type.
  Value operand(std::size_t i) const { return g_.value(g_.operand(node_, i)); }
  Value x(std::size_t i = 0) const;
  /// The node: elementwise operations and scans in the compute type, not rounded to 16 bits.
  Value y() const;
  bool is_constant(std::size_t i) const;

  /// Whether the operand needs a cotangent.
  bool wants(std::size_t i) const { return sink_.is_active[g_.operand(node_, i)]; }

  /// Adds to the cotangent of an operand: of its shape, in its dtype or the compute type.
  void add(std::size_t i, Value dx) { add(i, dx, cotangent_.dead); }
  /// The same of what the operation chooses; else it is 0.
  void add_chosen(std::size_t i, Value dx, Dead dead);

  /// The cotangent of a function's operand: dy times the derivative.
  void scale(std::size_t i, Value derivative) { add(i, times(dy(), derivative, Dead::Functions)); }

  /// A cotangent times a factor; 0 where the cotangent is 0 because something else was chosen.
  /// `from`: what is guarded so.
  Value times(Value cotangent, Value factor, Dead from = Dead::Products) const;
  /// 1 in the place of a divisor that such a cotangent is not to be divided by.
  Value divisor(Value b) const;

 private:
  void add(std::size_t i, Value dx, Dead dead);
  bool guards(Dead from) const { return cotangent_.dead >= from; }

  GraphData &g_;
  NodeId node_;
  Term cotangent_;
  Sink sink_;
};

/// The value in the type that is computed in.
Value in_compute_type(Value v);

}  // namespace fuse
