// Launching on the host executor: the kernels of programs.cpp, really compiled and run.
#include "expect_error.h"
#include "programs.h"

#include <fuse/builders.h>

#include <algorithm>
#include <numeric>
#include <thread>

using namespace fuse;

namespace {

CompileOptions host() {
  CompileOptions options;
  options.executor = Executor::Host;
  return options;
}

class HostLaunchTest : public ::testing::Test {
 protected:
  HostLaunchTest() { std::iota(x.begin(), x.end(), 0.0f); }
  std::vector<float> x = std::vector<float>(1000), y = std::vector<float>(1000);
};

}  // namespace

TEST_F(HostLaunchTest, ComputesWithTailsAndScalars) {
  Executable exe = make_executable(scale_interface(), scale_program, host());
  EXPECT_EQ(exe.executor(), "host");
  exe.launch(nullptr, {tensor(x.data(), {300}), 2.0f, tensor(y.data(), {300})});
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(y[i], i < 300 ? 2 * x[i] : 0.0f);
}

TEST_F(HostLaunchTest, StridedArgumentsCompileAVariant) {
  Executable exe = make_executable(scale_interface(), scale_program, host());
  exe.launch(nullptr, {tensor(x.data(), {300}, {3}), 2.0f, tensor(y.data(), {300})});
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(y[i], 2 * x[3 * i]);
  ASSERT_EQ(exe.compilations().size(), 2u);
  EXPECT_EQ(exe.compilations()[1].reason, "x is strided");
}

TEST_F(HostLaunchTest, StepsShareAWorkspace) {
  Executable exe = make_executable(staged_interface(), staged_program, host());
  exe.launch(nullptr, {tensor(x.data(), {300}), tensor(y.data(), {300})});
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(y[i], x[i] + 1);
}

TEST_F(HostLaunchTest, LaunchersWork) {
  Launcher run = make_executable(staged_interface(), staged_program, host()).bind({300});
  DeviceBuffer memory = DeviceBuffer::host(run.workspace_bytes());
  DeviceBuffer in = DeviceBuffer::host(1200), out = DeviceBuffer::host(1200);
  in.copy_from_host(x.data(), 1200);
  LaunchOptions options;
  options.workspace = {memory.data(), memory.size(), false};
  run(nullptr, {in.data(), out.data()}, options);
  out.copy_to_host(y.data(), 1200);
  EXPECT_EQ(y[299], 300.0f);
}

TEST_F(HostLaunchTest, ThreadsShareAnExecutable) {
  Executable exe = make_executable(staged_interface(), staged_program, host());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&exe, this] {
      std::vector<float> own(300);
      for (int i = 0; i < 5; ++i) {
        exe.launch(nullptr, {tensor(x.data(), {300}), tensor(own.data(), {300})});
        EXPECT_EQ(own[299], 300.0f);
      }
    });
  for (std::thread &t : threads) t.join();
}

TEST_F(HostLaunchTest, AStreamIsRefused) {
  Executable exe = make_executable(scale_interface(), scale_program, host());
  auto stream = reinterpret_cast<CUstream_st *>(0x100);
  EXPECT_EQ(
      error_of(ErrorCode::InvalidArgument,
               [&] { exe.launch(stream, {tensor(x.data(), {4}), 1.0f, tensor(y.data(), {4})}); }),
      "scale runs on the host: its stream is null");
}

TEST_F(HostLaunchTest, AutoIsTheHostWithoutADriver) {
  if (has_driver()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(make_executable(scale_interface(), scale_program, {}).executor(), "host");
  CompileOptions gpu;
  gpu.executor = Executor::Gpu;
  error_of(ErrorCode::NoDevice, [&] { make_executable(scale_interface(), scale_program, gpu); });
}

/// A seed in memory may change between the launches of one Launcher, as in a captured graph.
TEST_F(HostLaunchTest, SeedsByValueAndInMemoryGiveTheSameNumbers) {
  auto compiled = [](bool in_memory) {
    Graph g("drop");
    auto x = g.input("x", f32, {g.dim("B")});
    g.output("y", dropout(x, 0.5, in_memory ? g.input("seed", u64, {}) : g.scalar("seed", u64)));
    return compile(g, host());
  };
  std::iota(x.begin(), x.end(), 1.0f);
  std::vector<float> z = y, other = y;
  std::uint64_t seed = 0xfedcba9876543210;
  compiled(false).launch(nullptr, {tensor(x.data(), {1000}), seed, tensor(y.data(), {1000})});
  Executable exe = compiled(true);
  exe.launch(nullptr, {tensor(x.data(), {1000}), tensor(&seed, {}), tensor(z.data(), {1000})});
  EXPECT_EQ(y, z);
  BindOptions any;
  any.alignment = 4;
  Launcher run = exe.bind({1000}, any);
  for (float *out : {z.data(), other.data()}) {
    run(nullptr, {x.data(), &seed, out});
    ++seed;
  }
  EXPECT_EQ(y, z);
  EXPECT_NE(y, other);
  EXPECT_NEAR(std::count(y.begin(), y.end(), 0.0f), 500, 64);
}

TEST(Explain, NamesTheSizesOfItsPredictions) {
  Graph g("twice");
  g.output("y", 2.0 * g.input("x", f32, {g.dim("B")}));
  CompileOptions options;
  options.executor = Executor::None;
  Executable exe = compile(g, options);
  auto says = [&](std::int64_t size, const char *words) {
    return exe.explain({size}).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(4096, "predicted for B = 4096\n"));
  EXPECT_TRUE(says(
      8192, "predicted for B = 4096, which this program was planned for; blocks for B = 8192\n"));
}
