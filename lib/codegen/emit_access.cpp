// Loads and stores: which elements go together, and what must hold for them.
//
// All addresses and predicates of a statement are emitted first, then the accesses; neighbours
// under one condition share a branch. A vector that is valid in part goes element by element, in a
// branch of its own.
#include "codegen/emitter.h"
#include "ir/format.h"

#include <algorithm>

namespace fuse {

namespace {

std::vector<DimId> merge(std::vector<DimId> a, const std::vector<DimId> &b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

/// End of the run of groups under one condition.
template <class Groups>
std::size_t end_of_run(const Groups &groups, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < groups.size() && groups[end].uniform == groups[begin].uniform) ++end;
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
  // Vectors that need no edge first: nothing waits before they are all in flight.
  std::stable_partition(groups.begin(), groups.end(), [](const Group &g) { return !g.whole; });
  Values slots(space.size());
  Values loaded = load_groups(stmt, groups);
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

/// What each group loads, as one vector; neighbours under one condition share a branch.
Values Emitter::load_groups(const Stmt &stmt, const std::vector<Group> &groups) {
  Values pointers, loaded;
  for (const Group &group : groups) pointers.push_back(address(stmt.buffer, group.offset));
  for (std::size_t begin = 0, end; begin < groups.size(); begin = end) {
    end = end_of_run(groups, begin);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = nullptr;
    emit_if(b_, groups[begin].uniform, [&] {
      for (std::size_t g = begin; g < end; ++g)
        loaded.push_back(load_group(stmt, groups[g], pointers[g]));
      inside = b_.GetInsertBlock();
    });
    for (std::size_t g = begin; g < end; ++g)
      if (groups[g].uniform)
        loaded[g] = emit_or(b_, loaded[g], inside, fill_of(stmt, groups[g].size), before);
  }
  return loaded;
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

llvm::Value *Emitter::load_group(const Stmt &stmt, const Group &group, llvm::Value *pointer) {
  if (!group.whole) return load_vector(stmt, pointer, group.size);
  llvm::Value *fast = nullptr, *slow = nullptr;
  llvm::BasicBlock *whole = nullptr, *edge = nullptr;
  emit_if_else(
      b_, group.whole,
      [&] {
        fast = load_vector(stmt, pointer, group.size);
        whole = b_.GetInsertBlock();
      },
      [&] {
        slow = load_edge(stmt, group, pointer);
        edge = b_.GetInsertBlock();
      });
  llvm::PHINode *phi = b_.CreatePHI(fast->getType(), 2);
  phi->addIncoming(fast, whole);
  phi->addIncoming(slow, edge);
  return phi;
}

/// first = clamp(-position, 0, size), last = clamp(extent - 1 - position, -1, size - 1).
Emitter::Span Emitter::emit_span(const Group &group) {
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
llvm::Value *Emitter::load_edge(const Stmt &stmt, const Group &group, llvm::Value *pointer) {
  scopes_.emplace_back();
  llvm::Type *element = memory_type_of(kernel_.buffers[stmt.buffer].dtype, module_.getContext());
  Span span = emit_span(group);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = nullptr;
  llvm::Value *joined = nullptr;
  emit_if(b_, b_.CreateICmpSLE(span.first, span.last), [&] {
    Values nearest, values;
    for (int i = 0; i < group.size; ++i) {
      llvm::Value *at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.getInt32(i), span.first);
      at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, span.last);
      llvm::Value *offset = b_.CreateSExt(at, b_.getInt64Ty());
      values.push_back(load_vector(stmt, b_.CreateGEP(element, pointer, offset), 1));
      nearest.push_back(at);
    }
    for (int i = 0; i < group.size; ++i) {
      auto n = static_cast<std::size_t>(i);
      llvm::Value *valid = b_.CreateICmpEQ(nearest[n], b_.getInt32(static_cast<unsigned>(i)));
      values[n] = b_.CreateSelect(valid, values[n], fill_of(stmt, 1));
    }
    joined = join_vector(b_, values);
    inside = b_.GetInsertBlock();
  });
  scopes_.pop_back();
  return emit_or(b_, joined, inside, fill_of(stmt, group.size), before);
}

void Emitter::emit_store(const Stmt &stmt) {
  std::vector<DimId> dims = merge(kernel_.values[stmt.operands[0]].dims, stmt.index.dims());
  for (ValueId v : stmt.index.values()) dims = merge(dims, kernel_.values[v].dims);
  if (stmt.guard != kNone) dims = merge(dims, kernel_.values[stmt.guard].dims);
  std::vector<Group> groups = group_access({stmt.index, stmt.vector, stmt.guard}, dims);
  std::vector<std::uint32_t> axes;
  if (layout_ != kNone) axes = axes_of(kernel_.layouts[layout_], dims);
  llvm::Value *first = emit_replica_guard(axes);
  bool is_boolean = is_bool(kernel_.buffers[stmt.buffer].dtype);
  Values pointers;
  std::vector<Values> elements(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].uniform = conjunction(first, groups[g].uniform);
    pointers.push_back(address(stmt.buffer, groups[g].offset));
    for (int i = 0; i < groups[g].size; ++i) {
      llvm::Value *value = value_at(stmt.operands[0], advance(groups[g].first, groups[g].vec, i));
      elements[g].push_back(is_boolean ? b_.CreateZExt(value, b_.getInt8Ty()) : value);
    }
  }
  for (std::size_t begin = 0, end; begin < groups.size(); begin = end) {
    end = end_of_run(groups, begin);
    emit_if(b_, groups[begin].uniform, [&] {
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
      llvm::Value *n = b_.getInt32(static_cast<unsigned>(i));
      llvm::Value *valid =
          b_.CreateAnd(b_.CreateICmpSGE(n, span.first), b_.CreateICmpSLE(n, span.last));
      emit_if(b_, valid, [&] { one(static_cast<std::size_t>(i)); });
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
