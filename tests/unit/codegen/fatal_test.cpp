// The last line of defence: a fatal error of LLVM becomes an exception, and compiling goes on.
#include "codegen/codegen.h"

#include <fuse/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

// NVPTX has no atomic of this vector and finds out only while it expands the instruction.
constexpr const char *kBroken = R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %y = atomicrmw fadd ptr addrspace(1) %p, <4 x float> splat (float 1.0) seq_cst
  ret void
}
)";

constexpr const char *kGood = R"(
define ptx_kernel void @k(ptr addrspace(1) %p) {
  store float 2.0, ptr addrspace(1) %p
  ret void
}
)";

TEST(Fatal, IsThrownAndTheNextCompileWorks) {
  fuse::Target target;
  std::string before = fuse::ptx_from_llvm(kGood, target);
  for (int i = 0; i < 3; ++i) {
    try {
      fuse::ptx_from_llvm(kBroken, target);
      ADD_FAILURE() << "compiled";
    } catch (const fuse::Error &error) {
      EXPECT_EQ(error.code(), fuse::ErrorCode::Internal);
    }
    EXPECT_EQ(fuse::ptx_from_llvm(kGood, target), before);
  }
}

}  // namespace
