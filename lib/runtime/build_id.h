// Which build of the library runs: cached plans and code of another build are not used.
#pragma once

#include <string>

namespace fuse {

/// "fuse 0.1.0 build 3f.. llvm 22.1.8": version, the linker's build id (hexadecimal; none where the
/// linker wrote none) and the version of LLVM.
const std::string &library_build();

}  // namespace fuse
