// The road from a graph to a program.
#include "passes/passes.h"

namespace fuse {}  // namespace fuse
