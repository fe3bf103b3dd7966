// Device memory in a context that is given, for buffers and workspaces.
#pragma once

#include "runtime/driver_types.h"

#include <fuse/buffer.h>

#include <memory>

namespace fuse {

/// Memory of the context, freed with the last copy of the pointer in whatever state the driver is
/// then. May be called while a stream is captured. Throws Error{OutOfMemory}.
std::shared_ptr<void> allocate_in(cuda::CUcontext context, std::size_t bytes,
                                  const Allocator &allocator);

}  // namespace fuse
