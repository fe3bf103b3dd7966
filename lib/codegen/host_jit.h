// A host module as machine code.
#pragma once

#include "codegen/host_abi.h"
#include "codegen/host_lower.h"

#include <memory>
#include <string>
#include <vector>

namespace fuse {

/// A kernel as machine code and what the executor must know of it.
class HostCode {
 public:
  /// Lowers, optimises and links the module's one kernel. The module is optimised for NVPTX.
  HostCode(std::unique_ptr<llvm::Module> &&module, std::unique_ptr<llvm::LLVMContext> &&context);
  ~HostCode();

  const HostFunctionShape &shape() const { return shape_; }
  LoopEntry loop() const { return reinterpret_cast<LoopEntry>(entry_); }
  StartEntry start() const { return reinterpret_cast<StartEntry>(entry_); }

 private:
  struct Linker;
  std::unique_ptr<Linker> linker_;
  HostFunctionShape shape_;
  void *entry_ = nullptr;
};

}  // namespace fuse
