// Memory that AddressSanitizer reports when it is touched; nothing in other builds.
//
// For files that see LLVM's headers: codegen/llvm.h defines the sanitizer's own names away.
#pragma once

#include <cstddef>

namespace fuse {

void poison(const void *memory, std::size_t bytes);
void unpoison(const void *memory, std::size_t bytes);

}  // namespace fuse
