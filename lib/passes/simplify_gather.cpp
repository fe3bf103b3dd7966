// Gathers that need no memory between: at positions that are known they are views, and of few
// elements of an elementwise value they read its operands.
#include "passes/positions.h"
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

constexpr std::int64_t kFewer = 4;      // times, that a gather takes of what it gathers from
constexpr std::size_t kMostNodes = 16;  // that are computed at the elements taken

// --- At known positions --------------------------------------------------------------------------

/// An axis of the index along which positions move, and by how much.
struct Step {
  std::size_t axis = 0;
  std::int64_t by = 0, extent = 0;
};

/// base + sum of steps, widest first, that count through every `steps.back().by`-th element: each
/// is as wide as all that follow together.
struct Walk {
  std::int64_t base = 0;
  std::vector<Step> steps;

  std::int64_t stride() const { return steps.empty() ? 1 : steps.back().by; }
  std::int64_t count() const {
    return steps.empty() ? 1 : steps[0].by / stride() * steps[0].extent;
  }
};

std::optional<Walk> walk_of(const Index &index, const Shape &shape) {
  Walk walk;
  Index rest = index;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    std::optional<Index> factor = index.coefficient_of(static_cast<DimId>(a));
    if (!factor || !factor->constant()) return std::nullopt;
    rest = rest - *factor * Index::dim(static_cast<DimId>(a));
    std::int64_t by = *factor->constant();
    if (by == 0 || shape[a] == Dim(1)) continue;
    if (by < 0 || !shape[a].is_static()) return std::nullopt;
    walk.steps.push_back({a, by, shape[a].value()});
  }
  if (!rest.constant()) return std::nullopt;
  walk.base = *rest.constant();
  std::sort(walk.steps.begin(), walk.steps.end(),
            [](const Step &a, const Step &b) { return a.by > b.by; });
  for (std::size_t i = 1; i < walk.steps.size(); ++i)
    if (walk.steps[i - 1].by != walk.steps[i].by * walk.steps[i].extent) return std::nullopt;
  return walk;
}

/// The axis of x replaced by these extents.
Shape with_axes(const Shape &shape, int axis, const Shape &extents) {
  Shape result = shape;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, extents.begin(), extents.end());
  return result;
}

NodeId slice_axis(Simplifier &s, NodeId x, int axis, const Walk &walk) {
  const Shape &shape = s.shape(x);
  std::vector<Dim> start(shape.size(), 0), stop(shape.begin(), shape.end());
  std::vector<std::int64_t> step(shape.size(), 1);
  auto a = static_cast<std::size_t>(axis);
  start[a] = walk.base;
  stop[a] = walk.base + walk.stride() * (walk.count() - 1) + 1;
  step[a] = walk.stride();
  return build_slice(s.g, x, start, stop, step);
}

/// One axis for each step, in the order of the index's axes.
NodeId split_axis(Simplifier &s, NodeId x, int axis, const std::vector<Step> &steps) {
  Shape extents;
  for (const Step &step : steps) extents.push_back(step.extent);
  NodeId split = build_reshape(s.g, x, with_axes(s.shape(x), axis, extents));
  std::vector<int> order(s.shape(split).size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::sort(order.begin() + axis, order.begin() + axis + static_cast<int>(steps.size()),
            [&](int a, int b) {
              return steps[static_cast<std::size_t>(a - axis)].axis <
                     steps[static_cast<std::size_t>(b - axis)].axis;
            });
  return build_transpose(s.g, split, order);
}

NodeId gather_at_positions(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0), index = s.arg(n, 1);
  int axis = s.g.attr<AxesAttr>(n).axes[0];
  const Shape at = s.shape(index), from = s.shape(x);
  const Dim &extent = from[static_cast<std::size_t>(axis)];
  std::optional<Index> positions = position_index(s.g, index);
  if (!positions || !extent.is_static()) return kNoNode;
  std::optional<Interval> range = interval_over(*positions, at);
  if (!range || range->lo < 0 || range->hi >= extent.value()) return kNoNode;
  std::optional<Walk> walk = walk_of(*positions, at);
  if (!walk) return kNoNode;
  NodeId taken = split_axis(s, slice_axis(s, x, axis, *walk), axis, walk->steps);
  Shape units(at.size(), 1);
  for (const Step &step : walk->steps) units[step.axis] = step.extent;
  return build_broadcast(s.g, build_reshape(s.g, taken, with_axes(from, axis, units)), s.shape(n));
}

// --- Of few elements -----------------------------------------------------------------------------

bool is_elementwise(OpKind kind) {
  return kind == OpKind::Unary || kind == OpKind::Binary || kind == OpKind::Ternary ||
         kind == OpKind::Compare || kind == OpKind::Test || kind == OpKind::Convert;
}

/// Elements of values by their row-major numbers, computed where they are taken.
class Taker {
 public:
  Taker(Simplifier &simplifier, const Shape &at) : s_(simplifier), at_(at) {}

  /// kNoNode where an operand does not lie in memory.
  NodeId take(NodeId x, NodeId number) {
    if (s_.is_constant(x)) return build_constant(s_.g, s_.literal(x), at_);
    if (++visited_ > kMostNodes) return kNoNode;
    OpKind kind = info(s_.op(x)).kind;
    if (s_.g.keep_marks.contains(x) || lies_in_memory(x)) return gathered(x, number);
    if (s_.op(x) == Op::Reshape) return take(s_.arg(x, 0), number);
    if (s_.op(x) == Op::Broadcast) return take_repeated(x, number);
    return is_elementwise(kind) ? computed(x, number) : kNoNode;
  }

 private:
  Simplifier &s_;
  Shape at_;
  std::size_t visited_ = 0;

  bool lies_in_memory(NodeId x) const {
    OpKind kind = info(s_.op(x)).kind;
    return s_.op(x) == Op::Input || kind == OpKind::Reduce || kind == OpKind::Scan ||
           kind == OpKind::Extern;
  }

  NodeId gathered(NodeId x, NodeId number) {
    return build_gather(s_.g, build_reshape(s_.g, x, {num_elements(s_.shape(x))}), number, 0);
  }

  NodeId computed(NodeId x, NodeId number) {
    std::vector<NodeId> operands;
    const std::vector<NodeId> of(s_.g.operands(x).begin(), s_.g.operands(x).end());
    for (NodeId operand : of) {
      operands.push_back(take(operand, number));
      if (operands.back() == kNoNode) return kNoNode;
    }
    return s_.g.add(s_.op(x), s_.dtype(x), at_, operands);
  }

  NodeId with_constant(Op op, NodeId number, std::int64_t value) {
    NodeId constant = build_constant(s_.g, int_literal(s_.dtype(number), value), at_);
    return s_.g.add(op, s_.dtype(number), at_, {{number, constant}});
  }

  /// What repeats along its last axes, or along its first ones.
  NodeId take_repeated(NodeId x, NodeId number) {
    const Shape to = s_.shape(x);
    NodeId operand = s_.arg(x, 0);
    Shape from(to.size() - s_.shape(operand).size(), 1);
    from.insert(from.end(), s_.shape(operand).begin(), s_.shape(operand).end());
    std::int64_t all = num_elements(to).value(), own = num_elements(from).value();
    if (own == 1) return take(operand, with_constant(Op::Mul, number, 0));
    std::size_t first = 0, last = to.size();
    while (first < last && from[first] == to[first]) ++first;
    if (std::all_of(from.begin() + static_cast<std::ptrdiff_t>(first), from.end(),
                    [](const Dim &d) { return d == Dim(1); }))
      return take(operand, with_constant(Op::FloorDiv, number, all / own));
    while (last > 0 && from[last - 1] == to[last - 1]) --last;
    bool leads = std::all_of(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(last),
                             [](const Dim &d) { return d == Dim(1); });
    return leads ? take(operand, with_constant(Op::Mod, number, own)) : kNoNode;
  }
};

/// The element, or 0 where the number is outside.
NodeId or_zero_outside(Simplifier &s, NodeId n, NodeId number, std::int64_t count, NodeId value) {
  return s.make(n, Op::Select, {s.is_inside(number, count), value, s.constant(n, 0.0)});
}

/// gather(f(x, y), i) = f(gather(x, i), gather(y, i)) of few elements: f(x, y) need not be stored.
NodeId gather_of_computed(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0), number = s.arg(n, 1);
  while (s.is(x, Op::Reshape)) x = s.arg(x, 0);
  if (s.shape(s.arg(n, 0)).size() != 1 || s.g.keep_marks.contains(x) ||
      !is_elementwise(info(s.op(x)).kind))
    return kNoNode;
  const Dim from = num_elements(s.shape(x)), to = num_elements(s.shape(n));
  if (!from.is_static() || !to.is_static() || to.value() > from.value() / kFewer) return kNoNode;
  std::int64_t count = from.value();
  if (wrap_int(s.dtype(number), static_cast<std::uint64_t>(count)) !=
      static_cast<std::uint64_t>(count))
    return kNoNode;
  NodeId value = Taker(s, s.shape(n)).take(x, number);
  return value == kNoNode ? kNoNode : or_zero_outside(s, n, number, count, value);
}

constexpr Rule kRules[] = {
    {Op::Gather, "gather at positions that are known = a view", gather_at_positions},
    {Op::Gather, "gather of few elements of f(x) = f of gathers", gather_of_computed},
};

}  // namespace

std::span<const Rule> gather_rules() { return kRules; }

}  // namespace fuse
