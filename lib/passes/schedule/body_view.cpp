// Views that choose among values: pads, concats and gathers become guards and selects.
#include "passes/schedule/body.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

/// Where a part of a Pad or Concat lies: lo <= at[axis] < hi for every axis that is cut.
ValueId BodyBuilder::part_guard(const Key &key, std::size_t i) {
  auto [entry, is_new] = part_guards_.try_emplace({{key.node, kNone, key.at}, i}, kNone);
  if (!is_new) return entry->second;
  ValueId guard = kNone;
  for (const AxisBound &bound : part_bounds(g_, key.node, i)) {
    Index before = key.at[bound.axis] - bound.lo;
    if (bound.hi - bound.lo == Index(1)) {
      guard = both(guard, is_zero(before));
      continue;
    }
    guard = both(guard, not_negative(before));
    guard = both(guard, not_negative(bound.hi - Index(1) - key.at[bound.axis]));
  }
  return entry->second = guard;
}

/// The guard under which a part is read: none where it is in range whatever the position, since
/// axes of extent 1 have one. What depends on such a part is then the same for all guards.
ValueId BodyBuilder::read_guard(const Key &key, std::size_t i) {
  const Shape &part = g_.shape(g_.operand(key.node, i));
  for (const AxisBound &bound : part_bounds(g_, key.node, i))
    if (part[bound.axis] != Dim(1)) return part_guard(key, i);
  return kNone;
}

ValueId BodyBuilder::emit_pad(const Key &key) {
  ValueId guard = part_guard(key, 0);
  Key inside = operand_key(key, 0);
  inside.guard = both(key.guard, read_guard(key, 0));
  ValueId fill = *find(operand_key(key, 1));
  return chosen(g_.dtype(key.node), guard, *find(inside), fill);
}

ValueId BodyBuilder::chosen(DType type, ValueId guard, ValueId value, ValueId otherwise) {
  return guard == kNone ? value : compute(Op::Select, type, {guard, value, otherwise});
}

/// The parts in the order in which they were computed, each chosen right behind what computes it:
/// else all would wait in registers for the last.
ValueId BodyBuilder::emit_concat(const Key &key) {
  std::vector<std::pair<ValueId, std::size_t>> parts;
  for (std::size_t i = 0; i < g_.operands(key.node).size(); ++i) {
    Key part = operand_key(key, i);
    part.guard = both(key.guard, read_guard(key, i));
    parts.emplace_back(*find(part), i);
  }
  std::sort(parts.begin(), parts.end());
  ValueId result = parts[0].first;
  for (const auto &[value, i] : std::span(parts).subspan(1)) {
    std::size_t before_inner = inner->size(), before_outer = outer->size();
    ValueId guard = part_guard(key, i);
    result = chosen(g_.dtype(key.node), guard, value, result);
    if (before_outer == outer->size() || inner == outer) hoist(*inner, before_inner);
  }
  return result;
}

/// Moves the statements from `first` on up behind the last that they depend on, but over no fold
/// and no store.
void BodyBuilder::hoist(std::vector<Stmt> &body, std::size_t first) {
  auto begin = body.begin() + static_cast<std::ptrdiff_t>(first);
  std::set<ValueId> used;
  for (auto s = begin; s != body.end(); ++s) {
    std::vector<ValueId> positions = s->index.values();
    used.insert(s->operands.begin(), s->operands.end());
    used.insert(positions.begin(), positions.end());
  }
  auto to = begin;
  for (; to != body.begin(); --to) {
    const Stmt &s = *std::prev(to);
    bool defines = std::any_of(s.results.begin(), s.results.end(),
                               [&](ValueId v) { return used.contains(v); });
    bool folds = s.kind == StmtKind::Reduce || s.kind == StmtKind::Scan;
    if (defines || folds || s.kind == StmtKind::Store) break;
  }
  std::rotate(to, begin, body.end());
}

/// 0 <= position < extent, as one unsigned comparison.
ValueId BodyBuilder::in_range(ValueId position, const Index &extent) {
  ValueId wide = kernel_.values[position].dtype == DType::I64
                     ? position
                     : compute(Op::Cast, DType::I64, {position});
  ValueId bits = compute(Op::Bitcast, DType::U64, {wide});
  ValueId bound = compute(Op::Cast, DType::U64, {index_value(extent)});
  return compute(Op::Lt, DType::Bool, {bits, bound});
}

BodyBuilder::Key BodyBuilder::gather_source(const Key &key) {
  NodeId index = g_.operand(key.node, 1), source = g_.operand(key.node, 0);
  auto axis = static_cast<std::size_t>(g_.attr<AxesAttr>(key.node).axes[0]);
  auto rank = g_.shape(index).size();
  auto first = key.at.begin() + static_cast<std::ptrdiff_t>(axis);
  Position at_index(first, first + static_cast<std::ptrdiff_t>(rank));
  ValueId position = *find({index, key.guard, at_index});
  auto [guard, is_new] = part_guards_.try_emplace({{key.node, kNone, key.at}, 0}, kNone);
  if (is_new) guard->second = in_range(position, Index(g_.shape(source)[axis]));
  // An axis of extent 1 has one position, which is in range.
  bool is_single = g_.shape(source)[axis] == Dim(1);
  Position at(key.at.begin(), first);
  at.push_back(is_single ? Index(0) : Index::value(position));
  at.insert(at.end(), first + static_cast<std::ptrdiff_t>(rank), key.at.end());
  return {source, is_single ? key.guard : both(key.guard, guard->second), std::move(at)};
}

ValueId BodyBuilder::emit_gather(const Key &key) {
  Key source = gather_source(key);
  ValueId value = *find(source);
  ValueId guard = part_guards_.at({{key.node, kNone, key.at}, 0});
  // A guarded load is 0 by itself where the index is out of range.
  bool is_loaded = !is_member(source.node) && g_.node(source.node).op != Op::Constant &&
                   g_.node(source.node).op != Op::Iota;
  if (is_loaded && source.guard != key.guard) return value;
  DType type = g_.dtype(key.node);
  ValueId zero = emit_constant(int_literal(compute_type(type), 0));
  return compute(Op::Select, type, {guard, value, zero});
}

}  // namespace fuse
