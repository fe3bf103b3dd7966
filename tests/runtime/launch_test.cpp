// Launching on the fake GPU: its launches are carried out by functions of this file, which see
// exactly the parameters that a kernel would.
#include "expect_error.h"
#include "fake_cuda.h"
#include "programs.h"
#include "runtime/kernel_program.h"

#include <fuse/log.h>

#include <cstring>
#include <numeric>
#include <thread>

using namespace fuse;
using ::testing::HasSubstr;

namespace {

/// What a launch carried; `first` is its first parameter, an address. The caller's array of
/// parameters is gone when the launch returns.
struct PastLaunch {
  unsigned grid, threads;
  void *stream;
  const void *first;
};

std::vector<PastLaunch> launches;

template <class T>
T parameter(const FakeLaunch &launch, int i) {
  T value;
  std::memcpy(&value, launch.arguments[i], sizeof value);
  return value;
}

/// The kernels of programs.cpp.
void run_kernel(const FakeLaunch &launch) {
  launches.push_back(
      {launch.grid, launch.threads, launch.stream, parameter<const void *>(launch, 0)});
  std::string name = launch.name;
  const float *x = parameter<const float *>(launch, 0);
  if (name == "scale" || name == "scale_strided") {
    float s = parameter<float>(launch, 1), *y = parameter<float *>(launch, 2);
    std::int64_t n = parameter<std::int64_t>(launch, 3);
    // Size parameters are sorted by name: B, x.stride0.
    std::int64_t stride = name == "scale" ? 1 : parameter<std::int64_t>(launch, 4);
    for (std::int64_t i = 0; i < n; ++i) y[i] = s * x[i * stride];
  } else {
    float *y = parameter<float *>(launch, 1);
    bool first = name == "first";
    EXPECT_TRUE(!first || *parameter<const unsigned *>(launch, 2) == 0u);
    std::int64_t n = parameter<std::int64_t>(launch, first ? 3 : 2);
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + (first ? 0 : 1);
  }
}

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() {
    fake_cuda().reset();
    fake_cuda().on_launch = run_kernel;
    launches.clear();
    std::iota(std::begin(x), std::end(x), 0.0f);
  }
  ~LaunchTest() override { fake_cuda().reset(); }

  Executable make_scale(const CompileOptions &options = {}) {
    return make_executable(scale_interface(), scale_program, options);
  }

  alignas(256) float x[1000] = {};
  alignas(256) float y[1000] = {};
};

}  // namespace

namespace {

/// The table of the kernel below, as it lies in the parameters.
struct Table {
  const float *x[3];
  float *y[3];
  std::int64_t n[3];
  std::uint32_t first[3];
};
Table table;

}  // namespace

TEST_F(LaunchTest, PassesTheTableOfInstances) {
  fake_cuda().on_launch = [](const FakeLaunch &launch) {
    launches.push_back({launch.grid, launch.threads, launch.stream, nullptr});
    EXPECT_EQ(parameter<float>(launch, 0), 2.0f);
    EXPECT_EQ(parameter<std::int64_t>(launch, 1), 300);
    table = parameter<Table>(launch, 2);
  };
  Executable exe = compile_kernel(parse_kernel(R"(
kernel @many(%x: f32[n] each, %s: f32[] scalar) -> (%y: f32[n] each) threads 128 cluster 1 index 64 {
  instances 3 n: B, 0, B*2 + 1
  dims i: n
  layout L: i = grid ceil(n / 128) . thread 128
  in L {
    %a = load %x[i]
    store %y[i], %a
  }
}
)"));
  exe.launch(nullptr, {tensor(x, {300}), tensor(nullptr, {0}), tensor(x + 320, {601}), 2.0f,
                       tensor(y, {300}), tensor(nullptr, {0}), tensor(y + 320, {601})});
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].grid, 3u + 5u);
  EXPECT_EQ(table.x[0], x);
  EXPECT_EQ(table.x[2], x + 320);
  EXPECT_EQ(table.y[2], y + 320);
  EXPECT_EQ(table.n[1], 0);
  EXPECT_EQ(table.n[2], 601);
  EXPECT_EQ(table.first[0], 0u);
  EXPECT_EQ(table.first[1], 3u);
  EXPECT_EQ(table.first[2], 3u);
}

TEST_F(LaunchTest, PassesPointersScalarsAndSizes) {
  Executable exe = make_scale();
  EXPECT_EQ(exe.executor(), "gpu");
  exe.launch(nullptr, {tensor(x, {300}), 2.0f, tensor(y, {300})});
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].grid, 3u);
  EXPECT_EQ(launches[0].threads, 128u);
  EXPECT_EQ(y[299], 598.0f);
  EXPECT_EQ(y[300], 0.0f);
}

TEST_F(LaunchTest, TheSecondLaunchOfASizeOnlyLaunches) {
  Executable exe = make_scale();
  exe.launch(nullptr, {tensor(x, {300}), 2.0f, tensor(y, {300})});
  ContextScope current(context_of(nullptr, 0).handle);
  fake_cuda().calls.clear();
  exe.launch(nullptr, {tensor(x, {300}), 3.0f, tensor(y, {300})});
  EXPECT_EQ(fake_cuda().calls, std::vector<std::string>{"cuLaunchKernelEx(scale)"});
  EXPECT_EQ(y[2], 6.0f);
}

TEST_F(LaunchTest, ALauncherOnlyLaunches) {
  Launcher run = make_scale().bind({300});
  ContextScope current(context_of(nullptr, 0).handle);
  fake_cuda().calls.clear();
  float s = 4;
  auto stream = reinterpret_cast<CUstream_st *>(0x100);
  run(stream, {x, &s, y});
  EXPECT_EQ(fake_cuda().calls, std::vector<std::string>{"cuLaunchKernelEx(scale)"});
  EXPECT_EQ(launches[0].stream, stream);
  EXPECT_EQ(y[2], 8.0f);
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { run(stream, {x, &s}); }),
            "scale takes 3 arguments: 2 were given");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { run(stream, {x + 1, &s, y}); }),
            "scale: the address of x is not aligned to 16 bytes, as was bound");
}

TEST_F(LaunchTest, ALauncherRefusesNullAddresses) {
  Launcher run = make_scale().bind({300});
  float s = 4;
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { run(nullptr, {x, &s, nullptr}); }),
            "scale: y has no address");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { run(nullptr, {x, nullptr, y}); }),
            "scale: s has no address: pass that of a value of f32");
  EXPECT_TRUE(launches.empty());
  Launcher nothing = make_scale().bind({0});
  nothing(nullptr, {nullptr, &s, nullptr});
  EXPECT_TRUE(launches.empty());
}

TEST_F(LaunchTest, EmptyTensorsLaunchNothing) {
  Executable exe = make_scale();
  exe.launch(nullptr, {tensor(nullptr, {0}), 2.0f, tensor(nullptr, {0})});
  EXPECT_TRUE(launches.empty());
}

TEST_F(LaunchTest, UnalignedAndStridedArgumentsCompileVariants) {
  Executable exe = make_scale();
  exe.launch(nullptr, {tensor(x + 1, {100}), 2.0f, tensor(y, {100})});
  exe.launch(nullptr, {tensor(x, {100}, {3}), 2.0f, tensor(y, {100})});
  EXPECT_EQ(y[5], 30.0f);
  std::vector<std::string> reasons;
  for (const Compilation &c : exe.compilations()) reasons.push_back(c.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"first compilation", "x is aligned to 4 bytes",
                                               "x is strided"}));
}

TEST_F(LaunchTest, NoRecompileServesAllWithOneVariant) {
  CompileOptions options;
  options.no_recompile = true;
  Executable exe = make_scale(options);
  exe.launch(nullptr, {tensor(x + 1, {100}), 2.0f, tensor(y, {100})});
  EXPECT_EQ(y[5], 12.0f);
  exe.launch(nullptr, {tensor(x, {100}, {3}), 2.0f, tensor(y, {100})});
  EXPECT_EQ(y[5], 30.0f);
  EXPECT_EQ(exe.compilations().size(), 1u);
}

TEST_F(LaunchTest, RefusesWhatDoesNotFit) {
  Executable exe = make_scale();
  auto message = [&](ErrorCode code, std::initializer_list<Arg> arguments) {
    return error_of(code, [&] { exe.launch(nullptr, arguments); });
  };
  auto good = tensor(y, {4});
  EXPECT_EQ(message(ErrorCode::InvalidArgument, {tensor(x, {4}), 1.0f}),
            "scale takes x, s -> y: 2 arguments were given");
  EXPECT_EQ(message(ErrorCode::InvalidArgument, {tensor(x, {4}), tensor(x, {4}), good}),
            "scale: s is a scalar: a tensor was given");
  EXPECT_EQ(message(ErrorCode::InvalidArgument, {1.0, 1.0, good}),
            "scale: x is a tensor: a scalar was given");
  EXPECT_EQ(message(ErrorCode::Shape, {tensor(x, {5}), 1.0f, good}),
            "scale: axis 0 of y has 4 elements, not 5 (B = 5 from axis 0 of x)");
  EXPECT_EQ(message(ErrorCode::InvalidArgument, {tensor(nullptr, {4}), 1.0f, good}),
            "scale: x has no address");
  EXPECT_EQ(message(ErrorCode::InvalidArgument, {tensor(y + 2, {4}), 1.0f, good}),
            "scale: x and y overlap in memory: outputs need memory of their own");
  auto odd = tensor(reinterpret_cast<char *>(x) + 2, {4});
  EXPECT_EQ(message(ErrorCode::InvalidArgument, {odd, 1.0f, good}),
            "scale: the address of x is not aligned to its f32 elements");
  EXPECT_TRUE(launches.empty());
}

TEST_F(LaunchTest, BuffersTakeTheShapeThatOthersGive) {
  Executable exe = make_scale();
  DeviceBuffer out = DeviceBuffer::device(400);
  exe.launch(nullptr, {tensor(x, {100}), 2.0f, out});
  EXPECT_EQ(static_cast<float *>(out.data())[99], 198.0f);
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { exe.launch(nullptr, {tensor(x, {101}), 2.0f, out}); }),
            "scale: the buffer of y has 400 bytes: 404 are needed");
}

TEST_F(LaunchTest, WorkspacesAreKeptOrGiven) {
  Executable exe = make_executable(staged_interface(), staged_program, {});
  EXPECT_EQ(exe.workspace_bytes({100}), 256u + 512u);
  exe.launch(nullptr, {tensor(x, {100}), tensor(y, {100})});
  EXPECT_EQ(y[7], 8.0f);
  EXPECT_EQ(fake_cuda().count("cuMemAlloc(768)"), 1);
  exe.launch(nullptr, {tensor(x, {100}), tensor(y, {100})});
  EXPECT_EQ(fake_cuda().count("cuMemAlloc"), 1);

  Launcher run = exe.bind({100});
  EXPECT_EQ(run.workspace_bytes(), 768u);
  DeviceBuffer memory = DeviceBuffer::device(768);
  LaunchOptions options;
  options.workspace = {memory.data(), memory.size(), false};
  run(nullptr, {x, y}, options);
  EXPECT_EQ(launches.back().first, static_cast<char *>(memory.data()) + 256);
}

TEST_F(LaunchTest, DroppingAnExecutableFreesItsWorkspaces) {
  long long before = fake_cuda().live_bytes;
  {
    Launcher run = make_executable(staged_interface(), staged_program, {}).bind({100});
    run(nullptr, {x, y});  // the Launcher keeps what it needs
    EXPECT_GT(fake_cuda().live_bytes, before);
  }
  EXPECT_EQ(fake_cuda().live_bytes, before);
}

TEST_F(LaunchTest, ExternsAreCalledInOrderWithTheirOperands) {
  Executable exe = make_executable(staged_interface(), extern_program, {});
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { exe.launch(nullptr, {tensor(x, {10}), tensor(y, {10})}); }),
            "staged calls extern \"twice\": set LaunchOptions::run_extern");
  LaunchOptions options;
  options.run_extern = [&](const ExternCall &call) {
    EXPECT_EQ(call.name, "twice");
    ASSERT_EQ(call.num_operands, 1u);
    ASSERT_EQ(call.num_results, 1u);
    EXPECT_EQ(call.operands[0].data, x);
    EXPECT_EQ(call.results[0].data, y);
    EXPECT_EQ(call.results[0].rank, 1);
    EXPECT_EQ(call.results[0].shape[0], 10);
    y[0] = 42;
  };
  exe.launch(nullptr, {tensor(x, {10}), tensor(y, {10})}, options);
  EXPECT_EQ(y[0], 42.0f);
}

TEST_F(LaunchTest, SeveralDevicesShareAnExecutable) {
  fake_cuda().num_devices = 2;
  Executable exe = make_executable(staged_interface(), staged_program, {});
  LaunchOptions second;
  second.device = 1;
  for (int i = 0; i < 2; ++i) {
    exe.launch(nullptr, {tensor(x, {100}), tensor(y, {100})});
    exe.launch(nullptr, {tensor(x, {100}), tensor(y, {100})}, second);
  }
  EXPECT_EQ(y[7], 8.0f);
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 8);
  EXPECT_EQ(fake_cuda().count("cuMemAlloc(768)"), 2) << "a workspace for each device";
  EXPECT_EQ(exe.compilations().size(), 1u);
  second.device = 2;
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { exe.launch(nullptr, {tensor(x, {100}), tensor(y, {100})}, second); }),
            "staged: device 2 of 2 does not exist");
}

TEST_F(LaunchTest, ADeclaredPairSharesMemory) {
  CompileOptions options;
  options.in_place = {{"x", "y"}};
  Executable exe = make_scale(options);
  exe.launch(nullptr, {tensor(x, {300}), 2.0f, tensor(x, {300})});
  EXPECT_EQ(x[299], 598.0f);
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument,
               [&] { exe.launch(nullptr, {tensor(x, {300}), 2.0f, tensor(x + 4, {300})}); }),
      HasSubstr("x and y overlap in memory"));
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument,
               [&] { make_scale().launch(nullptr, {tensor(x, {3}), 2.0f, tensor(x, {3})}); }),
      HasSubstr("x and y overlap in memory"));
}

TEST_F(LaunchTest, TheLibraryLogsToItsHandlerAlone) {
  std::vector<std::string> lines;
  set_log_handler([&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Executable exe = make_scale();
  exe.launch(nullptr, {tensor(x, {300}), 2.0f, tensor(y, {300})});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  set_log_handler({});
}

TEST_F(LaunchTest, DriverErrorsOfALaunchAreNamed) {
  Executable exe = make_scale();
  fake_cuda().failing_call = "cuLaunchKernelEx";
  fake_cuda().failing_result = 1;
  EXPECT_EQ(error_of(ErrorCode::Driver,
                     [&] { exe.launch(nullptr, {tensor(x, {4}), 1.0f, tensor(y, {4})}); }),
            "cuLaunchKernelEx failed: CUDA_ERROR_FAKE (the test asked for it)");
}

TEST_F(LaunchTest, ThreadsShareAnExecutable) {
  Executable exe = make_scale();
  fake_cuda().on_launch = nullptr;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&exe, t, this] {
      for (int i = 1; i < 200; ++i)
        exe.launch(nullptr, {tensor(x, {i + t}), 2.0f, tensor(y, {i + t})});
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 4 * 199);
  EXPECT_EQ(exe.compilations().size(), 1u);
}

TEST_F(LaunchTest, TellsWhatItIs) {
  Executable exe = make_scale();
  ASSERT_EQ(exe.inputs().size(), 2u);
  EXPECT_EQ(exe.inputs()[0].name, "x");
  EXPECT_EQ(exe.inputs()[0].alignment, 4);
  EXPECT_TRUE(exe.inputs()[1].is_scalar);
  EXPECT_EQ(exe.symbols(), std::vector<std::string>{"B"});
  EXPECT_EQ(exe.output_shapes({7}), (std::vector<std::vector<std::int64_t>>{{7}}));
  std::vector<KernelReport> reports = exe.kernels({1000});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "scale");
  EXPECT_EQ(reports[0].bytes, 8000);
  EXPECT_EQ(reports[0].grid, 8u);
  EXPECT_EQ(reports[0].registers, 40);
  EXPECT_DOUBLE_EQ(reports[0].predicted_us, 2.0);
  EXPECT_THAT(reports[0].text, HasSubstr("kernel @scale("));
  EXPECT_THAT(exe.explain({1000}),
              ::testing::ContainsRegex("boundary none +one kernel +two kernels +.1.0 us  nothing"));
}

TEST_F(LaunchTest, AnExecutableForStudyCannotRun) {
  CompileOptions options;
  options.executor = Executor::None;
  Executable exe = make_scale(options);
  EXPECT_EQ(exe.kernels({10})[0].registers, -1);
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { exe.bind({10}); }),
            "scale was compiled with Executor::None and cannot be launched");
}

TEST_F(LaunchTest, AnObserverStandsAroundEachStep) {
  std::vector<std::string> seen;
  StepObserver observer;
  observer.before = [&](const Step &step) {
    seen.push_back("before " + (step.is_extern ? step.extern_name : std::to_string(step.kernel)));
  };
  observer.after = [&](const Step &) { seen.push_back("after"); };
  LaunchOptions options;
  options.run_extern = [&](const ExternCall &call) { seen.emplace_back(call.name); };
  std::vector<const void *> arguments = {x, y};
  ObservedLaunch::run(make_executable(staged_interface(), staged_program, {}).bind({10}), nullptr,
                      arguments, options, observer);
  ObservedLaunch::run(make_executable(staged_interface(), extern_program, {}).bind({10}), nullptr,
                      arguments, options, observer);
  EXPECT_THAT(seen, testing::ElementsAre("before 0", "after", "before 1", "after", "before twice",
                                         "twice", "after"));
  EXPECT_EQ(launches.size(), 2u);
}
