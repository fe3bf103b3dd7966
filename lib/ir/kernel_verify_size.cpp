// Invariants 30 and 34: what a kernel unrolls to, and the shared memory of a block.
#include "ir/kernel_verify.h"
#include "ir/shared_memory.h"

namespace fuse {

namespace {

/// Planning counts instructions and by estimate: kernels have a few times as much room.
constexpr std::int64_t kMaxEmitted = 4 * kMaxStatements;

}  // namespace

void verify_size(const Kernel &kernel) {
  std::int64_t emitted = num_emitted(kernel);
  require(emitted <= kMaxEmitted, kernel, "body",
          "it unrolls to {} statements, more than {}: take smaller reg and vec digits, or loops",
          emitted, kMaxEmitted);
  std::int64_t shared = static_shared_bytes(kernel);
  require(
      shared <= kStaticShared, kernel, "body",
      "threads tell one another {} bytes in shared memory, more than {}: take fewer of them, or "
      "smaller reg and vec digits",
      shared, kStaticShared);
}

}  // namespace fuse
