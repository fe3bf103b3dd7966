// Statements that compute each slot by itself, in runs.
//
// A thread may hold many slots. Statement by statement, a chain would hold all of them at each of
// its steps; so a run of statements is emitted for a few slots at a time, down to the reductions
// that fold them. As many as these fold first (kFoldGroup): the order of reductions has decided.
#include "codegen/emitter.h"
#include "codegen/hooks.h"
#include "codegen/math.h"

#include <algorithm>

namespace fuse {

namespace {

/// Statements of a run: nothing there meets other threads or writes memory.
bool belongs_to_run(const Stmt &stmt) {
  return stays_in_thread(stmt) && stmt.kind != StmtKind::Store && stmt.kind != StmtKind::Reduce;
}

bool is_per_slot(const Stmt &stmt) {
  return stmt.kind == StmtKind::Index || stmt.kind == StmtKind::Random ||
         stmt.kind == StmtKind::Compute || stmt.kind == StmtKind::Keep;
}

bool uses_any(const Stmt &stmt, const std::vector<ValueId> &values) {
  auto is_one = [&](ValueId v) {
    return std::find(values.begin(), values.end(), v) != values.end();
  };
  std::vector<ValueId> of_index = stmt.index.values();
  return std::any_of(stmt.operands.begin(), stmt.operands.end(), is_one) ||
         std::any_of(of_index.begin(), of_index.end(), is_one) ||
         (stmt.guard != kNone && is_one(stmt.guard));
}

}  // namespace

std::size_t Emitter::end_of_local(const std::vector<Stmt> &body, std::size_t begin) {
  std::size_t end = begin;
  while (end < body.size() && belongs_to_run(body[end])) ++end;
  return end;
}

/// The dims of the per-slot statement with the most slots.
std::vector<DimId> Emitter::widest_dims(std::span<const Stmt> run) const {
  std::vector<DimId> widest;
  for (const Stmt &stmt : run) {
    if (!is_per_slot(stmt)) continue;
    const std::vector<DimId> &dims = kernel_.values[stmt.results[0]].dims;
    if (slots_of(dims).size() > slots_of(widest).size()) widest = dims;
  }
  return widest;
}

/// Emits what does not have the widest dims at once, the rest a group of slots at a time. What
/// needs a value of the rest, a gather for one, cannot come before it: the run is parted there.
void Emitter::emit_run(std::span<const Stmt> run, std::span<const Stmt> reductions) {
  std::vector<DimId> widest = widest_dims(run);
  if (slots_of(widest).size() <= kFoldGroup) {
    for (const Stmt &stmt : run) emit_stmt(stmt);
    return emit_reductions(reductions, {}, {});
  }
  std::vector<const Stmt *> grouped;
  std::vector<ValueId> pending;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Stmt &stmt = run[i];
    if (is_per_slot(stmt) && kernel_.values[stmt.results[0]].dims == widest) {
      grouped.push_back(&stmt);
      pending.push_back(stmt.results[0]);
    } else if (uses_any(stmt, pending)) {
      emit_reductions({}, grouped, widest);
      return emit_run(run.subspan(i), reductions);
    } else {
      emit_stmt(stmt);
    }
  }
  emit_reductions(reductions, grouped, widest);
}

void Emitter::emit_slots(const Stmt &stmt, std::span<const Assignment> slots, std::size_t first) {
  Values &all = values_[stmt.results[0]];
  if (first == 0) all.assign(slots_of(stmt.results[0]).size(), nullptr);
  Values values = stmt.kind == StmtKind::Index    ? indices(stmt, slots)
                  : stmt.kind == StmtKind::Random ? random_words(stmt, slots)
                  : stmt.kind == StmtKind::Keep   ? kept(stmt, slots)
                                                  : computed(stmt, slots);
  std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
}

void Emitter::emit_all_slots(const Stmt &stmt) {
  // The slots of a kept value are its operand's: it has the same dims.
  SlotSpace space = slots_of(stmt.results[0]);
  std::vector<Assignment> slots;
  for (std::size_t s = 0; s < space.size(); ++s) slots.push_back(space.decode(s));
  emit_slots(stmt, slots, 0);
}

llvm::Constant *Emitter::constant_of(DType dtype, std::uint64_t bits) {
  llvm::Type *type = type_of(dtype, module_.getContext());
  llvm::APInt pattern = llvm::APInt(64, bits).trunc(type->getPrimitiveSizeInBits());
  if (type->isIntegerTy()) return llvm::ConstantInt::get(type, pattern);
  return llvm::ConstantFP::get(type, llvm::APFloat(type->getFltSemantics(), pattern));
}

void Emitter::emit_constant(const Stmt &stmt) {
  define(stmt.results[0], {constant_of(stmt.literal.dtype, stmt.literal.bits)});
}

Values Emitter::indices(const Stmt &stmt, std::span<const Assignment> slots) {
  Index placed = map_.place(stmt.index, layout_);
  llvm::Type *type = type_of(kernel_.values[stmt.results[0]].dtype, module_.getContext());
  unsigned bits = type->getIntegerBitWidth() > 32 ? 64 : 32;
  Values values;
  for (const Assignment &slot : slots)
    values.push_back(b_.CreateTrunc(materialize(emit_offset(placed, slot, bits), bits), type));
  return values;
}

Values Emitter::computed(const Stmt &stmt, std::span<const Assignment> slots) {
  std::vector<Values> operands(stmt.operands.size());
  std::vector<DType> dtypes;
  for (ValueId operand : stmt.operands) dtypes.push_back(kernel_.values[operand].dtype);
  for (const Assignment &slot : slots)
    for (std::size_t i = 0; i < operands.size(); ++i)
      operands[i].push_back(value_at(stmt.operands[i], slot));
  if (stmt.by_reciprocal) return divided(operands[0], operands[1]);
  return ops_.emit_slots(stmt.op, kernel_.values[stmt.results[0]].dtype, operands, dtypes,
                         stmt.approximate);
}

/// Slots of one divisor together.
Values Emitter::divided(const Values &dividends, const Values &divisors) {
  Values quotients(dividends.size());
  for (std::size_t first = 0; first < dividends.size(); ++first) {
    if (quotients[first]) continue;
    std::vector<std::size_t> slots;
    for (std::size_t s = first; s < dividends.size(); ++s)
      if (divisors[s] == divisors[first]) slots.push_back(s);
    Values shared;
    for (std::size_t s : slots) shared.push_back(dividends[s]);
    shared = emit_divisions(b_, shared, divisors[first]);
    for (std::size_t i = 0; i < slots.size(); ++i) quotients[slots[i]] = shared[i];
  }
  return quotients;
}

namespace {

/// The value behind assembly that does nothing, so that it is not computed again.
llvm::Value *emit_opaque(Builder &b, llvm::Value *value) {
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  llvm::Type *type = value->getType();
  auto call = [&](Hook hook, llvm::Value *x) {
    return b.CreateCall(hook_function(module, hook), {x});
  };
  if (type->isFloatTy()) return call(Hook::opaque_f32, value);
  if (type->isDoubleTy()) return call(Hook::opaque_f64, value);
  if (type->isIntegerTy(64)) return call(Hook::opaque_i64, value);
  if (type->isIntegerTy(32)) return call(Hook::opaque_i32, value);
  if (type->getPrimitiveSizeInBits() == 16)
    return b.CreateBitCast(call(Hook::opaque_i16, b.CreateBitCast(value, b.getInt16Ty())), type);
  return b.CreateTrunc(call(Hook::opaque_i32, b.CreateZExt(value, b.getInt32Ty())), type);
}

/// Neighbours of 8 or 16 bits stay packed in words, as loads bring them.
void emit_opaque_slots(Builder &b, Values &slots) {
  std::size_t bits = slots[0]->getType()->getPrimitiveSizeInBits();
  std::size_t count = bits < 8 ? 1 : std::max<std::size_t>(1, 32 / bits);
  if (count == 1 || slots.size() % count != 0) count = 1;
  for (std::size_t s = 0; s < slots.size(); s += count) {
    auto at = slots.begin() + static_cast<std::ptrdiff_t>(s);
    Values word(at, at + static_cast<std::ptrdiff_t>(count));
    llvm::Value *joined = join_vector(b, word);
    llvm::Type *type = joined->getType();
    if (count > 1) joined = b.CreateBitCast(joined, b.getInt32Ty());
    joined = emit_opaque(b, joined);
    if (count > 1) joined = b.CreateBitCast(joined, type);
    Values kept = split_vector(b, joined);
    std::copy(kept.begin(), kept.end(), at);
  }
}

}  // namespace

Values Emitter::kept(const Stmt &stmt, std::span<const Assignment> slots) {
  Values values;
  for (const Assignment &slot : slots) values.push_back(value_at(stmt.operands[0], slot));
  if (stmt.residence == Residence::Shared)
    keep_shared(kernel_.values[stmt.operands[0]].dtype, values);
  else
    emit_opaque_slots(b_, values);
  return values;
}

/// Each thread writes its slots for itself; they become the addresses that value_at reads.
void Emitter::keep_shared(DType dtype, Values &slots) {
  std::int64_t per_slot = static_cast<std::int64_t>(size_of(dtype)) * kernel_.threads;
  auto count = static_cast<std::int64_t>(slots.size());
  llvm::Value *region = allocate_shared(count * per_slot, "keep");
  llvm::Type *element = memory_type_of(dtype, module_.getContext());
  llvm::Value *own = b_.CreateGEP(element, region, thread_);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    llvm::Value *pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), own, s * per_slot);
    b_.CreateStore(slots[s], pointer, /*isVolatile=*/true);
    slots[s] = pointer;
  }
}

}  // namespace fuse
