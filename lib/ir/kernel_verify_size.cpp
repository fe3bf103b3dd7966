// Invariant 30: what a kernel unrolls to.
#include "ir/kernel_verify.h"

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
}

}  // namespace fuse
