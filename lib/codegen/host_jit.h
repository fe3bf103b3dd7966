// A host module as machine code: compiled to an object, which is then linked into the process.
#pragma once

#include "codegen/host_abi.h"
#include "codegen/host_lower.h"

#include <memory>
#include <string>
#include <vector>

namespace fuse {

/// Relocatable machine code (an ELF file) and what the executor must know of it.
struct HostObject {
  HostFunctionShape shape;
  std::string code;
};

/// Lowers, optimises and compiles the module's one kernel. The module is optimised for NVPTX.
HostObject compile_for_host(std::unique_ptr<llvm::Module> &&module,
                            std::unique_ptr<llvm::LLVMContext> &&context);

/// CPU and features that objects are compiled for.
std::string host_cpu();

/// A kernel as machine code in this process.
class HostCode {
 public:
  explicit HostCode(HostObject object);
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
