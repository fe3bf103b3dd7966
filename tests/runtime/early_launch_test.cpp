// Launches of kernels before the end of those in front of them.
#include "expect_error.h"
#include "fake_cuda.h"
#include "programs.h"

#include <vector>

using namespace fuse;

namespace {

std::vector<bool> early;

class EarlyLaunch : public ::testing::Test {
 protected:
  EarlyLaunch() {
    fake_cuda().reset();
    early.clear();
    fake_cuda().on_launch = [](const FakeLaunch &launch) { early.push_back(launch.is_early); };
  }
  ~EarlyLaunch() override { fake_cuda().reset(); }

  void launch_staged() {
    make_executable(staged_interface(), staged_program, {})
        .launch(nullptr, {tensor(x, {100}), tensor(y, {100})});
  }

  alignas(256) float x[100] = {}, y[100] = {};
};

}  // namespace

TEST_F(EarlyLaunch, KernelsOfAProgramAre) {
  launch_staged();
  EXPECT_EQ(early, (std::vector{true, true}));
}

TEST_F(EarlyLaunch, OneKernelHasNothingToGain) {
  make_executable(scale_interface(), scale_program, {})
      .launch(nullptr, {tensor(x, {100}), 2.0f, tensor(y, {100})});
  EXPECT_EQ(early, std::vector{false});
}

TEST_F(EarlyLaunch, KernelsOfAGraphAreNot) {
  fake_cuda().capture_id = 5;
  launch_staged();
  EXPECT_EQ(early, (std::vector{false, false}));
}

TEST_F(EarlyLaunch, KernelsThatDoNotWaitAreNot) {
  fake_cuda().major = 8;
  launch_staged();
  EXPECT_EQ(early, (std::vector{false, false}));
}
