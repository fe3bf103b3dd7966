// Devices as targets, and contexts.
#include "runtime/device.h"

#include "expect_error.h"
#include "fake_cuda.h"

using namespace fuse;
using ::testing::HasSubstr;

namespace {

class DeviceTest : public ::testing::Test {
 protected:
  DeviceTest() { fake_cuda().reset(); }
  ~DeviceTest() override { fake_cuda().reset(); }
};

}  // namespace

TEST_F(DeviceTest, AKnownDeviceIsItsTarget) {
  Target t = target_of(0);
  EXPECT_EQ(t.name, "h200");
  EXPECT_EQ(t.sm, 90);
  EXPECT_EQ(t.ptx, 90);
  EXPECT_EQ(t.hbm_bytes, Target::named("h200").hbm_bytes);
  EXPECT_EQ(t.parameter_bytes, 32764);
}

TEST_F(DeviceTest, AnUnknownDeviceIsEstimatedFromItsAttributes) {
  fake_cuda().device_name = "NVIDIA L40S";
  fake_cuda().minor = 9;
  fake_cuda().major = 8;
  fake_cuda().num_sms = 142;
  Target t = target_of(0);
  EXPECT_EQ(t.name, "NVIDIA L40S");
  EXPECT_FALSE(t.measured);
  EXPECT_EQ(t.sm, 89);
  EXPECT_EQ(t.num_sms, 142);
  EXPECT_EQ(t.max_cluster, 1);
  EXPECT_DOUBLE_EQ(t.clock_hz, 1.5e9);
  EXPECT_DOUBLE_EQ(t.hbm_bytes, 0.9 * 2 * 2e9 * 512);  // 4096 bits at 2 GHz, two a clock
}

TEST_F(DeviceTest, ADeviceBelow80IsRefused) {
  fake_cuda().device_name = "Tesla V100";
  fake_cuda().major = 7;
  std::string text = error_of(ErrorCode::Unsupported, [] { target_of(0); });
  EXPECT_EQ(text, "Tesla V100 has compute capability 7.0: fuse needs 8.0 or later");
}

TEST_F(DeviceTest, AMissingDeviceIsNamed) {
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [] { target_of(3); }),
            "device 3 of 1 does not exist");
}

TEST_F(DeviceTest, PtxVersionsFollowTheDriver) {
  EXPECT_EQ(ptx_version_of(12000), 80);
  EXPECT_EQ(ptx_version_of(12060), 85);
  EXPECT_EQ(ptx_version_of(12080), 87);
  EXPECT_EQ(ptx_version_of(13000), 90);
  EXPECT_EQ(ptx_version_of(14020), 90);
  error_of(ErrorCode::NoDevice, [] { ptx_version_of(11080); });
}

TEST_F(DeviceTest, ScopesPushAContextOnlyIfItIsNotCurrent) {
  Context context = context_of(nullptr, 0);
  {
    ContextScope outer(context.handle);
    ContextScope inner(context.handle);
  }
  EXPECT_EQ(fake_cuda().count("cuCtxPushCurrent"), 1);
  EXPECT_EQ(fake_cuda().count("cuCtxPopCurrent"), 1);
}

TEST_F(DeviceTest, RelaxedCaptureIsUndone) {
  {
    RelaxedCapture relaxed;
    EXPECT_EQ(fake_cuda().capture_mode, cuda::CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  EXPECT_EQ(fake_cuda().capture_mode, 0);
}
