// Kernel -> LLVM IR -> PTX. The interface of this room: no LLVM types.
#pragma once

#include "ir/kernel.h"

#include <fuse/target.h>

#include <string>
#include <string_view>

namespace fuse {

/// LLVM IR of the kernel for the target, after optimisation.
std::string emit_llvm(const Kernel &kernel, const Target &target);

/// PTX of one module holding all the kernels.
std::string emit_ptx(const std::vector<const Kernel *> &kernels, const Target &target);

/// PTX of a module written as LLVM IR text, after optimisation.
std::string ptx_from_llvm(std::string_view ir, const Target &target);

/// Whether anything in this process has used LLVM so far.
bool has_used_llvm();

/// Whether kernels begin with a wait for the grids before them in their stream, so that they may be
/// launched while those still run (programmatic dependent launch).
inline bool awaits_grids(const Target &target) { return target.sm >= 90; }

/// Version of LLVM, part of cache keys: "22.1.8".
std::string llvm_version();

}  // namespace fuse
