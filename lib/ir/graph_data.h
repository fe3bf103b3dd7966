// The nodes of a Graph.
//
// Nodes live in one vector and are named by their index; operands precede users, so every pass is
// one forward loop. Nodes are immutable and interned by their bits (equal nodes are one node),
// except inputs and extern ones. Names, source lines and keep marks sit in side tables.
#pragma once

#include "ir/literal.h"

#include <fuse/graph.h>

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

FUSE_BEGIN_NAMESPACE

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

/// Input: its name; a scalar is passed by value and has rank 0.
struct InputAttr {
  std::string name;
  bool is_scalar = false;
  bool operator==(const InputAttr &) const = default;
};

/// Reductions: the axes folded, ascending, and whether they stay with extent 1. Flip: the axes.
/// Transpose: the permutation. Iota, Concat, Gather, ArgMax and ArgMin: one axis.
struct AxesAttr {
  std::vector<int> axes;
  bool keep = false;
  bool operator==(const AxesAttr &) const = default;
};

/// Scans: the axis; `exclusive` leaves out an element's own position, `reverse` starts at the last.
struct ScanAttr {
  int axis = 0;
  bool exclusive = false;
  bool reverse = false;
  bool operator==(const ScanAttr &) const = default;
};

struct SliceAttr {
  std::vector<Dim> start;  // per axis
  std::vector<std::int64_t> step;
  bool operator==(const SliceAttr &) const = default;
};

struct PadAttr {
  std::vector<std::int64_t> lo, hi;  // per axis
  bool operator==(const PadAttr &) const = default;
};

/// RandomBits: which numbers of the seed.
struct RandomAttr {
  std::uint64_t stream = 0;
  bool operator==(const RandomAttr &) const = default;
};

/// Streams that a graph hands out begin here: those that users number are below.
inline constexpr std::uint64_t kFirstOwnStream = std::uint64_t{1} << 32;

/// Extern: the name and the types of all results. ExternResult: the position of the result.
struct ExternAttr {
  std::string name;
  std::size_t result = 0;
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  bool operator==(const ExternAttr &) const = default;
};

/// CustomGradient: the text of the rule, a graph of the result's cotangent and the other operands.
struct RuleAttr {
  std::string graph;
  bool operator==(const RuleAttr &) const = default;
};

using Attr = std::variant<std::monostate, InputAttr, Literal, AxesAttr, ScanAttr, SliceAttr,
                          PadAttr, ExternAttr, RandomAttr, RuleAttr>;

struct Node {
  Op op;
  DType dtype;
  std::uint32_t shape;          // into GraphData::shapes
  std::uint32_t first_operand;  // into GraphData::operand_pool
  std::uint32_t num_operands;
  std::uint32_t attr;  // into GraphData::attrs; 0 is monostate
};
static_assert(sizeof(Node) <= 20);

struct Output {
  std::string name;
  NodeId node;
  bool operator==(const Output &) const = default;
};

struct Symbol {
  std::string name;
  SymbolBounds bounds;
};

struct GraphData {
  std::string name;
  std::vector<Node> nodes;
  std::vector<NodeId> operand_pool;
  std::deque<Shape> shapes;  // deques: references stay valid while nodes are added
  std::deque<Attr> attrs;
  std::vector<Symbol> symbols;
  std::vector<NodeId> inputs;  // in argument order: tensors and scalars
  std::vector<Output> outputs;
  std::uint64_t next_stream = kFirstOwnStream;  // above all streams of the graph's own

  // Side tables, by node.
  std::map<NodeId, std::string> names;
  std::map<NodeId, SourceLocation> locations;
  std::map<NodeId, bool> keep_marks;  // true: stored; false: computed again in backward

  GraphData();

  std::size_t size() const { return nodes.size(); }
  const Node &node(NodeId id) const { return nodes[id]; }
  const Shape &shape(NodeId id) const { return shapes[nodes[id].shape]; }
  DType dtype(NodeId id) const { return nodes[id].dtype; }
  std::span<const NodeId> operands(NodeId id) const {
    const Node &n = nodes[id];
    return {operand_pool.data() + n.first_operand, n.num_operands};
  }
  NodeId operand(NodeId id, std::size_t i) const { return operands(id)[i]; }
  template <class T>
  const T &attr(NodeId id) const {
    return std::get<T>(attrs[nodes[id].attr]);
  }
  const Attr &any_attr(NodeId id) const { return attrs[nodes[id].attr]; }
  Value value(NodeId id) { return Value(this, id); }

  /// Adds a node that is already checked, or returns the equal one that exists.
  NodeId add(Op op, DType dtype, const Shape &shape, std::span<const NodeId> operands,
             Attr attr = {});

 private:
  std::uint32_t intern_shape(const Shape &shape);
  std::uint32_t intern_attr(Attr attr);
  bool equal(NodeId id, const Node &other, std::span<const NodeId> operands) const;

  std::unordered_multimap<std::uint64_t, NodeId> interned_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> interned_shapes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> interned_attrs_;
};

FUSE_END_NAMESPACE
