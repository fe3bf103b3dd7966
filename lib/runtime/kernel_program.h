// A kernel by itself as an Executable: what tests and fuse-bench run kernel texts with.
#pragma once

#include "ir/program.h"

#include <fuse/compile.h>

namespace fuse {

/// The program of one kernel: its inputs and scalars, then its outputs, in parameter order. Extents
/// of arguments are polynomials in the symbols; a counter of a last_block starts as zero.
Program program_of(const Kernel &kernel);

/// Verifies and compiles the kernel for the executor. An argument that is bound to less than the
/// alignment which the kernel promises throws InvalidArgument.
Executable compile_kernel(const Kernel &kernel, const CompileOptions &options = {});

}  // namespace fuse
