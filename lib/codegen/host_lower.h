// A GPU kernel as a host function: the module that goes to PTX, rewritten for the CPU.
#pragma once

#include "codegen/llvm.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fuse {

/// An array in a block's shared memory.
struct SharedArray {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct HostFunctionShape {
  std::string entry;  // symbol of the LoopEntry or the StartEntry
  bool suspends = false;
  std::vector<SharedArray> shared;
  std::uint64_t shared_bytes = 0;  // all arrays and the gaps behind them
};

/// Before: an optimised module with the one kernel, for NVPTX. After: triple and data layout are
/// the machine's, the kernel is gone, its entry (host_abi.h) and its body are there, with all
/// pointers in address space 0, no NVVM intrinsic and no 16-bit float operation. Throws
/// Error{Unsupported} on what the host cannot run.
HostFunctionShape lower_for_host(llvm::Module &module, const llvm::Triple &triple,
                                 const llvm::DataLayout &layout);

/// Where the body finds its state, and how it waits.
class HostBody {
 public:
  HostBody(llvm::Function &body, bool suspends);

  /// Fields of BlockContext and of the lane's request.
  llvm::Value *block_field(llvm::IRBuilder<> &b, std::size_t offset, llvm::Type *type);
  llvm::Value *request_field(llvm::IRBuilder<> &b, std::size_t offset);
  llvm::Value *thread() { return thread_; }

  /// Begins the coroutine at the builder's place and makes its end.
  void begin_coroutine(llvm::IRBuilder<> &b);

  /// Suspends before the instruction; on return the builder stands before it, after resumption.
  void suspend(llvm::IRBuilder<> &b, llvm::Instruction *at);

  /// Turns the returns of the body into ends of the thread.
  void finish_returns();

 private:
  void return_without_frame(llvm::IRBuilder<> &b, llvm::Value *frame);

  llvm::Function &body_;
  bool suspends_;
  llvm::Value *block_;
  llvm::Value *thread_;
  llvm::Value *call_ = nullptr;
  llvm::BasicBlock *end_ = nullptr;
};

/// Replaces NVVM intrinsics, hooks and hardware approximations. Numbers the collectives.
void lower_intrinsics_for_host(llvm::Function &function, HostBody &body);

/// Whether the function waits for other threads anywhere.
bool has_collectives(const llvm::Function &function);

}  // namespace fuse
