// Points the process at the fake driver before anything asks for one.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char **argv) {
  ::setenv("FUSE_LIBCUDA", FAKE_CUDA, 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
