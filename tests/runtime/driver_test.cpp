// Loading of the driver and its errors.
#include "runtime/driver.h"

#include "expect_error.h"
#include "fake_cuda.h"

using namespace fuse;
using ::testing::HasSubstr;

TEST(Driver, AMissingLibraryIsNamed) {
  std::string text = error_of(ErrorCode::NoDevice, [] { load_driver("/nowhere/libcuda.so.1"); });
  EXPECT_THAT(text, HasSubstr("cannot load the CUDA driver /nowhere/libcuda.so.1: "));
  EXPECT_THAT(text, HasSubstr("; set FUSE_LIBCUDA to its path, or compile for Executor::Host"));
}

TEST(Driver, AMissingSymbolIsNamed) {
  std::string text = error_of(ErrorCode::NoDevice, [] { load_driver(FAKE_CUDA_OLD); });
  EXPECT_THAT(text, HasSubstr("has no symbol cuLaunchKernelEx"));
  EXPECT_THAT(text, HasSubstr("CUDA 12.0 or later"));
}

TEST(Driver, AMachineWithoutGpusHasNoDevice) {
  fake_cuda().reset();
  fake_cuda().num_devices = 0;
  std::string text = error_of(ErrorCode::NoDevice, [] { load_driver(FAKE_CUDA); });
  EXPECT_THAT(text, HasSubstr("finds no GPU"));
  fake_cuda().reset();
}

TEST(Driver, AFailingInitIsToldWithItsText) {
  fake_cuda().reset();
  fake_cuda().failing_call = "cuInit";
  fake_cuda().failing_result = 803;
  std::string text = error_of(ErrorCode::NoDevice, [] { load_driver(FAKE_CUDA); });
  EXPECT_THAT(text, HasSubstr("cuInit of"));
  EXPECT_THAT(text, HasSubstr("the test asked for it"));
}

TEST(Driver, ErrorsCarryCallNameAndText) {
  EXPECT_EQ(error_of(ErrorCode::Driver, [] { check(static_cast<cuda::CUresult>(700), "cuCall"); }),
            "cuCall failed: CUDA_ERROR_FAKE (the test asked for it)");
  EXPECT_EQ(
      error_of(ErrorCode::OutOfMemory, [] { check(cuda::CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc"); }),
      "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (the test asked for it)");
  EXPECT_NO_THROW(check(cuda::CUDA_SUCCESS, "cuCall"));
}

TEST(Driver, TheProcessHasTheFakeOne) {
  ASSERT_TRUE(has_driver());
  EXPECT_EQ(driver().version, 13000);
}
