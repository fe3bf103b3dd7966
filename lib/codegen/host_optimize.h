// The pipeline between the lowering of a host module and its machine code.
#pragma once

#include "codegen/llvm.h"

namespace llvm {
class TargetMachine;
}

namespace fuse {

/// Before: lower_for_host's result. After: no coroutine intrinsics, the entry and what it calls.
void optimize_for_host(llvm::Module &module, llvm::TargetMachine &machine, bool suspends);

}  // namespace fuse
