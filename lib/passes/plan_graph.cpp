// Values, edges and domains of the value graph, and the queries on it.
#include "passes/plan_graph.h"

#include "ir/format.h"
#include "ir/op.h"
#include "passes/plan_graph_builder.h"

#include <algorithm>
#include <utility>

namespace fuse {

namespace {

/// A copy of such a view may be worth its bytes: what reads it then has its elements side by side.
bool moves_innermost_axis(const GraphData &g, NodeId id) {
  if (g.node(id).op != Op::Transpose) return false;
  int axis = g.attr<AxesAttr>(id).axes.back();
  return axis + 1 != static_cast<int>(g.shape(id).size());
}

}  // namespace

AtomList PlanGraphBuilder::flat(const std::vector<AtomList> &axes) const {
  AtomList all;
  for (const AtomList &axis : axes) all.insert(all.end(), axis.begin(), axis.end());
  return all;
}

double PlanGraphBuilder::count(const Shape &shape) const {
  double n = 1;
  for (const Dim &d : shape) n *= static_cast<double>(d.evaluate(sizes_));
  return n;
}

std::vector<AtomList> PlanGraphBuilder::fresh_axes(const Shape &shape) {
  std::vector<AtomList> axes;
  for (const Dim &d : shape) axes.push_back(fresh_axis(d));
  return axes;
}

void PlanGraphBuilder::add_node(NodeId id) {
  Op op = g_.node(id).op;
  auto operands = g_.operands(id);
  reduced_[id] = info(op).kind == OpKind::Reduce || info(op).kind == OpKind::Scan ||
                 std::any_of(operands.begin(), operands.end(),
                             [this](NodeId operand) { return reduced_[operand]; });
  switch (info(op).kind) {
    case OpKind::Leaf:
      if (op == Op::Input)
        add_value(id, ValueKind::Input, fresh_axes(g_.shape(id)));
      else if (in_memory_[id])
        add_value(id, ValueKind::Pointwise, fresh_axes(g_.shape(id)));
      else
        maps_[id].axes.resize(g_.shape(id).size());
      return;
    case OpKind::Random: return add_random(id);
    case OpKind::Extern: {
      add_value(id, ValueKind::Extern, fresh_axes(g_.shape(id)));
      for (NodeId operand : g_.operands(id)) add_edge(p_.value_of[id], operand, {});
      return;
    }
    case OpKind::Reduce: return add_reduction(id);
    case OpKind::Scan: return add_scan(id);
    case OpKind::View:
      if (op == Op::Gather) return add_gather(id);
      if (op == Op::Pad || op == Op::Concat) return add_pad_or_concat(id);
      maps_[id] = map_view(id);
      if (in_memory_[id] || moves_innermost_axis(g_, id)) add_pointwise(id);
      return;
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary:
    case OpKind::Compare:
    case OpKind::Test:
    case OpKind::Convert: return add_pointwise(id);
    case OpKind::Gradient: FUSE_CHECK(false, "%{} is of no use to a plan: forget_gradients", id);
  }
}

void PlanGraphBuilder::add_value(NodeId id, ValueKind kind, std::vector<AtomList> axes,
                                 AtomList folded) {
  PlanValue v;
  v.node = id;
  v.kind = kind;
  v.must_store = in_memory_[id] && kind != ValueKind::Input && kind != ValueKind::Extern;
  double elements = count(g_.shape(id));
  v.bytes = elements * static_cast<double>(size_of(g_.dtype(id)));
  v.elements = elements;
  DType type = g_.operands(id).empty() ? g_.dtype(id) : g_.dtype(g_.operands(id).back());
  v.cost = op_cost(g_.node(id).op, type, approximable_[id]);
  v.functions = long_function(g_.node(id).op, type, approximable_[id]);
  v.statements = std::max(v.cost.statements, max_statements(g_, id));
  v.fixed = max_fixed_statements(g_.node(id).op);
  v.first_edge = static_cast<std::uint32_t>(p_.edge_pool.size());
  p_.value_of[id] = static_cast<PlanId>(p_.values.size());
  p_.values.push_back(v);
  AtomList domain = flat(axes);
  domain.insert(domain.end(), folded.begin(), folded.end());
  atoms_.occur_together(domain);
  pending_.push_back({std::move(domain), std::move(folded), axes, {}, {}, {}});
  AtomList all = flat(axes);
  AtomList inner = all.empty() ? AtomList{} : AtomList{all.back()};
  maps_[id] = {p_.value_of[id], std::move(axes), {}, std::move(inner)};
}

/// Random bits are cheaper to make again than to read.
void PlanGraphBuilder::add_random(NodeId id) {
  NodeId seed = g_.operand(id, 0);
  if (in_memory_[id]) {
    add_value(id, ValueKind::Pointwise, fresh_axes(g_.shape(id)));
    return add_edge(p_.value_of[id], seed, {});
  }
  maps_[id].axes.resize(g_.shape(id).size());
  maps_[id].seed = seed;
}

void PlanGraphBuilder::add_edge(PlanId user, NodeId operand, const AtomList &changed,
                                bool guarded) {
  const ValueMap &map = maps_[operand];
  if (map.seed != kNoNode) {
    p_.values[user].cost += op_cost(Op::RandomBits, DType::U32);
    return add_edge(user, map.seed, {});
  }
  if (map.from == kNoPlan) return;
  PlanEdge edge;
  edge.from = map.from;
  edge.view = operand;
  edge.guarded = guarded;
  edge.elements = count(g_.shape(operand));
  double element = static_cast<double>(size_of(g_.dtype(operand)));
  edge.bytes = std::min(p_.values[map.from].bytes, edge.elements * element * map.stride);
  pending_[user].along.push_back(along_user(pending_[user], map, changed));
  AtomList all = map.changed;
  all.insert(all.end(), changed.begin(), changed.end());
  pending_[user].changed.push_back(std::move(all));
  p_.edge_pool.push_back(edge);
  ++p_.values[user].num_edges;
}

AtomId PlanGraphBuilder::innermost(const AtomList &atoms) const {
  AtomList now = atoms_.leaves(atoms);
  return now.empty() ? kNoAtom : now.back();
}

/// What neighbours of an operand lie along, where the user has other atoms for some of its axes.
AtomList PlanGraphBuilder::along_user(const Pending &user, const ValueMap &map,
                                      const AtomList &changed) const {
  AtomId inner = innermost(map.along);
  AtomList now = atoms_.leaves(changed);
  if (std::find(now.begin(), now.end(), inner) == now.end()) return map.along;
  for (std::size_t i = 0; i < std::min(map.axes.size(), user.axes.size()); ++i)
    if (innermost(map.axes[i]) == inner) return user.axes[i];
  return {};
}

/// What no kernel computes is copied to outputs by one: an input, and an extern result that more
/// than one output shows; its operation writes the first.
void PlanGraphBuilder::add_copies() {
  std::vector<int> shown(g_.size());  // by outputs
  for (const Output &o : g_.outputs) {
    NodeId root = memory_root(g_, o.node);
    Op op = g_.node(root).op;
    bool is_extern = op == Op::Extern || op == Op::ExternResult;
    if ((op != Op::Input && !is_extern) || ++shown[root] != (is_extern ? 2 : 1)) continue;
    ValueMap source = maps_[root];
    PlanId input = p_.value_of[root];
    add_value(root, ValueKind::Pointwise, source.axes);
    PlanId copy = p_.value_of[root];
    p_.values[copy].is_copy = p_.values[copy].must_store = true;
    p_.value_of[root] = input;
    maps_[root] = source;
    add_edge(copy, root, {});
  }
}

DomainId PlanGraphBuilder::intern(const AtomList &atoms) {
  AtomList set = atoms_.leaves(atoms);
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  auto [it, is_new] = domain_ids_.emplace(set, static_cast<DomainId>(p_.domains.size()));
  if (is_new) {
    AtomSet domain;
    for (AtomId a : set) {
      domain.size *= static_cast<double>(atoms_.extent(a).evaluate(sizes_));
      domain.sketch |= std::uint64_t{1} << a % 64;
    }
    domain.atoms = std::move(set);
    p_.domains.push_back(std::move(domain));
  }
  return it->second;
}

void PlanGraphBuilder::intern_domains() {
  intern({});
  for (AtomId a = 0; a < atoms_.size(); ++a) {
    p_.extents.push_back(atoms_.extent(a));
    p_.lengths.push_back(static_cast<double>(atoms_.extent(a).evaluate(sizes_)));
  }
  for (PlanId v = 0; v < p_.values.size(); ++v) {
    PlanValue &value = p_.values[v];
    value.domain = intern(pending_[v].domain);
    value.folded = intern(pending_[v].folded);
    p_.axes.push_back(settled(pending_[v].axes));
    p_.operand.push_back(settled(pending_[v].operand));
    for (std::size_t k = 0; k < value.num_edges; ++k) {
      PlanEdge &edge = p_.edge_pool[value.first_edge + k];
      edge.changed = intern(pending_[v].changed[k]);
      p_.along_pool.push_back(innermost(pending_[v].along[k]));
    }
  }
}

void PlanGraphBuilder::count_tensors() {
  std::vector<double> shown(g_.size());
  for (const Output &o : g_.outputs) ++shown[memory_root(g_, o.node)];
  for (PlanValue &v : p_.values) v.tensors = std::max(1.0, shown[v.node]);
}

/// Axes in atoms that no longer change.
std::vector<AtomList> PlanGraphBuilder::settled(const std::vector<AtomList> &axes) const {
  std::vector<AtomList> result;
  for (const AtomList &axis : axes) result.push_back(atoms_.leaves(axis));
  return result;
}

void PlanGraphBuilder::link_users() {
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

bool PlanGraph::holds_all(DomainId domain, DomainId atoms) const {
  const AtomList &x = domains[atoms].atoms, &y = domains[domain].atoms;
  return std::includes(y.begin(), y.end(), x.begin(), x.end());
}

bool PlanGraph::holds_any(DomainId domain, DomainId atoms) const {
  const AtomList &x = domains[atoms].atoms, &y = domains[domain].atoms;
  for (auto a = x.begin(), b = y.begin(); a != x.end() && b != y.end();) {
    if (*a == *b) return true;
    *a < *b ? ++a : ++b;
  }
  return false;
}

PlanGraph build_plan_graph(const GraphData &graph, const LowerOptions &options) {
  return PlanGraphBuilder(graph, options).build();
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
