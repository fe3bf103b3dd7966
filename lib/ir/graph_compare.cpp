// Equality of graphs: same inputs, symbols, statements and outputs in the same order. Constants
// that are literals count where they are used; dead ones do not.
#include "ir/graph_data.h"
#include "ir/graph_print.h"

#include <algorithm>
#include <optional>

FUSE_BEGIN_NAMESPACE

namespace {

template <class Table>
std::optional<typename Table::mapped_type> lookup(const Table &table, NodeId id) {
  auto it = table.find(id);
  if (it == table.end()) return std::nullopt;
  return it->second;
}

class GraphComparison {
 public:
  GraphComparison(const GraphData &a, const GraphData &b)
      : a_(a), b_(b), image_(a.size(), kNoNode) {}

  bool equal() {
    return a_.name == b_.name && equal_symbols() && equal_inputs() && equal_statements() &&
           equal_outputs();
  }

 private:
  bool equal_symbols() const {
    return std::equal(a_.symbols.begin(), a_.symbols.end(), b_.symbols.begin(), b_.symbols.end(),
                      [](const Symbol &s, const Symbol &t) {
                        return s.name == t.name && s.bounds.min == t.bounds.min &&
                               s.bounds.max == t.bounds.max && s.bounds.divisor == t.bounds.divisor;
                      });
  }

  bool equal_inputs() {
    if (a_.inputs.size() != b_.inputs.size()) return false;
    for (std::size_t i = 0; i < a_.inputs.size(); ++i) {
      if (!equal_types(a_.inputs[i], b_.inputs[i])) return false;
      image_[a_.inputs[i]] = b_.inputs[i];
    }
    return true;
  }

  /// All of two nodes but their operands.
  bool equal_types(NodeId x, NodeId y) const {
    return a_.node(x).op == b_.node(y).op && a_.dtype(x) == b_.dtype(y) &&
           a_.shape(x) == b_.shape(y) && a_.any_attr(x) == b_.any_attr(y);
  }

  bool equal_marks(NodeId x, NodeId y) const {
    return lookup(a_.names, x) == lookup(b_.names, y) &&
           lookup(a_.keep_marks, x) == lookup(b_.keep_marks, y);
  }

  bool equal_operand(NodeId x, NodeId y) const {
    if (a_.node(x).op == Op::Constant) return equal_types(x, y) && equal_marks(x, y);
    return image_[x] == y;
  }

  bool equal_nodes(NodeId x, NodeId y) const {
    auto p = a_.operands(x), q = b_.operands(y);
    return equal_types(x, y) && equal_marks(x, y) &&
           std::equal(p.begin(), p.end(), q.begin(), q.end(),
                      [&](NodeId i, NodeId j) { return equal_operand(i, j); });
  }

  bool equal_statements() {
    NodeId x = 0, y = 0;
    for (;; ++x, ++y) {
      x = next(a_, x);
      y = next(b_, y);
      if (x == a_.size() || y == b_.size()) return x == a_.size() && y == b_.size();
      if (!equal_nodes(x, y)) return false;
      image_[x] = y;
      if (a_.node(x).op == Op::Extern && !map_results(x, y)) return false;
    }
  }

  /// The next operation; constants are compared by their users.
  static NodeId next(const GraphData &g, NodeId id) {
    auto skip = [&](Op op) {
      return op == Op::Input || op == Op::Constant || op == Op::ExternResult;
    };
    while (id < g.size() && skip(g.node(id).op)) ++id;
    return id;
  }

  bool map_results(NodeId x, NodeId y) {
    std::vector<NodeId> p = extern_results(a_, x), q = extern_results(b_, y);
    for (std::size_t i = 1; i < p.size(); ++i) {
      if (p[i] == kNoNode || q[i] == kNoNode) continue;
      if (!equal_marks(p[i], q[i])) return false;
      image_[p[i]] = q[i];
    }
    return true;
  }

  bool equal_outputs() const {
    return std::equal(a_.outputs.begin(), a_.outputs.end(), b_.outputs.begin(), b_.outputs.end(),
                      [&](const Output &s, const Output &t) {
                        return s.name == t.name && equal_operand(s.node, t.node);
                      });
  }

  const GraphData &a_, &b_;
  std::vector<NodeId> image_;  // of nodes of a in b
};

}  // namespace

bool operator==(const Graph &a, const Graph &b) {
  return GraphComparison(a.data(), b.data()).equal();
}

FUSE_END_NAMESPACE
