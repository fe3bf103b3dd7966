// What only real devices show: captured launches, and one executable on several devices.
#include "cases/case_run.h"

#include "runtime/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <functional>

namespace fuse::cases {

namespace {

using namespace cuda;

constexpr std::int64_t kCount = 1000003;  // more than one block: partial sums and a counter

const char *const kTotal = R"(graph @total(%x: f32[1000003]) {
    %s = sum %x axes=[0]
    return %s })";

/// Entry points that only these tests use.
template <class Signature>
Signature *entry(const char *symbol) {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Signature *>(::dlsym(library, symbol));
}

Executable compile_total() {
  CompileOptions options;
  options.executor = Executor::Gpu;
  return compile(parse(kTotal), options);
}

class DeviceCases : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<Executor> all = executors();
    if (std::find(all.begin(), all.end(), Executor::Gpu) == all.end()) GTEST_SKIP() << "no GPU";
  }

  /// Ones, twos, ...: the sum is exact.
  static void fill(DeviceBuffer &x, float value) {
    std::vector<float> host(kCount, value);
    x.copy_from_host(host.data(), 4 * kCount);
  }
  static float read(const DeviceBuffer &s) {
    float value = 0;
    s.copy_to_host(&value, 4);
    return value;
  }
};

/// Captures the launch on a new stream, then replays it with three contents of x.
void expect_replays(const Executable &executable, DeviceBuffer &x, DeviceBuffer &s,
                    const std::function<void(float)> &fill, const std::function<float()> &read) {
  ContextScope scope(primary_context(0));
  CUstream stream = nullptr;
  void *graph = nullptr, *replay = nullptr;
  FUSE_CUDA(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  check(entry<CUresult(CUstream, int)>("cuStreamBeginCapture_v2")(stream, 0), "begin");
  executable.launch(stream, {x, s});
  check(entry<CUresult(CUstream, void **)>("cuStreamEndCapture")(stream, &graph), "end");
  check(entry<CUresult(void **, void *, unsigned long long)>("cuGraphInstantiateWithFlags")(
            &replay, graph, 0),
        "instantiate");
  for (float value : {1.0f, 2.0f, 3.0f}) {
    fill(value);
    check(entry<CUresult(void *, CUstream)>("cuGraphLaunch")(replay, stream), "launch");
    FUSE_CUDA(cuStreamSynchronize, stream);
    EXPECT_EQ(read(), value * float(kCount));
  }
  FUSE_CUDA(cuStreamDestroy, stream);
}

}  // namespace

// Fuser 635; pytorch 185074
TEST_F(DeviceCases, CapturedLaunchesReplayWithNewContents) {
  DeviceBuffer x = DeviceBuffer::device(4 * kCount), s = DeviceBuffer::device(4);
  for (bool warm : {true, false}) {
    Executable executable = compile_total();
    fill(x, 4);
    if (warm) executable.launch(nullptr, {x, s});
    expect_replays(executable, x, s, [&](float value) { fill(x, value); }, [&] { return read(s); });
  }
}

// cupy 5795, 3193
TEST_F(DeviceCases, OneExecutableOnTwoDevices) {
  if (device_count() < 2) GTEST_SKIP() << "one GPU";
  Executable executable = compile_total();
  ContextScope scope(primary_context(0));
  for (int device : {0, 1, 0}) {
    DeviceBuffer x = DeviceBuffer::device(4 * kCount, device), s = DeviceBuffer::device(4, device);
    fill(x, 2);
    ContextScope current(primary_context(device));
    executable.launch(nullptr, {x, s});
    EXPECT_EQ(read(s), 2 * float(kCount)) << device;
    CUcontext after = nullptr;
    FUSE_CUDA(cuCtxGetCurrent, &after);
    EXPECT_EQ(after, primary_context(device));
  }
}

}  // namespace fuse::cases
