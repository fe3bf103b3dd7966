// The table of instances: a parameter by value, read in parameter space at an index that is the
// same for the whole block.
#include "codegen/emitter.h"

namespace fuse {

llvm::Value *Emitter::load_entry(llvm::Value *table, const TableColumn &column,
                                 llvm::Value *instance, llvm::Type *type) {
  llvm::Value *start = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), table, column.offset);
  llvm::Value *at = b_.CreateZExt(instance, b_.getInt64Ty());
  llvm::Type *stride = llvm::ArrayType::get(b_.getInt8Ty(), column.size);
  llvm::LoadInst *entry =
      b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(stride, start, at), llvm::Align(column.size));
  entry->setMetadata(llvm::LLVMContext::MD_invariant_load,
                     llvm::MDNode::get(module_.getContext(), {}));
  return entry;
}

/// Instances with blocks of their own sizes: the last one that starts at the block or before, by
/// bisection. One without blocks starts where the next one does, and is never the last.
llvm::Value *Emitter::emit_instance_number(llvm::Value *table, const TableShape &shape) {
  auto count = static_cast<std::uint32_t>(kernel_.instances);
  if (shape.first.size == 0) return b_.CreateUDiv(block_, emit_count(clusters_of(kernel_)));
  llvm::Value *instance = b_.getInt32(0);
  while (count > 1) {
    std::uint32_t half = count / 2;
    llvm::Value *middle = b_.CreateAdd(instance, b_.getInt32(half), "", /*HasNUW=*/true);
    llvm::Value *first = load_entry(table, shape.first, middle, b_.getInt32Ty());
    instance = b_.CreateSelect(b_.CreateICmpULE(first, block_), middle, instance);
    count -= half;
  }
  return instance;
}

void Emitter::emit_instance() {
  TableShape shape = table_shape(kernel_);
  llvm::LLVMContext &context = module_.getContext();
  llvm::Argument *table = function_->getArg(static_cast<unsigned>(function_->arg_size() - 1));
  table->setName("instances");
  llvm::Type *bytes = llvm::ArrayType::get(b_.getInt8Ty(), shape.bytes);
  llvm::AttrBuilder attributes(context);
  attributes.addByValAttr(bytes).addAlignmentAttr(llvm::Align(kTableAlignment));
  attributes.addAttribute("nvvm.grid_constant");
  table->addAttrs(attributes);

  llvm::Value *instance = emit_instance_number(table, shape);
  for (BufferId b = 0; b < kernel_.buffers.size(); ++b) {
    const Buffer &buffer = kernel_.buffers[b];
    if (!buffer.each) continue;
    llvm::Type *type = buffer.role == BufferRole::Scalar ? memory_type_of(buffer.dtype, context)
                                                         : llvm::PointerType::get(context, 1);
    buffers_[b] = load_entry(table, shape.buffers[b], instance, type);
    buffers_[b]->setName(buffer.name);
  }
  for (std::size_t i = 0; i < kernel_.table.size(); ++i)
    symbols_[kernel_.table[i].name] = load_entry(table, shape.sizes[i], instance, b_.getInt64Ty());
  block_ = shape.first.size == 0
               ? b_.CreateURem(block_, emit_count(clusters_of(kernel_)))
               : b_.CreateSub(block_, load_entry(table, shape.first, instance, b_.getInt32Ty()));
}

}  // namespace fuse
