// The interface of this room: kernels -> LLVM IR -> PTX, each kernel in a context of its own.
#include "codegen/codegen.h"

#include "codegen/diagnostics.h"
#include "codegen/emit.h"
#include "codegen/hooks.h"
#include "codegen/ptx.h"

#include "llvm/Support/raw_ostream.h"

namespace fuse {

namespace {

void emit_module(const std::vector<const Kernel *> &kernels, const Target &target,
                 llvm::Module &module) {
  prepare_ptx_module(module, target);
  for (const Kernel *kernel : kernels) emit_kernel(*kernel, target, module);
  verify_if_asked(module, "emit");
  optimize_for_ptx(module, target);
  verify_if_asked(module, "optimize");
}

}  // namespace

std::string emit_llvm(const Kernel &kernel, const Target &target) {
  initialize_llvm();
  llvm::LLVMContext context;
  Diagnostics diagnostics(context);
  llvm::Module module(kernel.name, context);
  emit_module({&kernel}, target, module);
  expand_hooks(module);
  diagnostics.check("emit_llvm");
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

std::string emit_ptx(const std::vector<const Kernel *> &kernels, const Target &target) {
  initialize_llvm();
  llvm::LLVMContext context;
  Diagnostics diagnostics(context);
  llvm::Module module("fuse", context);
  emit_module(kernels, target, module);
  expand_hooks(module);
  std::string ptx = module_to_ptx(module, target);
  diagnostics.check("emit_ptx");
  return ptx;
}

}  // namespace fuse
