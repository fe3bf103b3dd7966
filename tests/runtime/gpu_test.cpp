// The runtime on a real GPU; every test is skipped, with the reason, where there is none.
#include "expect_error.h"
#include "programs.h"

#include <dlfcn.h>

#include <numeric>

using namespace fuse;
using namespace fuse::cuda;

namespace {

std::string why_no_gpu() {
  try {
    driver();
    return {};
  } catch (const Error &error) {
    return error.what();
  }
}

/// Entry points that only these tests use.
template <class Signature>
Signature *entry(const char *symbol) {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Signature *>(::dlsym(library, symbol));
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << "no GPU: " << reason;
    x = DeviceBuffer::device(kBytes);
    y = DeviceBuffer::device(kBytes);
    std::iota(host.begin(), host.end(), 0.0f);
    x.copy_from_host(host.data(), kBytes);
    y.fill_zero();
  }

  std::vector<float> result() const {
    std::vector<float> values(kElements);
    y.copy_to_host(values.data(), kBytes);
    return values;
  }

  static constexpr std::size_t kElements = 10000, kBytes = 4 * kElements;
  std::vector<float> host = std::vector<float>(kElements);
  DeviceBuffer x, y;
};

}  // namespace

TEST_F(GpuTest, LaunchesWithTailsAndScalars) {
  Executable exe = make_executable(scale_interface(), scale_program, {});
  EXPECT_EQ(exe.executor(), "gpu");
  exe.launch(nullptr, {tensor(x.data(), {9999}), 2.0f, tensor(y.data(), {9999})});
  std::vector<float> values = result();
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(values[i], i < 9999 ? 2 * host[i] : 0.0f);
}

TEST_F(GpuTest, LaunchesStridedViews) {
  Executable exe = make_executable(scale_interface(), scale_program, {});
  exe.launch(nullptr, {tensor(x.data(), {3000}, {3}), 2.0f, tensor(y.data(), {3000})});
  std::vector<float> values = result();
  for (std::size_t i = 0; i < 3000; ++i) ASSERT_EQ(values[i], 2 * host[3 * i]);
}

TEST_F(GpuTest, ReportsRegisters) {
  Executable exe = make_executable(scale_interface(), scale_program, {});
  KernelReport report = exe.kernels({10000})[0];
  EXPECT_GT(report.registers, 0);
  EXPECT_EQ(report.spills, 0);
  EXPECT_GT(report.blocks_per_sm, 0);
  EXPECT_GT(report.occupancy, 0);
  EXPECT_LE(report.occupancy, 1);
}

TEST_F(GpuTest, MayBeDroppedInFlight) {
  for (int i = 0; i < 20; ++i) {
    Executable exe = make_executable(staged_interface(), staged_program, {});
    exe.launch(nullptr, {tensor(x.data(), {10000}), tensor(y.data(), {10000})});
  }
  EXPECT_EQ(result()[9999], 10000.0f);
}

TEST_F(GpuTest, TheFirstLaunchMayBeCaptured) {
  ContextScope scope(primary_context(0));
  CUstream stream = nullptr;
  FUSE_CUDA(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  void *graph = nullptr, *replay = nullptr;
  Executable exe = make_executable(staged_interface(), staged_program, {});
  check(entry<CUresult(CUstream, int)>("cuStreamBeginCapture_v2")(stream, 0), "begin");
  exe.launch(stream, {tensor(x.data(), {10000}), tensor(y.data(), {10000})});
  check(entry<CUresult(CUstream, void **)>("cuStreamEndCapture")(stream, &graph), "end");
  EXPECT_EQ(result()[5], 0.0f);  // nothing has run yet
  check(entry<CUresult(void **, void *, unsigned long long)>("cuGraphInstantiateWithFlags")(
            &replay, graph, 0),
        "instantiate");
  check(entry<CUresult(void *, CUstream)>("cuGraphLaunch")(replay, stream), "launch");
  FUSE_CUDA(cuStreamSynchronize, stream);
  EXPECT_EQ(result()[5], 6.0f);
  FUSE_CUDA(cuStreamDestroy, stream);
}
