// Demand-driven emission with an explicit stack: operands first, each value once.
#include "passes/schedule/body.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

bool is_reduce(const GraphData &g, NodeId id) { return info(g.node(id).op).kind == OpKind::Reduce; }

std::vector<DimId> merge(const std::vector<DimId> &a, const std::vector<DimId> &b) {
  std::vector<DimId> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

Index offset_of(const TensorRef &tensor, std::span<const Index> position) {
  if (!tensor.strided) return linearize(position, extents_of(tensor.shape));
  Index offset = 0;
  auto stride = [&](std::size_t axis) -> Index {
    if (tensor.has_rows && axis + 1 == position.size()) return 1;
    return Index::symbol(tensor.stride_prefix + ".stride" + std::to_string(axis));
  };
  for (std::size_t axis = 0; axis < position.size(); ++axis)
    offset = offset + position[axis] * stride(axis);
  return offset;
}

Stmt in_layout(LayoutId layout, std::vector<Stmt> body) {
  Stmt s;
  s.kind = StmtKind::In;
  s.layout = layout;
  s.body = std::move(body);
  return s;
}

bool BodyBuilder::Key::operator<(const Key &other) const {
  if (node != other.node) return node < other.node;
  if (guard != other.guard) return guard < other.guard;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto order = fuse::compare(at[i], other.at[i]);
    if (order != 0) return order < 0;
  }
  return false;
}

BodyBuilder::BodyBuilder(const GraphData &graph, const PlannedKernel &planned, const Domain &domain,
                         Kernel &kernel, const KernelTensors &tensors, const Leeway &leeway)
    : g_(graph),
      domain_(domain),
      kernel_(kernel),
      tensors_(tensors),
      leeway_(leeway),
      members_(planned.nodes.begin(), planned.nodes.end()) {
  for (NodeId id : planned.nodes)
    for (NodeId operand : graph.operands(id)) depth_[id] = std::max(depth_[id], depth(operand) + 1);
}

ValueId BodyBuilder::add_value(DType dtype, std::vector<DimId> dims) {
  auto id = static_cast<ValueId>(kernel_.values.size());
  kernel_.values.push_back({"v" + std::to_string(id), dtype, layout, std::move(dims)});
  return id;
}

bool BodyBuilder::is_looped(const std::vector<DimId> &dims) const {
  return std::any_of(dims.begin(), dims.end(), [&](DimId d) { return domain_.is_looped(d); });
}

bool BodyBuilder::runs_along_row(ValueId value) const {
  const std::vector<DimId> &dims = kernel_.values[value].dims;
  return std::any_of(dims.begin(), dims.end(),
                     [&](DimId d) { return domain_.roles[d] == DimRole::Row; });
}

std::vector<DimId> BodyBuilder::dims_of(const Index &index) const {
  std::vector<DimId> dims = index.dims();
  for (ValueId v : index.values()) dims = merge(dims, kernel_.values[v].dims);
  return dims;
}

std::vector<DimId> BodyBuilder::union_dims(const std::vector<ValueId> &values) const {
  std::vector<DimId> dims;
  for (ValueId v : values)
    if (v != kNone) dims = merge(dims, kernel_.values[v].dims);
  return dims;
}

void BodyBuilder::emit(Stmt stmt) {
  std::vector<DimId> dims = merge(union_dims(used_values(stmt)), stmt.index.dims());
  count_cheap_ops(stmt);
  list_of(dims).push_back(std::move(stmt));
}

std::vector<Stmt> &BodyBuilder::list_of(const std::vector<DimId> &dims) {
  return is_looped(dims) ? *inner : *outer;
}

ValueId BodyBuilder::compute(Op op, DType dtype, std::vector<ValueId> operands) {
  Stmt s;
  s.kind = StmtKind::Compute;
  s.op = op;
  ValueId result = add_value(dtype, union_dims(operands));
  s.operands = std::move(operands);
  s.results = {result};
  emit(std::move(s));
  return result;
}

ValueId BodyBuilder::emit_constant(Literal literal) {
  Stmt s;
  s.kind = StmtKind::Constant;
  s.literal = literal;
  s.results = {add_value(literal.dtype, {})};
  ValueId result = s.results[0];
  emit(std::move(s));
  return result;
}

ValueId BodyBuilder::index_value(const Index &index) {
  auto bounds = interval(index, domain_.ranges());
  bool narrow = bounds && bounds->lo >= INT32_MIN && bounds->hi <= INT32_MAX;
  Stmt s;
  s.kind = StmtKind::Index;
  s.index = index;
  s.results = {add_value(narrow ? DType::I32 : DType::I64, dims_of(index))};
  ValueId result = s.results[0];
  emit(std::move(s));
  return result;
}

ValueId BodyBuilder::compare_with_zero(Op op, const Index &index) {
  ValueId value = index_value(index);
  ValueId zero = emit_constant(int_literal(kernel_.values[value].dtype, 0));
  return compute(op, DType::Bool, {value, zero});
}

ValueId BodyBuilder::not_negative(const Index &index) {
  if (is_nonnegative(index, domain_.ranges())) return kNone;
  ValueId result = compare_with_zero(Op::Ge, index);
  guard_conditions_[result] = {index};
  return result;
}

ValueId BodyBuilder::is_zero(const Index &index) {
  if (index.is_constant(0)) return kNone;
  ValueId result = compare_with_zero(Op::Eq, index);
  guard_conditions_[result] = {index, Index(0) - index};
  return result;
}

ValueId BodyBuilder::both(ValueId a, ValueId b) {
  if (a == kNone) return b;
  if (b == kNone || a == b) return a;
  auto [entry, is_new] = conjunctions_.try_emplace({a, b}, kNone);
  if (!is_new) return entry->second;
  ValueId result = entry->second = compute(Op::And, DType::Bool, {a, b});
  auto left = guard_conditions_.find(a), right = guard_conditions_.find(b);
  if (left == guard_conditions_.end() || right == guard_conditions_.end()) return result;
  std::vector<Index> conditions = left->second;
  conditions.insert(conditions.end(), right->second.begin(), right->second.end());
  guard_conditions_[result] = std::move(conditions);
  return result;
}

std::optional<ValueId> BodyBuilder::find(const Key &key) const {
  auto it = memo_.find(key);
  if (it == memo_.end()) return std::nullopt;
  return it->second.value;
}

ValueId BodyBuilder::lower(NodeId node) {
  auto at = domain_.at.find(node);
  FUSE_CHECK(at != domain_.at.end(), "node {} has no place", node);
  return lower_at({node, kNone, at->second});
}

ValueId BodyBuilder::lower_at(const Key &root) {
  std::vector<Key> stack = {root};
  while (!stack.empty()) {
    Key key = stack.back();
    if (find(key)) {
      stack.pop_back();
      continue;
    }
    std::vector<Key> missing;
    for (Key &d : demands(key))
      if (!find(d)) missing.push_back(std::move(d));
    if (missing.empty()) {
      ValueId value = emit_node(key);
      memo_[key] = {value, is_looped(kernel_.values[value].dims)};
      stack.pop_back();
    }
    put_long_chains_first(missing);
    // Reversed: operand 0 is emitted first.
    stack.insert(stack.end(), missing.rbegin(), missing.rend());
  }
  return *find(root);
}

/// What a long chain of operations is joined with would wait for its end in a register: steps of a
/// scan would all be loaded before the first is taken.
void BodyBuilder::put_long_chains_first(std::vector<Key> &keys) const {
  constexpr int kLong = 32;
  std::stable_sort(keys.begin(), keys.end(), [&](const Key &a, const Key &b) {
    return depth(a.node) / kLong > depth(b.node) / kLong;
  });
}

BodyBuilder::Key BodyBuilder::operand_key(const Key &key, std::size_t i) {
  return {g_.operand(key.node, i), key.guard,
          operand_position(g_, key.node, i, key.at, domain_.ranges())};
}

std::vector<BodyBuilder::Key> BodyBuilder::demands(const Key &key) {
  const OpInfo &op = info(g_.node(key.node).op);
  if (!is_member(key.node) || op.kind == OpKind::Leaf || op.kind == OpKind::Reduce) return {};
  if (op.kind == OpKind::Random) return {seed_key(key)};
  std::vector<Key> keys;
  if (op.kind == OpKind::Scan) return scan_demands(key);
  if (g_.node(key.node).op == Op::Gather) {
    auto axis = static_cast<std::size_t>(g_.attr<AxesAttr>(key.node).axes[0]);
    NodeId index = g_.operand(key.node, 1);
    auto first = key.at.begin() + static_cast<std::ptrdiff_t>(axis);
    Position at(first, first + static_cast<std::ptrdiff_t>(g_.shape(index).size()));
    keys.push_back({index, key.guard, std::move(at)});
    if (!find(keys[0])) return keys;
    keys.push_back(gather_source(key));
    return keys;
  }
  for (std::size_t i = 0; i < g_.operands(key.node).size(); ++i) {
    Key k = operand_key(key, i);
    bool is_part =
        g_.node(key.node).op == Op::Concat || (g_.node(key.node).op == Op::Pad && i == 0);
    if (is_part) k.guard = both(key.guard, read_guard(key, i));
    keys.push_back(std::move(k));
  }
  return keys;
}

ValueId BodyBuilder::emit_node(const Key &key) {
  if (crossed_.count(key)) return emit_crossed(key);
  Op op = g_.node(key.node).op;
  if (op == Op::Constant) return emit_constant(g_.attr<Literal>(key.node));
  if (op == Op::Iota) return emit_iota(key);
  if (!is_member(key.node)) return emit_load(key);
  if (op == Op::RandomBits) return emit_random(key);
  if (is_reduce(g_, key.node)) return emit_reduced(key);
  if (info(op).kind == OpKind::Scan) return emit_scan(key);
  if (op == Op::Pad) return emit_pad(key);
  if (op == Op::Concat) return emit_concat(key);
  if (op == Op::Gather) return emit_gather(key);
  if (info(op).kind == OpKind::View) return *find(operand_key(key, 0));
  return emit_elementwise(key);
}

/// Offset of an element of the node in a tensor that may be a reshape of it.
Index BodyBuilder::offset_at(const TensorRef &tensor, NodeId node, const Position &at) const {
  if (tensor.shape == g_.shape(node)) return offset_of(tensor, at);
  Index linear = linearize(at, extents_of(g_.shape(node)));
  if (!tensor.strided) return linear;
  return offset_of(tensor, delinearize(linear, extents_of(tensor.shape), domain_.ranges()));
}

ValueId BodyBuilder::emit_load(const Key &key) {
  const TensorRef &tensor = tensors_.reads.at(key.node);
  Stmt s;
  s.kind = StmtKind::Load;
  s.buffer = tensor.buffer;
  s.index = offset_at(tensor, key.node, key.at);
  s.guard = key.guard;
  std::vector<DimId> dims = dims_of(s.index);
  if (key.guard != kNone) dims = merge(dims, kernel_.values[key.guard].dims);
  s.results = {add_value(g_.dtype(key.node), dims)};
  ValueId result = s.results[0];
  emit(std::move(s));
  return result;
}

ValueId BodyBuilder::emit_elementwise(const Key &key) {
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < g_.operands(key.node).size(); ++i)
    operands.push_back(*find(operand_key(key, i)));
  Op op = g_.node(key.node).op;
  bool approximate = leeway_.approximable[key.node];
  if (approximate && op == Op::Div && is_shared_divisor(operands[0], operands[1]))
    return emit_shared_division(operands[0], operands[1]);
  ValueId result = compute(op, g_.dtype(key.node), std::move(operands));
  Stmt &made = list_of(kernel_.values[result].dims).back();
  made.approximate = approximate;
  made.by_reciprocal = !approximate && has_reciprocal(made);
  return result;
}

/// Whether several elements of a thread have the divisor in common, or a row waits in registers,
/// which the call behind an ordinary division would spill.
bool BodyBuilder::has_reciprocal(const Stmt &stmt) const {
  const KernelValue &result = kernel_.values[stmt.results[0]];
  if (stmt.op != Op::Div || result.dtype != DType::F32) return false;
  bool is_shared = kernel_.values[stmt.operands[1]].dims.size() < result.dims.size();
  bool holds_rows = !domain_.with_role(DimRole::Row).empty();
  return is_shared || (holds_rows && !runs_along_row(stmt.results[0]));
}

bool BodyBuilder::is_shared_divisor(ValueId a, ValueId divisor) const {
  return runs_along_row(a) && !runs_along_row(divisor);
}

/// Scale p and reciprocal r of a divisor s, with a / s = (a * p) * r: p keeps s * p away from the
/// ends of the range, where the reciprocal would lose digits or overflow; kNone where s is.
std::pair<ValueId, ValueId> BodyBuilder::reciprocal_of(ValueId divisor) {
  auto known = reciprocals_.find(divisor);
  if (known != reciprocals_.end()) return known->second;
  auto literal = [&](double x) { return emit_constant(float_literal(DType::F32, x)); };
  // An exact division has a slow path in a function of its own, which costs registers.
  auto invert = [&](ValueId x) {
    ValueId result = compute(Op::Div, DType::F32, {literal(1), x});
    list_of(kernel_.values[result].dims).back().approximate = true;
    return result;
  };
  if (moderate_.count(divisor)) return reciprocals_[divisor] = {kNone, invert(divisor)};
  ValueId magnitude = compute(Op::Abs, DType::F32, {divisor});
  ValueId tiny = compute(Op::Lt, DType::Bool, {magnitude, literal(0x1p-120)});
  ValueId huge = compute(Op::Gt, DType::Bool, {magnitude, literal(0x1p120)});
  ValueId scale = compute(Op::Select, DType::F32, {huge, literal(0x1p-66), literal(1)});
  scale = compute(Op::Select, DType::F32, {tiny, literal(0x1p66), scale});
  ValueId scaled = compute(Op::Mul, DType::F32, {divisor, scale});
  return reciprocals_[divisor] = {scale, invert(scaled)};
}

/// A division by what a whole row shares: one reciprocal for the row.
ValueId BodyBuilder::emit_shared_division(ValueId a, ValueId divisor) {
  auto [scale, reciprocal] = reciprocal_of(divisor);
  if (scale != kNone) a = compute(Op::Mul, DType::F32, {a, scale});
  return compute(Op::Mul, DType::F32, {a, reciprocal});
}

ValueId BodyBuilder::emit_iota(const Key &key) {
  ValueId position = index_value(key.at[g_.attr<AxesAttr>(key.node).axes[0]]);
  DType type = g_.dtype(key.node);
  return kernel_.values[position].dtype == type ? position : compute(Op::Cast, type, {position});
}

/// Nothing is read, so a guard is none of its business.
ValueId BodyBuilder::emit_random(const Key &key) {
  Stmt s;
  s.kind = StmtKind::Random;
  s.operands = {*find(seed_key(key))};
  s.index = linearize(key.at, extents_of(g_.shape(key.node)));
  s.stream = g_.attr<RandomAttr>(key.node).stream;
  s.results = {add_value(DType::U32, merge(union_dims(s.operands), dims_of(s.index)))};
  ValueId result = s.results[0];
  emit(std::move(s));
  return result;
}

void BodyBuilder::store(NodeId node) {
  ValueId value = lower(node);
  // A literal keeps its compute type until it is stored.
  if (kernel_.values[value].dtype != g_.dtype(node))
    value = compute(Op::Cast, g_.dtype(node), {value});
  for (const TensorRef &tensor : tensors_.writes.at(node)) {
    Stmt s;
    s.kind = StmtKind::Store;
    s.buffer = tensor.buffer;
    s.index = offset_at(tensor, node, domain_.at.at(node));
    s.operands = {value};
    emit(std::move(s));
  }
}

void BodyBuilder::leave_layout() {
  memo_.clear();
  crossed_.clear();
  part_guards_.clear();
  conjunctions_.clear();
  reciprocals_.clear();
}

void BodyBuilder::leave_loop() {
  for (auto it = memo_.begin(); it != memo_.end();)
    it = it->second.in_loop ? memo_.erase(it) : std::next(it);
  auto in_loop = [&](const auto &entry) {  // what holds everywhere has no value
    return entry.second != kNone && is_looped(kernel_.values[entry.second].dims);
  };
  std::erase_if(part_guards_, in_loop);
  std::erase_if(conjunctions_, in_loop);
}

}  // namespace fuse
