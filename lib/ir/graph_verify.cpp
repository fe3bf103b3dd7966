// Invariants of a graph, checked in this order:
//   1. operands are nodes before their user; every op has its number of operands and its attribute
//   2. ranks are at most 8, static extents not negative, symbols declared
//   3. elementwise operands have the result's shape and a dtype that the op takes: one dtype, or
//      constants of its compute type (literals); select's condition and predicates are bool
//   4. views, reductions and scans have the type that the builders infer from their operands
//   5. the seed of random bits is a u64 scalar, their stream below 2^63 and known to the graph
//   6. the results of an extern op follow it and have the types that it lists
//   7. what says how gradients pass has the type of its first operand
//   8. inputs and outputs have unique names, and every Input node is listed once; scalars are 0-d
//   9. names, source lines and keep marks belong to nodes
#include "ir/graph_verify.h"

#include "ir/build.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <set>

namespace fuse {

namespace {

class Verifier {
 public:
  explicit Verifier(const GraphData &graph) : g_(graph), scratch_(graph) {}

  void run() {
    for (NodeId id = 0; id < g_.size(); ++id) check_node(id);
    check_inputs();
    check_outputs();
    check_side_tables();
  }

 private:
  [[noreturn]] void broken(NodeId id, const std::string &what) const {
    std::string_view op = id < g_.size() ? info(g_.node(id).op).text : "?";
    fail(ErrorCode::Internal,
         "graph {}: node %{} ({}): {}; this is a bug in fuse, please report it", g_.name, id, op,
         what);
  }

  void require(bool condition, NodeId id, const char *what) const {
    if (!condition) broken(id, what);
  }

  void check_node(NodeId id) {
    check_operands(id);
    check_attr(id);
    check_extents(id);
    switch (info(g_.node(id).op).kind) {
      case OpKind::Leaf: check_leaf(id); break;
      case OpKind::Random: check_random(id); break;
      case OpKind::Unary:
      case OpKind::Binary:
      case OpKind::Ternary:
      case OpKind::Compare:
      case OpKind::Test:
      case OpKind::Convert: check_elementwise(id); break;
      case OpKind::View:
      case OpKind::Reduce:
      case OpKind::Scan: check_inferred(id); break;
      case OpKind::Extern: check_extern(id); break;
      case OpKind::Gradient: check_gradient(id); break;
    }
  }

  void check_operands(NodeId id) const {
    std::size_t count = g_.operands(id).size();
    for (NodeId o : g_.operands(id)) require(o < id, id, "an operand does not precede it");
    switch (info(g_.node(id).op).kind) {
      case OpKind::Leaf: require(count == 0, id, "a leaf has operands"); break;
      case OpKind::Random:
      case OpKind::Unary:
      case OpKind::Test:
      case OpKind::Convert:
      case OpKind::Reduce:
      case OpKind::Scan: require(count == 1, id, "needs one operand"); break;
      case OpKind::Binary:
      case OpKind::Compare: require(count == 2, id, "needs two operands"); break;
      case OpKind::Ternary: require(count == 3, id, "needs three operands"); break;
      case OpKind::View: check_view_operands(id, count); break;
      case OpKind::Extern:
        require(g_.node(id).op == Op::Extern || count == 1, id, "needs one operand");
        break;
      case OpKind::Gradient:
        require(g_.node(id).op == Op::CustomGradient ? count >= 2 : count == 1, id,
                "has a wrong operand count");
        break;
    }
  }

  void check_view_operands(NodeId id, std::size_t count) const {
    Op op = g_.node(id).op;
    if (op == Op::Concat) return require(count >= 1, id, "has no operands");
    require(count == (op == Op::Pad || op == Op::Gather ? 2 : 1), id, "has a wrong operand count");
  }

  template <class T>
  bool has_attr(NodeId id) const {
    return std::holds_alternative<T>(g_.any_attr(id));
  }

  void check_attr(NodeId id) const {
    Op op = g_.node(id).op;
    bool fits;
    if (op == Op::Input) {
      fits = has_attr<InputAttr>(id);
    } else if (op == Op::Constant) {
      fits = has_attr<Literal>(id);
    } else if (op == Op::CustomGradient) {
      fits = has_attr<RuleAttr>(id);
    } else if (op == Op::RandomBits) {
      fits = has_attr<RandomAttr>(id);
    } else if (op == Op::Slice) {
      fits = has_attr<SliceAttr>(id);
    } else if (op == Op::Pad) {
      fits = has_attr<PadAttr>(id);
    } else if (info(op).kind == OpKind::Scan) {
      fits = has_attr<ScanAttr>(id);
    } else if (info(op).kind == OpKind::Extern) {
      fits = has_attr<ExternAttr>(id);
    } else if (info(op).kind == OpKind::Reduce || op == Op::Iota || op == Op::Transpose ||
               op == Op::Flip || op == Op::Concat || op == Op::Gather) {
      fits = has_attr<AxesAttr>(id);
    } else {
      fits = has_attr<std::monostate>(id);
    }
    require(fits, id, "has the attribute of another op");
  }

  void check_extents(NodeId id) const {
    require(g_.shape(id).size() <= kMaxRank, id, "has more than 8 axes");
    for (const Dim &d : g_.shape(id)) {
      require(!d.is_static() || d.value() >= 0, id, "has a negative extent");
      for (const Dim::Term &t : d.terms())
        for (const std::string &s : t.symbols) check_symbol(id, s);
    }
  }

  void check_symbol(NodeId id, const std::string &name) const {
    auto same = [&](const Symbol &s) { return s.name == name; };
    require(std::any_of(g_.symbols.begin(), g_.symbols.end(), same), id, "uses a foreign symbol");
  }

  void check_leaf(NodeId id) const {
    if (g_.node(id).op == Op::Constant)
      require(g_.attr<Literal>(id).dtype == g_.dtype(id), id, "its literal has another dtype");
    if (g_.node(id).op == Op::Iota) {
      const std::vector<int> &axes = g_.attr<AxesAttr>(id).axes;
      int rank = static_cast<int>(g_.shape(id).size());
      require(axes.size() == 1 && axes[0] >= 0 && axes[0] < rank, id, "has no such axis");
    }
  }

  void check_random(NodeId id) const {
    NodeId seed = g_.operand(id, 0);
    require(g_.dtype(id) == DType::U32, id, "its words are not u32");
    require(g_.dtype(seed) == DType::U64 && g_.shape(seed).empty(), id,
            "its seed is no u64 scalar");
    std::uint64_t stream = g_.attr<RandomAttr>(id).stream;
    require(stream <= INT64_MAX && stream < g_.next_stream, id, "its stream is out of range");
  }

  void check_elementwise(NodeId id) const {
    for (NodeId o : g_.operands(id))
      require(g_.shape(o) == g_.shape(id), id, "an operand has another shape; broadcast it");
    Op op = g_.node(id).op;
    OpKind kind = info(op).kind;
    if (kind == OpKind::Convert) return check_convert(id);
    bool predicate = kind == OpKind::Compare || kind == OpKind::Test;
    if (predicate) require(g_.dtype(id) == DType::Bool, id, "a predicate is not bool");
    std::span<const NodeId> typed = g_.operands(id);
    if (op == Op::Select) {
      require(g_.dtype(typed[0]) == DType::Bool, id, "its condition is not bool");
      typed = typed.subspan(1);
    }
    DType dtype = predicate ? operand_dtype(typed) : g_.dtype(id);
    require(accepts(info(op).types, dtype), id, "does not take its dtype");
    for (NodeId o : typed) require(fits(o, dtype), id, "an operand has another dtype");
  }

  void check_convert(NodeId id) const {
    if (g_.node(id).op != Op::Bitcast) return;
    DType from = g_.dtype(g_.operand(id, 0)), to = g_.dtype(id);
    require(size_of(from) == size_of(to), id, "changes the size of an element");
    require(is_bool(from) == is_bool(to), id, "reads or makes bool bits");
  }

  bool is_constant(NodeId id) const { return g_.node(id).op == Op::Constant; }

  bool fits(NodeId id, DType expected) const {
    return g_.dtype(id) == expected || (is_constant(id) && g_.dtype(id) == compute_type(expected));
  }

  /// As the builders decide it: among constants, one that is no literal.
  DType operand_dtype(std::span<const NodeId> operands) const {
    for (NodeId o : operands)
      if (!is_constant(o)) return g_.dtype(o);
    for (NodeId o : operands)
      if (compute_type(g_.dtype(o)) != g_.dtype(o)) return g_.dtype(o);
    return g_.dtype(operands[0]);
  }

  /// Building the node again over its operands must give its type.
  void check_inferred(NodeId id) {
    NodeId again = kNoNode;
    try {
      again = rebuild(id);
    } catch (const Error &e) {
      broken(id, e.what());
    }
    require(scratch_.dtype(again) == g_.dtype(id), id, "its dtype does not follow from operands");
    require(scratch_.shape(again) == g_.shape(id), id, "its shape does not follow from operands");
  }

  NodeId rebuild(NodeId id) {
    Op op = g_.node(id).op;
    NodeId x = g_.operand(id, 0);
    if (op == Op::Broadcast) return build_broadcast(scratch_, x, g_.shape(id));
    if (op == Op::Reshape) return build_reshape(scratch_, x, g_.shape(id));
    if (op == Op::Slice) return rebuild_slice(id);
    if (op == Op::Pad) {
      const PadAttr &pad = g_.attr<PadAttr>(id);
      return build_pad(scratch_, x, g_.operand(id, 1), pad.lo, pad.hi);
    }
    if (info(op).kind == OpKind::Scan) return build_scan(scratch_, op, x, g_.attr<ScanAttr>(id));
    const AxesAttr &a = g_.attr<AxesAttr>(id);
    if (op == Op::Transpose) return build_transpose(scratch_, x, a.axes);
    if (op == Op::Flip) return build_flip(scratch_, x, a.axes);
    if (info(op).kind == OpKind::Reduce) return build_reduce(scratch_, op, x, a.axes, a.keep);
    require(a.axes.size() == 1, id, "needs one axis");
    if (op == Op::Concat) return build_concat(scratch_, g_.operands(id), a.axes[0]);
    return build_gather(scratch_, x, g_.operand(id, 1), a.axes[0]);
  }

  /// The stop behind the last element; it lies inside the operand.
  NodeId rebuild_slice(NodeId id) {
    const SliceAttr &slice = g_.attr<SliceAttr>(id);
    const Shape &shape = g_.shape(id);
    require(slice.start.size() == shape.size() && slice.step.size() == shape.size(), id,
            "has a start or step too few");
    std::vector<Dim> stop;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      bool empty = shape[i] == Dim(0);
      stop.push_back(empty ? slice.start[i] : slice.start[i] + (shape[i] - 1) * slice.step[i] + 1);
    }
    return build_slice(scratch_, g_.operand(id, 0), slice.start, stop, slice.step);
  }

  void check_extern(NodeId id) const {
    const ExternAttr &attr = g_.attr<ExternAttr>(id);
    if (g_.node(id).op == Op::Extern) {
      require(!attr.dtypes.empty() && attr.dtypes.size() == attr.shapes.size(), id,
              "lists no result types");
      return check_result(id, attr, 0);
    }
    NodeId owner = g_.operand(id, 0);
    require(g_.node(owner).op == Op::Extern, id, "its operand is no extern");
    require(attr.result >= 1 && id == owner + attr.result, id, "does not follow its extern");
    check_result(id, g_.attr<ExternAttr>(owner), attr.result);
  }

  void check_result(NodeId id, const ExternAttr &attr, std::size_t i) const {
    require(i < attr.dtypes.size(), id, "its extern has fewer results");
    require(attr.dtypes[i] == g_.dtype(id) && attr.shapes[i] == g_.shape(id), id,
            "has another type than its extern lists");
  }

  void check_gradient(NodeId id) const {
    NodeId x = g_.operand(id, 0);
    require(g_.dtype(x) == g_.dtype(id) && g_.shape(x) == g_.shape(id), id,
            "has another type than its operand");
  }

  void check_inputs() const {
    std::set<std::string> names;
    std::set<NodeId> listed;
    for (NodeId id : g_.inputs) {
      require(id < g_.size() && g_.node(id).op == Op::Input, id, "is listed as an input");
      require(listed.insert(id).second, id, "is listed twice as an input");
      const InputAttr &attr = g_.attr<InputAttr>(id);
      require(names.insert(attr.name).second, id, "its name is taken");
      require(!attr.is_scalar || g_.shape(id).empty(), id, "is a scalar with axes");
    }
    for (NodeId id = 0; id < g_.size(); ++id)
      require(g_.node(id).op != Op::Input || listed.contains(id), id, "is no argument");
  }

  void check_outputs() const {
    std::set<std::string> names;
    for (const Output &o : g_.outputs) {
      require(o.node < g_.size(), o.node, "an output is no node");
      require(names.insert(o.name).second, o.node, "its output name is taken");
    }
  }

  void check_side_tables() const {
    for (const auto &[id, name] : g_.names) require(id < g_.size(), id, "has only a name");
    for (const auto &[id, where] : g_.locations) require(id < g_.size(), id, "has only a line");
    for (const auto &[id, keep] : g_.keep_marks) require(id < g_.size(), id, "has only a mark");
  }

  const GraphData &g_;
  GraphData scratch_;  // where nodes are built again; equal nodes are found, not added
};

}  // namespace

void verify(const Graph &graph) { Verifier(graph.data()).run(); }

}  // namespace fuse
