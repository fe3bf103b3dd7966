// Launching of compiled programs.
#include "ir/program.h"

namespace fuse {}  // namespace fuse
