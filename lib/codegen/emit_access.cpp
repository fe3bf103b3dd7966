// Loads and stores: which elements go together, and what must hold for them.
//
// All addresses and predicates of a statement are emitted first, then the accesses; neighbours
// under one condition share a branch. Of a vector that is valid in part, a load reads all where the
// buffer holds it and drops the rest; a store goes by element.
#include "codegen/emitter.h"
#include "ir/format.h"

#include <algorithm>

namespace fuse {

namespace {

/// End of the run of accesses under one condition.
std::size_t end_of_run(const Values &conditions, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < conditions.size() && conditions[end] == conditions[begin]) ++end;
  return end;
}

}  // namespace

llvm::Value *Emitter::conjunction(llvm::Value *a, llvm::Value *b) {
  if (!a || !b || a == b) return a ? a : b;
  auto [it, is_new] = scopes_.back().conjunctions.try_emplace({a, b}, nullptr);
  if (is_new) it->second = b_.CreateAnd(a, b);
  return it->second;
}

void Emitter::emit_group_validity(Group &group, std::uint32_t axis) {
  const AxisMap &map = map_.axis(layout_, axis);
  bool whole_or_none = group.size == 1 || map.vec != group.vec || is_uniform(map, group.size);
  if (whole_or_none) {
    group.uniform = conjunction(group.uniform, emit_valid(axis, group.first, 1));
    return;
  }
  group.whole = emit_valid(axis, group.first, group.size);
  group.axis = axis;
}

std::vector<Emitter::Group> Emitter::group_access(const Access &access,
                                                  const std::vector<DimId> &dims) {
  std::vector<std::uint32_t> axes;
  if (layout_ != kNone) axes = axes_of(kernel_.layouts[layout_], dims);
  SlotSpace space = slots_of(dims);
  Index placed = map_.place(access.index, layout_);
  DimId vec = kNone;
  if (access.vector > 1)
    vec = map_.axis(layout_, map_.vector_axis(layout_, access.index, access.vector, dims)).vec;
  std::vector<Group> groups;
  for (std::size_t s = 0; s < space.size(); ++s) {
    Group group;
    group.first = space.decode(s);
    group.vec = vec;
    group.size = access.vector;
    if (vec != kNone && *value_of(group.first, vec) % access.vector != 0) continue;
    group.offset = emit_offset(placed, group.first, bits_);
    for (std::uint32_t a : axes) emit_group_validity(group, a);
    if (access.guard != kNone)
      group.uniform = conjunction(group.uniform, value_at(access.guard, group.first));
    groups.push_back(std::move(group));
  }
  return groups;
}

void Emitter::emit_load(const Stmt &stmt) {
  ValueId result = stmt.results[0];
  const Buffer &buffer = kernel_.buffers[stmt.buffer];
  if (stmt.bulk) return emit_bulk_load(stmt);
  if (buffer.role == BufferRole::Scalar) return define(result, scalar_slots(stmt));
  SlotSpace space = slots_of(result);
  std::vector<Group> groups =
      group_access({stmt.index, stmt.vector, stmt.guard}, kernel_.values[result].dims);
  Values slots(space.size());
  Values loaded = stmt.unaligned ? load_unaligned(stmt, groups) : load_groups(stmt, groups);
  // Words stay packed until all loads are in flight: to take them apart is to wait for them.
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Values elements = split_vector(b_, loaded[g]);
    for (int i = 0; i < groups[g].size; ++i)
      slots[space.slot_at(advance(groups[g].first, groups[g].vec, i))] =
          elements[static_cast<std::size_t>(i)];
  }
  if (is_bool(buffer.dtype))
    for (llvm::Value *&value : slots) value = b_.CreateIsNotNull(value);
  define(result, std::move(slots));
}

/// What each group loads, as one vector; neighbours under one condition share a branch. Edges are
/// mended behind all loads: to look at one element is to wait for it.
Values Emitter::load_groups(const Stmt &stmt, const std::vector<Group> &groups) {
  std::vector<LoadGroup> loads;
  Values conditions, loaded;
  for (const Group &group : groups) {
    loads.push_back(load_group(stmt, group));
    conditions.push_back(conjunction(loads.back().touches, loads.back().is_inside));
  }
  for (std::size_t begin = 0, end; begin < loads.size(); begin = end) {
    end = end_of_run(conditions, begin);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = nullptr;
    emit_if(b_, conditions[begin], [&] {
      for (std::size_t g = begin; g < end; ++g)
        loaded.push_back(load_vector(stmt, loads[g].pointer, groups[g].size));
      inside = b_.GetInsertBlock();
    });
    for (std::size_t g = begin; g < end; ++g)
      if (conditions[begin])
        loaded[g] = emit_or(b_, loaded[g], inside, fill_of(stmt, groups[g].size), before);
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (loads[g].complete) loaded[g] = mend_edge(stmt, groups[g], loads[g], loaded[g]);
  return loaded;
}

/// A vector that is valid in part is loaded whole where the buffer holds all of it.
Emitter::LoadGroup Emitter::load_group(const Stmt &stmt, const Group &group) {
  const Buffer &buffer = kernel_.buffers[stmt.buffer];
  llvm::Value *pointer = address(stmt.buffer, group.offset), *touches = group.uniform;
  if (group.whole) touches = conjunction(touches, emit_touches(group));
  if (!group.whole) return {pointer, touches, nullptr, nullptr};
  bool reads_around = !buffer.strided && !buffer.coherent;
  return {pointer, touches, reads_around ? emit_inside(buffer, group) : group.whole, group.whole};
}

/// Whether any element of the vector is valid: start + size - 1 in [0, extent + size - 1).
llvm::Value *Emitter::emit_touches(const Group &group) {
  const AxisMap &axis = map_.axis(layout_, group.axis);
  llvm::Value *last = emit_position(axis, group.first, group.size - 1);
  llvm::Value *ahead = llvm::ConstantInt::getSigned(last->getType(), group.size - 1);
  return b_.CreateICmpULT(last, b_.CreateAdd(emit_extent(axis), ahead));
}

/// Whether the buffer holds all elements of the vector.
llvm::Value *Emitter::emit_inside(const Buffer &buffer, const Group &group) {
  llvm::Value *first = materialize(group.offset, bits_);
  llvm::Value *end =
      b_.CreateAdd(first, llvm::ConstantInt::getSigned(first->getType(), group.size));
  llvm::Value *size = emit_elements(buffer, bits_);
  return b_.CreateAnd(b_.CreateICmpSGE(first, b_.getIntN(bits_, 0)), b_.CreateICmpSLE(end, size));
}

/// Invalid elements of an edge give the fill.
llvm::Value *Emitter::mend_edge(const Stmt &stmt, const Group &group, const LoadGroup &load,
                                llvm::Value *loaded) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = nullptr;
  llvm::Value *mended = nullptr;
  emit_if(b_, conjunction(load.touches, b_.CreateNot(load.complete)), [&] {
    scopes_.emplace_back();
    Span span = emit_span(group);
    mended = load.is_inside ? mask_or_load_edge(stmt, group, load, span, loaded)
                            : mask_edge(stmt, span, loaded);
    scopes_.pop_back();
    inside = b_.GetInsertBlock();
  });
  llvm::PHINode *phi = b_.CreatePHI(loaded->getType(), 2);
  phi->addIncoming(mended, inside);
  phi->addIncoming(loaded, before);
  return phi;
}

llvm::Value *Emitter::mask_or_load_edge(const Stmt &stmt, const Group &group, const LoadGroup &load,
                                        const Span &span, llvm::Value *loaded) {
  llvm::Value *masked = nullptr, *by_element = nullptr;
  llvm::BasicBlock *mask = nullptr, *elements = nullptr;
  emit_if_else(
      b_, load.is_inside,
      [&] {
        masked = mask_edge(stmt, span, loaded);
        mask = b_.GetInsertBlock();
      },
      [&] {
        by_element = load_edge(stmt, group, span, load.pointer);
        elements = b_.GetInsertBlock();
      });
  llvm::PHINode *phi = b_.CreatePHI(loaded->getType(), 2);
  phi->addIncoming(masked, mask);
  phi->addIncoming(by_element, elements);
  return phi;
}

llvm::Value *Emitter::mask_edge(const Stmt &stmt, const Span &span, llvm::Value *loaded) {
  Values elements = split_vector(b_, loaded);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = b_.CreateSelect(in_span(span, i), elements[i], fill_of(stmt, 1));
  return join_vector(b_, elements);
}

llvm::Value *Emitter::in_span(const Span &span, std::size_t i) {
  llvm::Value *n = b_.getInt32(static_cast<std::uint32_t>(i));
  return b_.CreateAnd(b_.CreateICmpSGE(n, span.first), b_.CreateICmpSLE(n, span.last));
}

/// The value of a scalar parameter in every slot; 0 where the guard is false.
Values Emitter::scalar_slots(const Stmt &stmt) {
  llvm::Value *scalar = buffers_[stmt.buffer];
  if (is_bool(kernel_.buffers[stmt.buffer].dtype)) scalar = b_.CreateIsNotNull(scalar);
  SlotSpace space = slots_of(stmt.results[0]);
  Values slots(space.size(), scalar);
  if (stmt.guard == kNone) return slots;
  llvm::Value *zero = llvm::Constant::getNullValue(scalar->getType());
  for (std::size_t s = 0; s < slots.size(); ++s)
    slots[s] = b_.CreateSelect(value_at(stmt.guard, space.decode(s)), scalar, zero);
  return slots;
}

llvm::Value *emit_or(Builder &b, llvm::Value *value, llvm::BasicBlock *from,
                     llvm::Constant *constant, llvm::BasicBlock *otherwise) {
  llvm::PHINode *phi = b.CreatePHI(value->getType(), 2);
  phi->addIncoming(value, from);
  phi->addIncoming(constant, otherwise);
  return phi;
}

/// What a load of so many elements gives where it reads nothing.
llvm::Constant *Emitter::fill_of(const Stmt &load, int count) {
  DType dtype = kernel_.buffers[load.buffer].dtype;
  llvm::Constant *fill =
      is_bool(dtype) ? b_.getInt8(load.fill != 0) : constant_of(dtype, load.fill);
  if (count == 1) return fill;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(count)),
                                        fill);
}

/// first = clamp(-position, 0, size), last = clamp(extent - 1 - position, -1, size - 1).
Emitter::Span Emitter::emit_span(const Group &group) {
  if (!group.whole) return {b_.getInt32(0), b_.getInt32(static_cast<unsigned>(group.size - 1))};
  const AxisMap &axis = map_.axis(layout_, group.axis);
  unsigned bits = position_bits(axis);
  auto number = [&](std::int64_t n) { return llvm::ConstantInt::getSigned(b_.getIntNTy(bits), n); };
  auto clamp = [&](llvm::Value *x, std::int64_t lo, std::int64_t hi) {
    x = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, number(lo));
    x = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, number(hi));
    return b_.CreateTrunc(x, b_.getInt32Ty());
  };
  llvm::Value *position = emit_position(axis, group.first, 0);
  llvm::Value *last = b_.CreateSub(b_.CreateSub(emit_extent(axis), number(1)), position);
  return {clamp(b_.CreateNeg(position), 0, group.size), clamp(last, -1, group.size - 1)};
}

/// Elements of a vector that is valid in part. Invalid ones load the nearest valid one and drop it:
/// without a branch for each, all loads are in flight at once.
llvm::Value *Emitter::load_edge(const Stmt &stmt, const Group &group, const Span &span,
                                llvm::Value *pointer) {
  llvm::Type *element = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  Values values;
  for (int i = 0; i < group.size; ++i) {
    llvm::Value *at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.getInt32(i), span.first);
    at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, span.last);
    llvm::Value *offset = b_.CreateSExt(at, b_.getInt64Ty());
    values.push_back(load_vector(stmt, b_.CreateGEP(element, pointer, offset), 1));
  }
  return mask_edge(stmt, span, join_vector(b_, values));
}

void Emitter::emit_store(const Stmt &stmt) {
  std::vector<DimId> dims = dependence(kernel_, stmt);
  std::vector<Group> groups = group_access({stmt.index, stmt.vector, stmt.guard}, dims);
  std::vector<std::uint32_t> axes;
  if (layout_ != kNone) axes = axes_of(kernel_.layouts[layout_], dims);
  llvm::Value *first = emit_replica_guard(axes);
  bool is_boolean = is_bool(kernel_.buffers[stmt.buffer].dtype);
  Values pointers, conditions;
  std::vector<Values> elements(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    conditions.push_back(conjunction(first, groups[g].uniform));
    pointers.push_back(address(stmt.buffer, groups[g].offset));
    for (int i = 0; i < groups[g].size; ++i) {
      llvm::Value *value = value_at(stmt.operands[0], advance(groups[g].first, groups[g].vec, i));
      elements[g].push_back(is_boolean ? b_.CreateZExt(value, b_.getInt8Ty()) : value);
    }
  }
  for (std::size_t begin = 0, end; begin < groups.size(); begin = end) {
    end = end_of_run(conditions, begin);
    emit_if(b_, conditions[begin], [&] {
      for (std::size_t g = begin; g < end; ++g)
        store_group(stmt, groups[g], pointers[g], elements[g]);
    });
  }
}

void Emitter::store_group(const Stmt &stmt, const Group &group, llvm::Value *pointer,
                          const Values &elements) {
  emit_whole_or_edge(
      group, [&] { store_vector(stmt, pointer, elements); },
      [&](std::size_t i) {
        llvm::Type *type = elements[i]->getType();
        store_vector(stmt, b_.CreateConstGEP1_64(type, pointer, i), {elements[i]});
      });
}

/// Writes the vector where it is valid as a whole, else its valid elements.
void Emitter::emit_whole_or_edge(const Group &group, const std::function<void()> &whole,
                                 const std::function<void(std::size_t)> &one) {
  if (!group.whole) return whole();
  emit_if_else(b_, group.whole, whole, [&] {
    scopes_.emplace_back();
    Span span = emit_span(group);
    for (int i = 0; i < group.size; ++i) {
      auto n = static_cast<std::size_t>(i);
      emit_if(b_, in_span(span, n), [&] { one(n); });
    }
    scopes_.pop_back();
  });
}

/// Position 0 of every axis that the store does not depend on, and the first of all copies.
llvm::Value *Emitter::emit_replica_guard(const std::vector<std::uint32_t> &axes) {
  llvm::Value *guard = emit_first_copy(DigitKind::Thread, kernel_.threads, thread_);
  guard = conjunction(guard, emit_first_copy(DigitKind::Cta, kernel_.cluster, rank_));
  if (layout_ == kNone) return guard;
  const Layout &layout = kernel_.layouts[layout_];
  for (std::uint32_t a = 0; a < layout.axes.size(); ++a) {
    if (std::find(axes.begin(), axes.end(), a) != axes.end()) continue;
    for (const Digit &digit : layout.axes[a].digits)
      if (!is_shared_digit(layout, axes, digit)) guard = conjunction(guard, emit_first(digit));
  }
  return guard;
}

/// Whether a grid, cta or thread digit is 0; null for others.
llvm::Value *Emitter::emit_first(const Digit &digit) {
  bool is_machine = digit.kind == DigitKind::Grid || digit.kind == DigitKind::Cta ||
                    digit.kind == DigitKind::Thread;
  if (!is_machine || digit.extent.is_constant(1)) return nullptr;
  return b_.CreateICmpEQ(emit_digit(digit), b_.getInt32(0));
}

/// Whether the part of a thread index or cluster rank that no digit covers is 0.
llvm::Value *Emitter::emit_first_copy(DigitKind kind, std::int64_t size, llvm::Value *id) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;  // [stride, stride * extent)
  if (layout_ != kNone)
    for (const Axis &axis : kernel_.layouts[layout_].axes)
      for (const Digit &digit : axis.digits)
        if (digit.kind == kind && !digit.extent.is_constant(1))
          spans.emplace_back(*digit.stride.constant(),
                             *digit.stride.constant() * *digit.extent.constant());
  std::sort(spans.begin(), spans.end());
  spans.emplace_back(size, size);
  llvm::Value *guard = nullptr;
  std::int64_t covered = 1;
  for (const auto &[begin, end] : spans) {
    if (begin > covered) {
      auto below = static_cast<std::uint32_t>(covered);
      auto count = static_cast<std::uint32_t>((begin + covered - 1) / covered);
      llvm::Value *copy = b_.CreateUDiv(id, b_.getInt32(below));
      if (begin < size) copy = b_.CreateURem(copy, b_.getInt32(count));
      guard = conjunction(guard, b_.CreateICmpEQ(copy, b_.getInt32(0)));
    }
    covered = std::max(covered, end);
  }
  return guard;
}

}  // namespace fuse
