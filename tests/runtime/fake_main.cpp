// Points the process at the fake driver before anything asks for one. The disk cache is off, so
// that no test sees the code of an earlier run.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char **argv) {
  ::setenv("FUSE_LIBCUDA", FAKE_CUDA, 1);
  ::setenv("FUSE_CACHE_DIR", "", 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
