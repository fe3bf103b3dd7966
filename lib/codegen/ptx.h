// LLVM IR -> PTX text.
#pragma once

#include "codegen/llvm.h"

#include <fuse/target.h>

#include <string>

namespace llvm {
class TargetMachine;
}

namespace fuse {

/// The machine for this thread and target: made once, then reused.
llvm::TargetMachine &ptx_machine(const Target &target);

/// Names of the machine as LLVM writes them: "sm_90a" and "+ptx83".
std::string ptx_cpu(const Target &target);
std::string ptx_features(const Target &target);

/// Gives an empty module the triple and the data layout of the target.
void prepare_ptx_module(llvm::Module &module, const Target &target);

/// The short pipeline that leaves the rest to code generation.
void optimize_for_ptx(llvm::Module &module, const Target &target);

/// PTX of an optimised module. Throws Error{Internal} where LLVM cannot select something.
std::string module_to_ptx(llvm::Module &module, const Target &target);

}  // namespace fuse
