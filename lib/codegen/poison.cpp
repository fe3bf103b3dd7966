// The only file that calls AddressSanitizer's interface; it must not include LLVM's headers.
#include "codegen/poison.h"

#ifdef FUSE_HOST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace fuse {

#ifdef FUSE_HOST_ASAN
void poison(const void *memory, std::size_t bytes) { __asan_poison_memory_region(memory, bytes); }
void unpoison(const void *memory, std::size_t bytes) {
  __asan_unpoison_memory_region(memory, bytes);
}
#else
void poison(const void *, std::size_t) {}
void unpoison(const void *, std::size_t) {}
#endif

}  // namespace fuse
