// Where tests run programs.
#pragma once

#include <fuse/compile.h>

#include <vector>

namespace fuse {

/// The host, and a GPU where there is one; FUSE_TEST_EXECUTOR=host or gpu chooses.
std::vector<Executor> executors();

}  // namespace fuse
