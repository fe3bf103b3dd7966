// Addresses, and the instructions that touch global memory.
//
// A vector is one access aligned to its size. A cache policy other than the default is a hook
// where one exists for that size; elsewhere the hint is dropped.
#include "codegen/emitter.h"
#include "codegen/hooks.h"

#include <optional>

namespace fuse {

namespace {

/// The hook of an access of 4, 8 or 16 bytes, given the one of 4.
std::optional<Hook> sized(Hook four, std::size_t bytes) {
  auto first = static_cast<std::uint8_t>(four);
  if (bytes == 4) return four;
  if (bytes == 8) return static_cast<Hook>(first + 1);
  if (bytes == 16) return static_cast<Hook>(first + 2);
  return std::nullopt;
}

std::optional<Hook> load_hook(Cache cache, std::size_t bytes) {
  switch (cache) {
    case Cache::Default: return std::nullopt;
    case Cache::Streaming: return sized(Hook::load_streaming_4, bytes);
    case Cache::EvictLast: return sized(Hook::load_evict_last_4, bytes);
    case Cache::NoAllocate: return sized(Hook::load_no_allocate_4, bytes);
  }
  return std::nullopt;
}

std::optional<Hook> store_hook(Cache cache, std::size_t bytes) {
  switch (cache) {
    case Cache::Default: return std::nullopt;
    case Cache::Streaming: return sized(Hook::store_streaming_4, bytes);
    case Cache::EvictLast: return sized(Hook::store_evict_last_4, bytes);
    case Cache::NoAllocate: return sized(Hook::store_no_allocate_4, bytes);
  }
  return std::nullopt;
}

/// Nobody writes it while the kernel runs: what `noalias` says of a parameter.
void mark_invariant(llvm::Value *loaded) {
  auto *load = llvm::cast<llvm::LoadInst>(loaded);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
}

/// Of buffers whose address comes from a table, which says nothing of them.
bool is_read_only(const Buffer &buffer) {
  return buffer.each && buffer.role == BufferRole::Input && !buffer.coherent;
}

llvm::Value *load_words(Builder &b, Hook hook, llvm::Value *pointer, std::size_t words) {
  llvm::Module &module = *b.GetInsertBlock()->getModule();
  llvm::Value *loaded = b.CreateCall(hook_function(module, hook), {pointer});
  if (words == 1) return loaded;
  auto *type = llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(words));
  llvm::Value *vector = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < words; ++i)
    vector = b.CreateInsertElement(vector, b.CreateExtractValue(loaded, i), i);
  return vector;
}

}  // namespace

llvm::Value *Emitter::address(BufferId buffer, const Offset &offset) {
  llvm::Type *element = memory_type_of(kernel_.buffers[buffer].dtype, module_.getContext());
  llvm::Value *pointer = buffers_[buffer];
  if (offset.base)
    pointer = b_.CreateGEP(element, pointer, b_.CreateSExt(offset.base, b_.getInt64Ty()));
  if (offset.constant == 0) return pointer;
  llvm::Value *constant = llvm::ConstantInt::getSigned(b_.getInt64Ty(), offset.constant);
  return b_.CreateGEP(element, pointer, constant);
}

llvm::Value *join_vector(Builder &b, const Values &elements) {
  auto count = static_cast<unsigned>(elements.size());
  if (count == 1) return elements[0];
  llvm::Value *joined =
      llvm::PoisonValue::get(llvm::FixedVectorType::get(elements[0]->getType(), count));
  for (unsigned i = 0; i < count; ++i) joined = b.CreateInsertElement(joined, elements[i], i);
  return joined;
}

Values split_vector(Builder &b, llvm::Value *joined) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(joined->getType());
  if (!vector) return {joined};
  Values elements;
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    elements.push_back(b.CreateExtractElement(joined, i));
  return elements;
}

namespace {

llvm::Type *vector_of(llvm::Type *element, std::size_t count) {
  if (count == 1) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
}

llvm::Align alignment_of(llvm::Type *type) {
  return llvm::Align(type->getPrimitiveSizeInBits() / 8);
}

}  // namespace

llvm::Value *Emitter::read_vector(llvm::Value *pointer, llvm::Type *element, int count) {
  llvm::Type *type = vector_of(element, static_cast<std::size_t>(count));
  return b_.CreateAlignedLoad(type, pointer, alignment_of(type));
}

void Emitter::write_vector(llvm::Value *pointer, const Values &elements) {
  llvm::Value *joined = join_vector(b_, elements);
  b_.CreateAlignedStore(joined, pointer, alignment_of(joined->getType()));
}

llvm::Value *Emitter::load_vector(const Stmt &stmt, llvm::Value *pointer, int count) {
  const Buffer &buffer = kernel_.buffers[stmt.buffer];
  llvm::Type *element = memory_type_of(buffer.dtype, module_.getContext());
  std::size_t size = static_cast<std::size_t>(count) * size_of(buffer.dtype);
  std::optional<Hook> hook = load_hook(stmt.cache, size);
  if (!hook) {
    llvm::Value *loaded = read_vector(pointer, element, count);
    if (is_read_only(buffer)) mark_invariant(loaded);
    return loaded;
  }
  llvm::Type *type = vector_of(element, static_cast<std::size_t>(count));
  return b_.CreateBitCast(load_words(b_, *hook, pointer, size / 4), type);
}

/// A few words at once, aligned to their number, with no cache policy.
llvm::Value *Emitter::read_words(const Stmt &stmt, llvm::Value *pointer, int words) {
  llvm::Value *loaded = read_vector(pointer, b_.getInt32Ty(), words);
  if (is_read_only(kernel_.buffers[stmt.buffer])) mark_invariant(loaded);
  return loaded;
}

/// Elements of a buffer. Extents are bounded one by one: the product of all bounds may be no
/// number.
llvm::Value *Emitter::emit_elements(const Buffer &buffer, unsigned bits) {
  llvm::Value *elements = b_.getIntN(bits, 1);
  for (const Index &extent : buffer.shape)
    elements = b_.CreateMul(elements, materialize(emit_offset(extent, {}, bits), bits));
  return elements;
}

void Emitter::store_vector(const Stmt &stmt, llvm::Value *pointer, const Values &elements) {
  std::size_t size = elements.size() * size_of(kernel_.buffers[stmt.buffer].dtype);
  std::optional<Hook> hook = store_hook(stmt.cache, size);
  if (!hook) return write_vector(pointer, elements);
  llvm::Value *words =
      b_.CreateBitCast(join_vector(b_, elements), vector_of(b_.getInt32Ty(), size / 4));
  Values arguments = {pointer};
  for (llvm::Value *word : split_vector(b_, words)) arguments.push_back(word);
  b_.CreateCall(hook_function(module_, *hook), arguments);
}

}  // namespace fuse
