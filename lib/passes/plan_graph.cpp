// Builds the value graph: one forward loop that turns views into index maps and unifies axes.
#include "passes/plan_graph.h"

#include "ir/op.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fuse {

namespace {

/// How a node's elements are found from the value that they come from.
struct Map {
  PlanId from = kNoPlan;  // kNoPlan: constants and iota
  std::vector<AtomList> axes;
  AtomList changed;  // atoms of `from` that are indexed otherwise than by `axes`
  double stride = 1;  // elements skipped along the innermost axis
};

class Builder {
 public:
  Builder(const GraphData &graph, const LowerOptions &options)
      : g_(graph),
        sizes_(expected_sizes(graph, options.sizes)),
        live_(live_nodes(graph)),
        in_memory_(nodes_in_memory(graph, live_)),
        maps_(graph.size()) {
    p_.value_of.assign(graph.size(), kNoPlan);
    p_.num_symbols = graph.symbols.size();
  }

  PlanGraph build() {
    for (NodeId id = 0; id < g_.size(); ++id)
      if (live_[id]) add_node(id);
    add_copies();
    intern_domains();
    link_users();
    return std::move(p_);
  }

 private:
  struct Pending {  // what becomes of atoms once all are unified
    AtomList domain, folded;
    std::vector<AtomList> changed;  // by edge
  };

  void add_node(NodeId id);
  void add_value(NodeId id, ValueKind kind, std::vector<AtomList> axes, AtomList folded = {});
  void add_edge(PlanId user, NodeId operand, const AtomList &changed);
  void add_copies();

  Map map_view(NodeId id);
  Map map_reshape(NodeId id);
  void map_slice(NodeId id, Map &map);

  std::vector<AtomList> join_operands(NodeId id);
  void add_pointwise(NodeId id);
  void add_pad_or_concat(NodeId id);
  void add_gather(NodeId id);
  void add_reduction(NodeId id);

  std::vector<AtomList> fresh_axes(const Shape &shape);
  AtomList fresh_axis(const Dim &extent) {
    return extent == Dim(1) ? AtomList{} : AtomList{atoms_.fresh(extent)};
  }
  AtomList flat(const std::vector<AtomList> &axes) const;
  double count(const Shape &shape) const;
  void intern_domains();
  DomainId intern(const AtomList &atoms);
  void link_users();

  const GraphData &g_;
  Bindings sizes_;
  std::vector<bool> live_, in_memory_;
  std::vector<Map> maps_;  // by node
  DimAtoms atoms_;
  std::vector<Pending> pending_;  // by value
  std::map<AtomList, DomainId> domain_ids_;
  std::vector<AtomList> extra_changed_;  // by operand of the node at hand: axes not unified
  PlanGraph p_;
};

AtomList Builder::flat(const std::vector<AtomList> &axes) const {
  AtomList all;
  for (const AtomList &axis : axes) all.insert(all.end(), axis.begin(), axis.end());
  return all;
}

double Builder::count(const Shape &shape) const {
  double n = 1;
  for (const Dim &d : shape) n *= static_cast<double>(d.evaluate(sizes_));
  return n;
}

std::vector<AtomList> Builder::fresh_axes(const Shape &shape) {
  std::vector<AtomList> axes;
  for (const Dim &d : shape) axes.push_back(fresh_axis(d));
  return axes;
}

void Builder::add_node(NodeId id) {
  Op op = g_.node(id).op;
  switch (info(op).kind) {
    case OpKind::Leaf:
      if (op == Op::Input) add_value(id, ValueKind::Input, fresh_axes(g_.shape(id)));
      else if (in_memory_[id]) add_value(id, ValueKind::Pointwise, fresh_axes(g_.shape(id)));
      else maps_[id].axes.resize(g_.shape(id).size());
      return;
    case OpKind::Opaque: {
      add_value(id, ValueKind::Opaque, fresh_axes(g_.shape(id)));
      for (NodeId operand : g_.operands(id)) add_edge(p_.value_of[id], operand, {});
      return;
    }
    case OpKind::Reduce: return add_reduction(id);
    case OpKind::View:
      if (op == Op::Gather) return add_gather(id);
      if (op == Op::Pad || op == Op::Concat) return add_pad_or_concat(id);
      maps_[id] = map_view(id);
      if (in_memory_[id]) add_pointwise(id);
      return;
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary:
    case OpKind::Compare:
    case OpKind::Test:
    case OpKind::Convert: return add_pointwise(id);
  }
}

void Builder::add_value(NodeId id, ValueKind kind, std::vector<AtomList> axes, AtomList folded) {
  PlanValue v;
  v.node = id;
  v.kind = kind;
  v.must_store = in_memory_[id] && kind != ValueKind::Input && kind != ValueKind::Opaque;
  double elements = count(g_.shape(id));
  v.bytes = elements * static_cast<double>(size_of(g_.dtype(id)));
  v.elements = elements;
  DType type = g_.operands(id).empty() ? g_.dtype(id) : g_.dtype(g_.operands(id).back());
  v.cost = op_cost(g_.node(id).op, type);
  v.first_edge = static_cast<std::uint32_t>(p_.edge_pool.size());
  p_.value_of[id] = static_cast<PlanId>(p_.values.size());
  p_.values.push_back(v);
  AtomList domain = flat(axes);
  domain.insert(domain.end(), folded.begin(), folded.end());
  atoms_.occur_together(domain);
  pending_.push_back({std::move(domain), std::move(folded), {}});
  maps_[id] = {p_.value_of[id], std::move(axes), {}};
}

void Builder::add_edge(PlanId user, NodeId operand, const AtomList &changed) {
  const Map &map = maps_[operand];
  if (map.from == kNoPlan) return;
  PlanEdge edge;
  edge.from = map.from;
  edge.view = operand;
  edge.elements = count(g_.shape(operand));
  double element = static_cast<double>(size_of(g_.dtype(operand)));
  edge.bytes = std::min(p_.values[map.from].bytes, edge.elements * element * map.stride);
  AtomList all = map.changed;
  all.insert(all.end(), changed.begin(), changed.end());
  pending_[user].changed.push_back(std::move(all));
  p_.edge_pool.push_back(edge);
  ++p_.values[user].num_edges;
}

/// An input that is itself an output is copied by a kernel.
void Builder::add_copies() {
  std::vector<bool> copied(g_.size());
  for (const Output &o : g_.outputs) {
    NodeId root = memory_root(g_, o.node);
    if (g_.node(root).op != Op::Input || copied[root]) continue;
    copied[root] = true;
    Map source = maps_[root];
    PlanId input = p_.value_of[root];
    add_value(root, ValueKind::Pointwise, source.axes);
    PlanId copy = p_.value_of[root];
    p_.values[copy].is_copy = p_.values[copy].must_store = true;
    p_.value_of[root] = input;
    maps_[root] = source;
    add_edge(copy, root, {});
  }
}

// --- Views ---------------------------------------------------------------------------------------

Map Builder::map_view(NodeId id) {
  NodeId x = g_.operand(id, 0);
  Map map = maps_[x];
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
      for (int i : g_.attr<AxesAttr>(id).axes) axes.push_back(map.axes[static_cast<std::size_t>(i)]);
      map.axes = std::move(axes);
      return map;
    }
    case Op::Flip:
      for (int i : g_.attr<AxesAttr>(id).axes) {
        AtomList &axis = map.axes[static_cast<std::size_t>(i)];
        map.changed.insert(map.changed.end(), axis.begin(), axis.end());
        axis = fresh_axis(shape[static_cast<std::size_t>(i)]);
      }
      return map;
    case Op::Slice: map_slice(id, map); return map;
    default: return map_reshape(id);
  }
}

void Builder::map_slice(NodeId id, Map &map) {
  const Shape &from = g_.shape(g_.operand(id, 0)), &to = g_.shape(id);
  const SliceAttr &slice = g_.attr<SliceAttr>(id);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (from[i] == to[i] && slice.step[i] == 1) continue;
    map.changed.insert(map.changed.end(), map.axes[i].begin(), map.axes[i].end());
    map.axes[i] = fresh_axis(to[i]);
  }
  if (!to.empty()) map.stride *= static_cast<double>(slice.step.back());
}

Map Builder::map_reshape(NodeId id) {
  NodeId x = g_.operand(id, 0);
  Map map = maps_[x];
  const Shape &from = g_.shape(x), &to = g_.shape(id);
  for (std::size_t i = 0; i < from.size(); ++i)  // broadcast axes take part in the flattening
    if (map.axes[i].empty()) map.axes[i] = fresh_axis(from[i]);
  AtomList all = flat(map.axes);
  if (auto axes = atoms_.regroup(all, to)) {
    map.axes = std::move(*axes);
    return map;
  }
  map.changed.insert(map.changed.end(), all.begin(), all.end());
  map.axes = fresh_axes(to);
  return map;
}

// --- Values --------------------------------------------------------------------------------------

/// Axes of an elementwise result: those of its operands where they can be one, the first operand
/// leading. What cannot be unified is noted in extra_changed_.
std::vector<AtomList> Builder::join_operands(NodeId id) {
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
    const Map &map = maps_[operands[k]];
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
void Builder::add_pointwise(NodeId id) {
  if (info(g_.node(id).op).kind == OpKind::View) {
    Map map = maps_[id];
    std::vector<AtomList> axes = map.axes;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i].empty()) axes[i] = fresh_axis(g_.shape(id)[i]);
    add_value(id, ValueKind::Pointwise, std::move(axes));
    Map self = std::exchange(maps_[id], map);
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

void Builder::add_pad_or_concat(NodeId id) {
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
    const Map &map = maps_[operands[k]];
    if (map.axes.size() != shape.size()) continue;  // the value that pads
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!own[i] && axes[i].empty()) axes[i] = map.axes[i];
      else if (own[i] || !atoms_.unify(axes[i], map.axes[i]))
        changed[k].insert(changed[k].end(), map.axes[i].begin(), map.axes[i].end());
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].empty()) axes[i] = fresh_axis(shape[i]);
  add_value(id, ValueKind::Pointwise, std::move(axes));
  for (std::size_t k = 0; k < operands.size(); ++k)
    add_edge(p_.value_of[id], operands[k], changed[k]);
}

void Builder::add_gather(NodeId id) {
  NodeId x = g_.operand(id, 0), index = g_.operand(id, 1);
  auto axis = static_cast<std::size_t>(g_.attr<AxesAttr>(id).axes[0]);
  const Map &map = maps_[x];
  const Shape &shape = g_.shape(id);
  std::size_t rank = g_.shape(index).size();
  std::vector<AtomList> axes;
  for (std::size_t i = 0; i < map.axes.size(); ++i) {
    if (i != axis) axes.push_back(map.axes[i]);
    else axes.insert(axes.end(), maps_[index].axes.begin(), maps_[index].axes.end());
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
  add_edge(p_.value_of[id], x, changed_x);
  if (maps_[x].from != kNoPlan) {
    // Each position reads one element, and a whole sector where the innermost axis is gathered.
    constexpr double kSectorBytes = 32;
    PlanEdge &edge = p_.edge_pool.back();
    bool inner = axis + 1 == g_.shape(x).size();
    double element = inner ? kSectorBytes : static_cast<double>(size_of(g_.dtype(x)));
    edge.elements = count(shape);
    edge.bytes = std::min(p_.values[edge.from].bytes, edge.elements * element);
  }
  add_edge(p_.value_of[id], index, changed_index);
}

void Builder::add_reduction(NodeId id) {
  NodeId x = g_.operand(id, 0);
  const AxesAttr &attr = g_.attr<AxesAttr>(id);
  const Shape &shape = g_.shape(x);
  std::vector<AtomList> kept;
  AtomList folded;
  bool inner = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    bool folds = std::find(attr.axes.begin(), attr.axes.end(), static_cast<int>(i)) !=
                 attr.axes.end();
    AtomList axis = maps_[x].axes[i];
    if (axis.empty()) axis = fresh_axis(shape[i]);
    if (!folds) kept.push_back(axis);
    else if (attr.keep) kept.emplace_back();
    if (folds) folded.insert(folded.end(), axis.begin(), axis.end());
    if (shape[i] != Dim(1)) inner = folds;
  }
  add_value(id, ValueKind::Reduction, std::move(kept), std::move(folded));
  PlanValue &v = p_.values.back();
  v.inner = inner;
  v.elements = count(shape);
  add_edge(p_.value_of[id], x, {});
}

// --- After unification ---------------------------------------------------------------------------

DomainId Builder::intern(const AtomList &atoms) {
  AtomList set = atoms_.leaves(atoms);
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  auto [it, is_new] = domain_ids_.emplace(set, static_cast<DomainId>(p_.domains.size()));
  if (is_new) {
    AtomSet domain;
    for (AtomId a : set) domain.size *= static_cast<double>(atoms_.extent(a).evaluate(sizes_));
    domain.atoms = std::move(set);
    p_.domains.push_back(std::move(domain));
  }
  return it->second;
}

void Builder::intern_domains() {
  intern({});
  for (PlanId v = 0; v < p_.values.size(); ++v) {
    PlanValue &value = p_.values[v];
    value.domain = intern(pending_[v].domain);
    value.folded = intern(pending_[v].folded);
    for (std::size_t k = 0; k < value.num_edges; ++k)
      p_.edge_pool[value.first_edge + k].changed = intern(pending_[v].changed[k]);
  }
}

void Builder::link_users() {
  std::vector<std::vector<PlanId>> users(p_.values.size());
  for (PlanId v = 0; v < p_.values.size(); ++v)
    for (const PlanEdge &e : p_.edges(v))
      if (users[e.from].empty() || users[e.from].back() != v) users[e.from].push_back(v);
  for (PlanId v = 0; v < p_.values.size(); ++v) {
    p_.values[v].first_user = static_cast<std::uint32_t>(p_.user_pool.size());
    p_.values[v].num_users = static_cast<std::uint32_t>(users[v].size());
    p_.user_pool.insert(p_.user_pool.end(), users[v].begin(), users[v].end());
  }
}

}  // namespace

bool PlanGraph::is_subset(DomainId a, DomainId b) const {
  if (a == b || a == 0) return true;
  const AtomList &x = domains[a].atoms, &y = domains[b].atoms;
  return std::includes(y.begin(), y.end(), x.begin(), x.end());
}

bool PlanGraph::intersects(DomainId a, DomainId b) const {
  const AtomList &x = domains[a].atoms, &y = domains[b].atoms;
  return std::any_of(x.begin(), x.end(),
                     [&](AtomId atom) { return std::binary_search(y.begin(), y.end(), atom); });
}

Bindings expected_sizes(const GraphData &graph, const Bindings &given) {
  constexpr std::int64_t kDefaultSize = 4096;
  Bindings sizes = given;
  for (const Symbol &s : graph.symbols) {
    std::int64_t size = std::clamp(kDefaultSize, s.bounds.min, s.bounds.max);
    size = std::max(s.bounds.min, size / s.bounds.divisor * s.bounds.divisor);
    sizes.emplace(s.name, size);
  }
  return sizes;
}

PlanGraph build_plan_graph(const GraphData &graph, const LowerOptions &options) {
  return Builder(graph, options).build();
}

NodeId memory_root(const GraphData &graph, NodeId node) {
  while (graph.node(node).op == Op::Reshape) node = graph.operand(node, 0);
  return node;
}

std::vector<bool> live_nodes(const GraphData &graph) {
  std::vector<bool> live(graph.size());
  for (const Output &o : graph.outputs) live[o.node] = true;
  for (NodeId id = static_cast<NodeId>(graph.size()); id-- > 0;)
    if (live[id])
      for (NodeId operand : graph.operands(id)) live[operand] = true;
  return live;
}

std::vector<bool> nodes_in_memory(const GraphData &graph, const std::vector<bool> &live) {
  std::vector<bool> result(graph.size());
  for (const Output &o : graph.outputs) result[memory_root(graph, o.node)] = true;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!live[id] || graph.node(id).op != Op::Extern) continue;
    for (NodeId operand : graph.operands(id)) result[memory_root(graph, operand)] = true;
  }
  for (const auto &[id, marked] : graph.keep_marks)
    if (marked && live[id]) result[memory_root(graph, id)] = true;
  return result;
}

}  // namespace fuse
