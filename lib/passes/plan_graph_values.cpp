// Views as index maps, and the operations that become values.
#include "ir/op.h"
#include "passes/online.h"
#include "passes/plan_graph_builder.h"

#include <algorithm>
#include <utility>

namespace fuse {

ValueMap PlanGraphBuilder::map_view(NodeId id) {
  NodeId x = g_.operand(id, 0);
  ValueMap map = maps_[x];
  const Shape &shape = g_.shape(id);
  switch (g_.node(id).op) {
    case Op::Broadcast: {
      std::vector<AtomList> axes(shape.size() - map.axes.size());
      axes.insert(axes.end(), map.axes.begin(), map.axes.end());
      map.axes = std::move(axes);
      return map;
    }
    case Op::Transpose: {
      std::vector<AtomList> axes;
      for (int i : g_.attr<AxesAttr>(id).axes)
        axes.push_back(map.axes[static_cast<std::size_t>(i)]);
      map.axes = std::move(axes);
      return map;
    }
    case Op::Flip:
      for (int i : g_.attr<AxesAttr>(id).axes) {
        auto axis = static_cast<std::size_t>(i);
        change_axis(map, axis, shape[axis]);
      }
      return map;
    case Op::Slice: map_slice(id, map); return map;
    default: return map_reshape(id);
  }
}

/// The axis gets atoms of its own.
void PlanGraphBuilder::change_axis(ValueMap &map, std::size_t i, const Dim &extent) {
  AtomList axis = fresh_axis(extent);
  if (innermost(map.axes[i]) == innermost(map.along)) map.along = axis;
  map.changed.insert(map.changed.end(), map.axes[i].begin(), map.axes[i].end());
  map.axes[i] = std::move(axis);
}

void PlanGraphBuilder::map_slice(NodeId id, ValueMap &map) {
  const Shape &from = g_.shape(g_.operand(id, 0)), &to = g_.shape(id);
  const SliceAttr &slice = g_.attr<SliceAttr>(id);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (from[i] == to[i] && slice.step[i] == 1) continue;
    change_axis(map, i, to[i]);
  }
  if (!to.empty()) map.stride *= static_cast<double>(slice.step.back());
}

ValueMap PlanGraphBuilder::map_reshape(NodeId id) {
  NodeId x = g_.operand(id, 0);
  ValueMap map = maps_[x];
  const Shape &from = g_.shape(x), &to = g_.shape(id);
  for (std::size_t i = 0; i < from.size(); ++i)  // broadcast axes take part in the flattening
    if (map.axes[i].empty()) map.axes[i] = fresh_axis(from[i]);
  AtomList all = flat(map.axes);
  if (auto axes = atoms_.regroup(all, to)) {
    map.axes = std::move(*axes);
    return map;
  }
  map.changed.insert(map.changed.end(), all.begin(), all.end());
  bool stays_inner = innermost(all) == innermost(map.along);
  map.axes = fresh_axes(to);
  map.along = stays_inner ? flat(map.axes) : AtomList{};
  return map;
}

/// Axes of an elementwise result: those of its operands where they can be one, the first operand
/// leading. What cannot be unified is noted in extra_changed_.
std::vector<AtomList> PlanGraphBuilder::join_operands(NodeId id) {
  auto operands = g_.operands(id);
  const Shape &shape = g_.shape(id);
  std::vector<AtomList> axes(shape.size());
  extra_changed_.assign(operands.size(), {});
  AtomList held;
  auto overlaps = [&](const AtomList &axis) {
    AtomList now = atoms_.leaves(held);
    for (AtomId a : atoms_.leaves(axis))
      if (std::find(now.begin(), now.end(), a) != now.end()) return true;
    return false;
  };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const ValueMap &map = maps_[operands[k]];
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (map.axes[i].empty()) continue;
      if (axes[i].empty() && !overlaps(map.axes[i])) {
        axes[i] = map.axes[i];
        held.insert(held.end(), axes[i].begin(), axes[i].end());
        atoms_.occur_together(held);
        continue;
      }
      if (axes[i].empty()) {
        axes[i] = fresh_axis(shape[i]);
        held.insert(held.end(), axes[i].begin(), axes[i].end());
        atoms_.occur_together(held);
      }
      if (!atoms_.unify(axes[i], map.axes[i]))
        extra_changed_[k].insert(extra_changed_[k].end(), map.axes[i].begin(), map.axes[i].end());
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].empty()) axes[i] = fresh_axis(shape[i]);
  return axes;
}

/// Elementwise operations, and views whose result must lie in memory.
void PlanGraphBuilder::add_pointwise(NodeId id) {
  if (info(g_.node(id).op).kind == OpKind::View) {
    ValueMap map = maps_[id];
    std::vector<AtomList> axes = map.axes;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i].empty()) axes[i] = fresh_axis(g_.shape(id)[i]);
    add_value(id, ValueKind::Pointwise, std::move(axes));
    ValueMap self = std::exchange(maps_[id], map);
    add_edge(self.from, id, {});
    maps_[id] = std::move(self);
    return;
  }
  std::vector<AtomList> axes = join_operands(id);
  std::vector<AtomList> changed = std::move(extra_changed_);
  add_value(id, ValueKind::Pointwise, std::move(axes));
  auto operands = g_.operands(id);
  for (std::size_t k = 0; k < operands.size(); ++k)
    add_edge(p_.value_of[id], operands[k], changed[k]);
}

void PlanGraphBuilder::add_pad_or_concat(NodeId id) {
  auto operands = g_.operands(id);
  const Shape &shape = g_.shape(id);
  std::vector<bool> own(shape.size());  // axes on which the result has positions of its own
  if (g_.node(id).op == Op::Concat) {
    own[static_cast<std::size_t>(g_.attr<AxesAttr>(id).axes[0])] = true;
  } else {
    for (std::size_t i = 0; i < shape.size(); ++i)
      own[i] = g_.attr<PadAttr>(id).lo[i] != 0 || g_.attr<PadAttr>(id).hi[i] != 0;
  }
  std::vector<AtomList> axes(shape.size());
  std::vector<AtomList> changed(operands.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (own[i]) axes[i] = fresh_axis(shape[i]);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const ValueMap &map = maps_[operands[k]];
    if (map.axes.size() != shape.size()) continue;  // the value that pads
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!own[i] && axes[i].empty())
        axes[i] = map.axes[i];
      else if (own[i] || !atoms_.unify(axes[i], map.axes[i]))
        changed[k].insert(changed[k].end(), map.axes[i].begin(), map.axes[i].end());
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].empty()) axes[i] = fresh_axis(shape[i]);
  add_value(id, ValueKind::Pointwise, std::move(axes));
  for (std::size_t k = 0; k < operands.size(); ++k)
    add_edge(p_.value_of[id], operands[k], changed[k], is_guarded_part(g_, id, k));
}

void PlanGraphBuilder::add_gather(NodeId id) {
  NodeId x = g_.operand(id, 0), index = g_.operand(id, 1);
  auto axis = static_cast<std::size_t>(g_.attr<AxesAttr>(id).axes[0]);
  const ValueMap &map = maps_[x];
  const Shape &shape = g_.shape(id);
  std::size_t rank = g_.shape(index).size();
  std::vector<AtomList> axes;
  for (std::size_t i = 0; i < map.axes.size(); ++i) {
    if (i != axis)
      axes.push_back(map.axes[i]);
    else
      axes.insert(axes.end(), maps_[index].axes.begin(), maps_[index].axes.end());
  }
  // The positions of the index may be positions of x on another axis.
  AtomList held, changed_x = map.axes[axis], changed_index;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AtomList now = atoms_.leaves(axes[i]);
    bool clash = std::any_of(now.begin(), now.end(), [&](AtomId a) {
      return std::find(held.begin(), held.end(), a) != held.end();
    });
    if (clash) {
      bool of_index = i >= axis && i < axis + rank;
      AtomList &changed = of_index ? changed_index : changed_x;
      changed.insert(changed.end(), now.begin(), now.end());
    }
    if (clash || axes[i].empty()) axes[i] = fresh_axis(shape[i]);
    now = atoms_.leaves(axes[i]);
    held.insert(held.end(), now.begin(), now.end());
  }
  add_value(id, ValueKind::Pointwise, std::move(axes));
  add_edge(p_.value_of[id], x, changed_x, /*guarded=*/true);
  if (maps_[x].from != kNoPlan) {
    // Each position reads one element, and a whole sector where the innermost axis is gathered.
    constexpr double kSectorBytes = 32;
    PlanEdge &edge = p_.edge_pool.back();
    bool inner = axis + 1 == g_.shape(x).size();
    if (inner) pending_.back().along.back() = {};
    double element = inner ? kSectorBytes : static_cast<double>(size_of(g_.dtype(x)));
    edge.elements = count(shape);
    edge.bytes = std::min(p_.values[edge.from].bytes, edge.elements * element);
  }
  add_edge(p_.value_of[id], index, changed_index);
}

void PlanGraphBuilder::add_reduction(NodeId id) {
  NodeId x = g_.operand(id, 0);
  const AxesAttr &attr = g_.attr<AxesAttr>(id);
  const Shape &shape = g_.shape(x);
  std::vector<AtomList> kept, operand;
  AtomList folded;
  bool inner = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    bool folds =
        std::find(attr.axes.begin(), attr.axes.end(), static_cast<int>(i)) != attr.axes.end();
    AtomList axis = maps_[x].axes[i];
    if (axis.empty()) axis = fresh_axis(shape[i]);
    operand.push_back(axis);
    if (!folds)
      kept.push_back(axis);
    else if (attr.keep)
      kept.emplace_back();
    if (folds) folded.insert(folded.end(), axis.begin(), axis.end());
    if (shape[i] != Dim(1)) inner = folds;
  }
  add_value(id, ValueKind::Reduction, std::move(kept), std::move(folded));
  pending_.back().operand = std::move(operand);
  PlanValue &v = p_.values.back();
  v.inner = inner;
  v.elements = count(shape);
  auto online = match_online_sum(g_, id);
  if (online && !depends_on_reduction(online->weight)) v.max = p_.value_of[online->maximum];
  add_edge(p_.value_of[id], x, {});
}

/// The result stands where its operand does.
void PlanGraphBuilder::add_scan(NodeId id) {
  NodeId x = g_.operand(id, 0);
  const ScanAttr &attr = g_.attr<ScanAttr>(id);
  const Shape &shape = g_.shape(x);
  auto axis = static_cast<std::size_t>(attr.axis);
  std::vector<AtomList> axes = maps_[x].axes;
  bool inner = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (axes[i].empty()) axes[i] = fresh_axis(shape[i]);
    if (i > axis && shape[i] != Dim(1)) inner = false;
  }
  add_value(id, ValueKind::Scan, axes);
  pending_.back().folded = axes[axis];
  PlanValue &v = p_.values.back();
  v.inner = inner;
  v.axis = static_cast<std::uint32_t>(axis);
  v.reverse = attr.reverse;
  add_edge(p_.value_of[id], x, {});
}

}  // namespace fuse
