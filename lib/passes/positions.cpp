// Index expressions of nodes, operands first.
#include "passes/positions.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <vector>

namespace fuse {

namespace {

constexpr int kMostNodes = 24;
constexpr std::int64_t kLargest = std::int64_t{1}
                                  << 40;  // sums and products of few do not overflow

using MaybeIndex = std::optional<Index>;

class Positions {
 public:
  explicit Positions(const GraphData &graph) : g_(graph) {}

  MaybeIndex of(NodeId id) {
    if (!is_int(g_.dtype(id)) || g_.keep_marks.contains(id) || ++visited_ > kMostNodes)
      return std::nullopt;
    MaybeIndex index = build(id);
    return index && fits(*index, id) ? index : std::nullopt;
  }

 private:
  const GraphData &g_;
  int visited_ = 0;

  /// Whether all its values are numbers of the dtype, and small.
  bool fits(const Index &index, NodeId id) const {
    std::optional<Interval> range = interval_over(index, g_.shape(id));
    if (!range || range->lo < -kLargest || range->hi > kLargest) return false;
    auto is_of_type = [&](std::int64_t n) {
      auto bits = static_cast<std::uint64_t>(n);
      return wrap_int(g_.dtype(id), bits) == bits;
    };
    return is_of_type(range->lo) && is_of_type(range->hi);
  }

  MaybeIndex build(NodeId id) {
    switch (g_.node(id).op) {
      case Op::Constant: return constant(as_int(g_.attr<Literal>(id)));
      case Op::Iota: return Index::dim(static_cast<DimId>(g_.attr<AxesAttr>(id).axes[0]));
      case Op::Cast: return of(g_.operand(id, 0));
      case Op::Add:
      case Op::Sub:
      case Op::Mul: return combine(id);
      default: return info(g_.node(id).op).kind == OpKind::View ? view(id) : std::nullopt;
    }
  }

  static MaybeIndex constant(std::int64_t value) {
    return value >= -kLargest && value <= kLargest ? MaybeIndex(Index(value)) : std::nullopt;
  }

  MaybeIndex combine(NodeId id) {
    MaybeIndex a = of(g_.operand(id, 0));
    MaybeIndex b = a ? of(g_.operand(id, 1)) : std::nullopt;
    if (!b) return std::nullopt;
    switch (g_.node(id).op) {
      case Op::Add: return *a + *b;
      case Op::Sub: return *a - *b;
      default: return a->constant() || b->constant() ? MaybeIndex(*a * *b) : std::nullopt;
    }
  }

  /// Positions of the operand in terms of those of the view.
  MaybeIndex view(NodeId id) {
    std::optional<std::vector<Index>> at = operand_positions(id);
    if (!at) return std::nullopt;
    MaybeIndex x = of(g_.operand(id, 0));
    if (!x) return std::nullopt;
    return substitute(*x, [&](const Atom &atom) -> MaybeIndex {
      return atom.kind == Atom::Kind::Dim ? MaybeIndex((*at)[atom.id]) : std::nullopt;
    });
  }

  std::optional<std::vector<Index>> operand_positions(NodeId id) const {
    const Shape &from = g_.shape(g_.operand(id, 0)), &to = g_.shape(id);
    switch (g_.node(id).op) {
      case Op::Broadcast: return of_broadcast(from, to);
      case Op::Reshape: return of_reshape(from, to);
      case Op::Transpose: return of_transpose(g_.attr<AxesAttr>(id).axes);
      case Op::Slice: return of_slice(g_.attr<SliceAttr>(id));
      default: return std::nullopt;
    }
  }

  static Index along(std::size_t axis) { return Index::dim(static_cast<DimId>(axis)); }

  static std::vector<Index> of_broadcast(const Shape &from, const Shape &to) {
    std::vector<Index> at;
    for (std::size_t i = 0; i < from.size(); ++i)
      at.push_back(from[i] == Dim(1) ? Index(0) : along(i + to.size() - from.size()));
    return at;
  }

  /// A reshape that only adds and removes axes of extent 1.
  static std::optional<std::vector<Index>> of_reshape(const Shape &from, const Shape &to) {
    std::vector<Index> at;
    std::size_t j = 0;
    for (const Dim &extent : from) {
      while (extent != Dim(1) && j < to.size() && to[j] == Dim(1)) ++j;
      bool is_unit = extent == Dim(1);
      if (!is_unit && (j == to.size() || to[j] != extent)) return std::nullopt;
      at.push_back(is_unit ? Index(0) : along(j++));
    }
    return at;
  }

  static std::vector<Index> of_transpose(const std::vector<int> &permutation) {
    std::vector<Index> at(permutation.size());
    for (std::size_t i = 0; i < permutation.size(); ++i)
      at[static_cast<std::size_t>(permutation[i])] = along(i);
    return at;
  }

  static std::vector<Index> of_slice(const SliceAttr &slice) {
    std::vector<Index> at;
    for (std::size_t i = 0; i < slice.start.size(); ++i)
      at.push_back(Index(slice.start[i]) + along(i) * Index(slice.step[i]));
    return at;
  }
};

}  // namespace

std::optional<Interval> interval_over(const Index &index, const Shape &shape) {
  Ranges ranges;
  ranges.extent = [&](DimId axis) { return std::optional<Index>(Index(shape[axis])); };
  return interval(index, ranges);
}

std::optional<Index> position_index(const GraphData &graph, NodeId id) {
  return Positions(graph).of(id);
}

}  // namespace fuse
