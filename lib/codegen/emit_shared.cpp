// Shared memory and barriers.
//
// Each use has a region of its own, except that all moves share one: every move begins with a
// barrier; so does every last_block, in which the regions of states before it are used again. So
// within straight-line code no region is written while others still read it; emit_for takes care of
// loops. ir/shared_memory.h tells what that takes.
#include "codegen/emitter.h"
#include "ir/format.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <algorithm>

namespace fuse {

llvm::Value *Emitter::allocate_shared(std::int64_t bytes, std::string_view purpose) {
  constexpr std::int64_t kAlignment = 16;
  shared_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (shared_bytes_ > kStaticShared)
    fail(ErrorCode::Unsupported, "kernel {} needs {} bytes of shared memory, more than {}",
         kernel_.name, shared_bytes_, kStaticShared);
  llvm::Type *type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<std::uint64_t>(bytes));
  std::string name = kernel_.name + "." + std::string(purpose);
  auto *region = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::PoisonValue::get(type), name, nullptr,
                                          llvm::GlobalValue::NotThreadLocal, 3);
  region->setAlignment(llvm::Align(kAlignment));
  return region;
}

/// For states, of a region that nobody reads any more where there is one.
llvm::Value *Emitter::state_region(std::int64_t bytes) {
  std::size_t region = state_regions_.take(bytes);
  if (region == states_.size()) states_.push_back(allocate_shared(bytes, "reduce"));
  return states_[region];
}

void Emitter::emit_barrier() {
  b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                     {b_.getInt32(0)});
  if (!loops_.empty()) ++loops_.back().barriers;
}

void Emitter::emit_cluster_arrive() {
  b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned,
                     llvm::ArrayRef<llvm::Value *>());
}

void Emitter::emit_cluster_wait() {
  b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned,
                     llvm::ArrayRef<llvm::Value *>());
}

void Emitter::emit_cluster_barrier() {
  emit_cluster_arrive();
  emit_cluster_wait();
  if (loops_.empty()) return;
  ++loops_.back().barriers;
  ++loops_.back().cluster_barriers;
}

/// Before the first access to another block's memory: all blocks arrived when they began.
void Emitter::emit_cluster_start() {
  if (awaits_cluster_) emit_cluster_wait();
  awaits_cluster_ = false;
}

}  // namespace fuse
