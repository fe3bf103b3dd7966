// Compiled host kernels as bytes.
#pragma once

#include "codegen/host_jit.h"
#include "codegen/host_run.h"

#include <string>
#include <string_view>

namespace fuse {

/// A compiled kernel: its code and how it is launched.
struct CompiledHostKernel {
  HostObject object;
  HostGeometry geometry;
};

std::string to_bytes(const CompiledHostKernel &kernel);

/// Throws Error{Parse} for what to_bytes() did not write.
CompiledHostKernel from_bytes(std::string_view bytes);

}  // namespace fuse
