// Moves from layout to layout through shared memory.
//
// All moves share one region, as large as the largest: each begins with a barrier, so no thread
// still reads what the last one left. Positions that are invalid are not written.
#include "codegen/emitter.h"
#include "ir/format.h"

namespace fuse {

llvm::Value *Emitter::move_region() {
  if (move_region_) return move_region_;
  move_region_ = allocate_shared(move_bytes(kernel_, map_), "move");
  return move_region_;
}

llvm::Value *Emitter::shared_element(llvm::Value *region, llvm::Type *type, const Offset &offset) {
  llvm::Value *pointer = region;
  if (offset.base) pointer = b_.CreateGEP(type, pointer, offset.base);
  return b_.CreateConstGEP1_64(type, pointer, static_cast<std::uint64_t>(offset.constant));
}

void Emitter::emit_move(const Stmt &stmt) {
  ValueId operand = stmt.operands[0], result = stmt.results[0];
  DType dtype = kernel_.values[operand].dtype;
  llvm::Value *region = move_region();
  emit_barrier();
  write_moved(stmt, region);
  emit_barrier();
  LayoutId from = layout_;
  layout_ = stmt.layout;
  SlotSpace space = slots_of(result);
  Values slots(space.size());
  llvm::Type *type = memory_type_of(dtype, module_.getContext());
  for (const Group &group :
       group_access({stmt.index, stmt.read_vector, kNone}, kernel_.values[result].dims)) {
    Values loaded =
        split_vector(b_, read_vector(shared_element(region, type, group.offset), type, group.size));
    for (int i = 0; i < group.size; ++i) {
      llvm::Value *value = loaded[static_cast<std::size_t>(i)];
      if (is_bool(dtype)) value = b_.CreateIsNotNull(value);
      slots[space.slot_at(advance(group.first, group.vec, i))] = value;
    }
  }
  define(result, std::move(slots));
  layout_ = from;
}

void Emitter::write_moved(const Stmt &stmt, llvm::Value *region) {
  ValueId operand = stmt.operands[0];
  DType dtype = kernel_.values[operand].dtype;
  llvm::Type *type = memory_type_of(dtype, module_.getContext());
  for (const Group &group :
       group_access({stmt.index, stmt.vector, kNone}, kernel_.values[operand].dims)) {
    llvm::Value *pointer = shared_element(region, type, group.offset);
    Values elements;
    for (int i = 0; i < group.size; ++i) {
      llvm::Value *value = value_at(operand, advance(group.first, group.vec, i));
      elements.push_back(is_bool(dtype) ? b_.CreateZExt(value, type) : value);
    }
    emit_if(b_, group.uniform, [&] {
      emit_whole_or_edge(
          group, [&] { write_vector(pointer, elements); },
          [&](std::size_t i) {
            write_vector(b_.CreateConstGEP1_64(type, pointer, i), {elements[i]});
          });
    });
  }
}

}  // namespace fuse
