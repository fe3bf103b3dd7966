// Version of the LLVM that is linked.
#include "codegen/llvm.h"

#include "codegen/codegen.h"

namespace fuse {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace fuse
