// Kernel -> llvm::Function.
#pragma once

#include "codegen/llvm.h"
#include "ir/kernel.h"

#include <fuse/target.h>

namespace fuse {

/// Transcribes a verified kernel into a function of the module: a ptx_kernel named
/// Kernel::name that takes the buffers, then an i64 for each symbol. The module has the target's
/// data layout. Throws Error{Unsupported} naming an operation and dtype that cannot be emitted.
llvm::Function *emit_kernel(const Kernel &kernel, const Target &target, llvm::Module &module);

}  // namespace fuse
