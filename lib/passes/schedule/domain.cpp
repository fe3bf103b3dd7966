// Placement by propagation: the root stands at its own axes; neighbours follow through elementwise
// ops, views and reductions, forwards and backwards, until nothing changes. A reshape that leaves a
// division of one dim by a constant splits that dim, and the placement starts again.
#include "passes/schedule/domain.h"

#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <set>

namespace fuse {

namespace {

constexpr int kMaxDims = 24;

bool is_reduce(const GraphData &g, NodeId id) { return info(g.node(id).op).kind == OpKind::Reduce; }

/// A dim of the root axis: the axis index is the mixed-radix number of its dims.
struct RootAxes {
  NodeId root = kNoNode;
  std::vector<std::vector<DimId>> axes;  // dims of each axis, outermost first
};

class Placement {
 public:
  Placement(const GraphData &graph, const PlannedKernel &kernel, const Bindings &sizes)
      : g_(graph), kernel_(kernel), sizes_(sizes) {}

  std::optional<Domain> run() {
    choose_root();
    while (true) {
      place_all();
      if (!split_one_dim()) break;
      if (domain_.dims.size() > kMaxDims)
        return refuse("reshapes split more than {} dims", kMaxDims);
    }
    number_in_order();
    if (!place_loose_stores() || !mark_reduced()) return std::nullopt;
    return domain_;
  }

  const std::string &reason() const { return reason_; }

 private:
  const GraphData &g_;
  const PlannedKernel &kernel_;
  const Bindings &sizes_;
  Domain domain_;
  RootAxes root_;
  std::string reason_;

  template <class... Args>
  std::nullopt_t refuse(fmt::format_string<Args...> format, Args &&...args) {
    append(reason_, format, std::forward<Args>(args)...);
    return std::nullopt;
  }

  /// refuse, where a bool is asked for.
  template <class... Args>
  bool reject(fmt::format_string<Args...> format, Args &&...args) {
    append(reason_, format, std::forward<Args>(args)...);
    return false;
  }

  void consider_root(NodeId id, double &best) {
    double size = approximate_elements(g_.shape(id), sizes_);
    bool better = size > best || (size == best && root_.root != kNoNode &&
                                  g_.shape(id).size() > g_.shape(root_.root).size());
    if (root_.root != kNoNode && !better) return;
    root_.root = id;
    best = size;
  }

  void choose_root() {
    double best = 0;
    for (NodeId id : kernel_.nodes)
      if (is_reduce(g_, id)) consider_root(g_.operand(id, 0), best);
    if (root_.root == kNoNode)
      for (NodeId id : kernel_.stores) consider_root(id, best);
    FUSE_CHECK(root_.root != kNoNode, "kernel {} stores nothing", kernel_.name);
    for (const Dim &extent : g_.shape(root_.root)) {
      root_.axes.emplace_back();
      if (extent != Dim(1)) root_.axes.back().push_back(add_dim(Index(extent)));
    }
  }

  DimId add_dim(Index extent) {
    auto id = static_cast<DimId>(domain_.dims.size());
    domain_.dims.push_back({"d" + std::to_string(id), std::move(extent)});
    return id;
  }

  Position root_position() const {
    Position position;
    for (const std::vector<DimId> &axis : root_.axes) {
      Index index = 0;
      for (DimId d : axis) index = index * domain_.dims[d].extent + Index::dim(d);
      position.push_back(index);
    }
    return position;
  }

  void place_all() {
    domain_.at.clear();
    domain_.at[root_.root] = root_position();
    propagate();
  }

  void propagate() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (NodeId id : kernel_.nodes) changed |= place_forward(id);
      for (auto it = kernel_.nodes.rbegin(); it != kernel_.nodes.rend(); ++it)
        changed |= place_backward(*it);
    }
  }

  bool place_forward(NodeId id) {
    if (domain_.at.count(id)) return false;
    std::size_t count = info(g_.node(id).op).is_elementwise() ? g_.operands(id).size() : 1;
    for (std::size_t i = 0; i < std::min(count, g_.operands(id).size()); ++i) {
      auto operand = domain_.at.find(g_.operand(id, i));
      if (operand == domain_.at.end()) continue;
      // A literal is one node for all its readers: it ties none of them together.
      if (g_.node(operand->first).op == Op::Constant && operand->first != root_.root) continue;
      auto position = result_position(g_, id, operand->second, domain_.ranges());
      if (!position) continue;
      domain_.at[id] = *position;
      return true;
    }
    return false;
  }

  bool place_backward(NodeId id) {
    auto here = domain_.at.find(id);
    if (here == domain_.at.end()) return false;
    if (is_reduce(g_, id)) return place_folded(id, here->second);
    bool bijective = info(g_.node(id).op).is_elementwise() || g_.node(id).op == Op::Broadcast ||
                     g_.node(id).op == Op::Reshape || g_.node(id).op == Op::Transpose ||
                     g_.node(id).op == Op::Flip;
    if (!bijective) return false;
    bool changed = false;
    for (std::size_t i = 0; i < g_.operands(id).size(); ++i) {
      NodeId operand = g_.operand(id, i);
      if (domain_.at.count(operand)) continue;
      domain_.at[operand] = operand_position(g_, id, i, here->second, domain_.ranges());
      changed = true;
    }
    return changed;
  }

  /// The operand of a placed reduction: its folded axes take the dims that other reductions fold,
  /// in order, where the extents agree.
  bool place_folded(NodeId id, const Position &at) {
    NodeId operand = g_.operand(id, 0);
    if (domain_.at.count(operand)) return false;
    const auto &attr = g_.attr<AxesAttr>(id);
    std::vector<DimId> candidates = folded_dims();
    Position position;
    std::size_t kept = 0, next = 0;
    for (std::size_t axis = 0; axis < g_.shape(operand).size(); ++axis) {
      bool folded = std::binary_search(attr.axes.begin(), attr.axes.end(), static_cast<int>(axis));
      Index extent = g_.shape(operand)[axis];
      if (!folded || attr.keep) ++kept;
      if (!folded) {
        position.push_back(at[kept - 1]);
      } else if (extent.is_constant(1)) {
        position.emplace_back(0);
      } else {
        if (next == candidates.size() || !(domain_.dims[candidates[next]].extent == extent))
          return false;
        position.push_back(Index::dim(candidates[next++]));
      }
    }
    domain_.at[operand] = position;
    return true;
  }

  /// Dims folded by the reductions whose operands are placed.
  std::vector<DimId> folded_dims() const {
    std::set<DimId> dims;
    for (NodeId id : kernel_.nodes)
      if (is_reduce(g_, id))
        for (DimId d : dims_folded_by(id)) dims.insert(d);
    return {dims.begin(), dims.end()};
  }

  std::vector<DimId> dims_folded_by(NodeId id) const {
    auto operand = domain_.at.find(g_.operand(id, 0));
    if (operand == domain_.at.end()) return {};
    Position folded;
    for (int axis : g_.attr<AxesAttr>(id).axes) folded.push_back(operand->second[axis]);
    return Domain::dims_of(folded);
  }

  /// Splits the dim of the first division of one dim by a constant that divides its extent.
  bool split_one_dim() {
    for (const auto &[id, position] : domain_.at)
      for (const Index &index : position)
        if (split_in(index)) return true;
    return false;
  }

  bool split_in(const Index &index) {
    for (const Index::Term &term : index.terms()) {
      for (const Atom &atom : term.atoms) {
        if (atom.kind != Atom::Kind::FloorDiv && atom.kind != Atom::Kind::Mod) continue;
        if (split_in(*atom.numerator) || split_by(*atom.numerator, *atom.denominator)) return true;
      }
    }
    return false;
  }

  bool split_by(const Index &numerator, const Index &denominator) {
    auto divisor = denominator.constant();
    if (!divisor) return false;
    for (DimId d : numerator.dims()) {
      auto extent = domain_.dims[d].extent.constant();
      if (!extent || *extent % *divisor != 0 || *extent == *divisor) continue;
      if (!(numerator == Index::dim(d))) continue;
      split(d, *divisor);
      return true;
    }
    return false;
  }

  void split(DimId d, std::int64_t inner) {
    std::int64_t extent = *domain_.dims[d].extent.constant();
    domain_.dims[d].extent = extent / inner;
    DimId low = add_dim(inner);
    for (std::vector<DimId> &axis : root_.axes) {
      auto it = std::find(axis.begin(), axis.end(), d);
      if (it != axis.end()) axis.insert(it + 1, low);
    }
  }

  /// Numbers the dims by the root's axes, outermost first.
  void number_in_order() {
    std::vector<KernelDim> dims;
    std::vector<DimId> renamed(domain_.dims.size());
    for (std::vector<DimId> &axis : root_.axes) {
      for (DimId &d : axis) {
        renamed[d] = static_cast<DimId>(dims.size());
        dims.push_back({"d" + std::to_string(dims.size()), domain_.dims[d].extent});
        d = renamed[d];
      }
    }
    auto rename = [&](const Atom &atom) -> std::optional<Index> {
      if (atom.kind != Atom::Kind::Dim) return std::nullopt;
      return Index::dim(renamed[atom.id]);
    };
    domain_.dims = std::move(dims);
    for (auto &[id, position] : domain_.at)
      for (Index &index : position) index = substitute(index, rename, domain_.ranges());
  }

  /// Stored values that nothing connects to the root stand along dims of their axes' extents.
  bool place_loose_stores() {
    for (NodeId id : kernel_.stores) {
      if (domain_.at.count(id)) continue;
      std::optional<Position> position = matching_dims(g_.shape(id));
      if (!position) return reject("%{} has no place along the axes of %{}", id, root_.root);
      domain_.at[id] = *position;
      propagate();
    }
    return true;
  }

  std::optional<Position> matching_dims(const Shape &shape) const {
    if (shape == g_.shape(root_.root)) return root_position();
    Position position;
    DimId next = 0;
    for (const Dim &extent : shape) {
      if (extent == Dim(1)) {
        position.emplace_back(0);
        continue;
      }
      while (next < domain_.dims.size() && !(domain_.dims[next].extent == Index(extent))) ++next;
      if (next == domain_.dims.size()) return std::nullopt;
      position.push_back(Index::dim(next++));
    }
    return position;
  }

  /// All reductions fold the same dims, whole, and keep none of them.
  bool mark_reduced() {
    domain_.reduced.assign(domain_.dims.size(), false);
    std::optional<std::vector<DimId>> common;
    for (NodeId id : kernel_.nodes) {
      if (!is_reduce(g_, id)) continue;
      if (!domain_.at.count(id) || !domain_.at.count(g_.operand(id, 0)))
        return reject("reduction %{} is not connected to %{}", id, root_.root);
      std::vector<DimId> folded = dims_folded_by(id);
      if (!folds_whole_dims(id, folded)) return reject("reduction %{} folds part of a dim", id);
      if (common && *common != folded)
        return reject("reduction %{} folds other dims than those before it", id);
      common = folded;
    }
    if (common)
      for (DimId d : *common) domain_.reduced[d] = true;
    return true;
  }

  bool folds_whole_dims(NodeId id, const std::vector<DimId> &folded) const {
    for (DimId d : Domain::dims_of(domain_.at.at(id)))
      if (std::binary_search(folded.begin(), folded.end(), d)) return false;
    Index expected = 1, actual = 1;
    for (int axis : g_.attr<AxesAttr>(id).axes)
      expected = expected * Index(g_.shape(g_.operand(id, 0))[axis]);
    for (DimId d : folded) actual = actual * domain_.dims[d].extent;
    return expected == actual;
  }
};

}  // namespace

Ranges Domain::ranges() const {
  Ranges ranges;
  ranges.extent = [this](DimId d) -> std::optional<Index> { return dims[d].extent; };
  return ranges;
}

std::vector<DimId> Domain::dims_of(const Position &position) {
  std::set<DimId> dims;
  for (const Index &index : position)
    for (DimId d : index.dims()) dims.insert(d);
  return {dims.begin(), dims.end()};
}

std::vector<DimId> Domain::reduced_dims() const {
  std::vector<DimId> dims_reduced;
  for (DimId d = 0; d < dims.size(); ++d)
    if (reduced[d]) dims_reduced.push_back(d);
  return dims_reduced;
}

double approximate_elements(const Shape &shape, const Bindings &sizes) {
  double product = 1;
  for (const Dim &d : shape) {
    double sum = 0;
    for (const Dim::Term &t : d.terms()) {
      double term = static_cast<double>(t.coefficient);
      for (const std::string &s : t.symbols) {
        auto it = sizes.find(s);
        term *= it == sizes.end() ? 1024.0 : static_cast<double>(it->second);
      }
      sum += term;
    }
    product *= sum;
  }
  return product;
}

std::optional<Domain> analyze_domain(const GraphData &graph, const PlannedKernel &kernel,
                                     const Bindings &sizes, std::string *reason) {
  Placement placement(graph, kernel, sizes);
  std::optional<Domain> domain = placement.run();
  if (reason) *reason = placement.reason();
  return domain;
}

}  // namespace fuse
