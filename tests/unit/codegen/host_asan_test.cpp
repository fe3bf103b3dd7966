// AddressSanitizer sees what kernels on the host executor touch: a kernel that leaves its buffers
// or its shared arrays ends the process with a report.
#include "host_kernels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using fuse::HostKernel;
using fuse::Target;
using fuse::test::kBlockSum;
using fuse::test::per_thread;
using fuse::test::run;

const std::string kCopy = per_thread("i32", "i32", R"(
  %x = load i32, ptr addrspace(1) %p
  store i32 %x, ptr addrspace(1) %q
)");

TEST(HostAsanDeathTest, AccessesInBoundsAreSilent) {
  std::vector<std::int32_t> in(100, 7), out(100);
  run(HostKernel(kCopy, Target(), 128, 1), in.data(), out.data(), 100, 1);
  EXPECT_EQ(out, in);
}

TEST(HostAsanDeathTest, ReadsPastABufferAreReported) {
  HostKernel kernel(kCopy, Target(), 128, 1);
  std::vector<std::int32_t> in(99), out(100);
  EXPECT_DEATH(run(kernel, in.data(), out.data(), 100, 1), "heap-buffer-overflow");
}

TEST(HostAsanDeathTest, WritesPastABufferAreReported) {
  HostKernel kernel(kCopy, Target(), 128, 1);
  std::vector<std::int32_t> in(100), out(99);
  EXPECT_DEATH(run(kernel, in.data(), out.data(), 100, 1), "heap-buffer-overflow");
}

TEST(HostAsanDeathTest, WritesPastASharedArrayAreReported) {
  std::string ir = kBlockSum;
  ir.replace(ir.find("global [8 x float]"), 18, "global [7 x float]");
  HostKernel kernel(ir, Target(), 256, 1);
  std::vector<float> in(256), out(1);
  EXPECT_DEATH(run(kernel, in.data(), out.data(), 0, 1), "use-after-poison");
}

}  // namespace
