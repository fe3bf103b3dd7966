// Views that choose among values: pads, concats and gathers become guards and selects.
#include "passes/schedule/body.h"

#include "ir/float_bits.h"
#include "ir/op.h"

namespace fuse {

/// Where a part of a Pad or Concat lies: lo <= at[axis] < hi for every axis that is cut.
ValueId BodyBuilder::part_guard(const Key &key, std::size_t i) {
  auto [entry, is_new] = part_guards_.try_emplace({{key.node, kNone, key.at}, i}, kNone);
  if (!is_new) return entry->second;
  ValueId guard = kNone;
  for (const AxisBound &bound : part_bounds(g_, key.node, i)) {
    const Index &at = key.at[bound.axis];
    guard = both(guard, not_negative(at - bound.lo));
    guard = both(guard, not_negative(bound.hi - Index(1) - at));
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
  return compute(Op::Select, g_.dtype(key.node), {guard, *find(inside), fill});
}

ValueId BodyBuilder::emit_concat(const Key &key) {
  ValueId result = kNone;
  for (std::size_t i = 0; i < g_.operands(key.node).size(); ++i) {
    Key part = operand_key(key, i);
    ValueId guard = part_guard(key, i);
    part.guard = both(key.guard, read_guard(key, i));
    ValueId value = *find(part);
    result =
        result == kNone ? value : compute(Op::Select, g_.dtype(key.node), {guard, value, result});
  }
  return result;
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
  if (!is_member(source.node) && g_.node(source.node).op != Op::Constant &&
      g_.node(source.node).op != Op::Iota && source.guard != key.guard)
    return value;
  DType type = g_.dtype(key.node);
  ValueId zero = emit_constant(int_literal(compute_type(type), 0));
  return compute(Op::Select, type, {guard, value, zero});
}

}  // namespace fuse
