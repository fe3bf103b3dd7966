// CompileOptions::tune on the fake GPU, on which every launch takes as long as any other.
#include "expect_error.h"
#include "fake_cuda.h"

#include <fuse/compile.h>

#include <algorithm>

using namespace fuse;
using ::testing::HasSubstr;

namespace {

class TuneLaunch : public ::testing::Test {
 protected:
  TuneLaunch() { fake_cuda().reset(); }
  ~TuneLaunch() override { fake_cuda().reset(); }

  static Executable tuned(const char *text, CompileOptions options = {}) {
    options.tune = true;
    options.executor = Executor::Gpu;
    return compile(parse(text), options);
  }

  static std::string mapping_of(const Executable &exe) {
    for (const Decision &d : exe.decisions())
      if (d.about.rfind("mapping of", 0) == 0) return d.about + " " + d.chosen + ": " + d.why;
    return "";
  }
};

const char *const kSoftmax =
    "graph @softmax(%x: bf16[512, 4096]) { %y = softmax %x axis=1\n return %y as y }";

}  // namespace

TEST_F(TuneLaunch, TriesMappingsAndFreesItsMemory) {
  long long before = fake_cuda().live_bytes;
  Executable exe = tuned(kSoftmax);
  EXPECT_THAT(mapping_of(exe), HasSubstr("mapping of k0 by rule: 1000.0 us measured, the fastest"));
  EXPECT_GT(fake_cuda().count("cuLaunchKernelEx"), 50);
  EXPECT_EQ(fake_cuda().live_bytes, before);
  EXPECT_THAT(exe.explain(Dims()), HasSubstr("mapping of k0"));
}

TEST_F(TuneLaunch, SymbolsTakeTheirExpectedSizes) {
  CompileOptions options;
  options.expected_sizes = {{"B", 64}};
  Executable exe = tuned(
      "graph @g(%x: f32[B, 1000]) { symbol B min=1\n %y = gelu %x\n return %y as y }", options);
  EXPECT_THAT(mapping_of(exe), HasSubstr("by rule"));
}

TEST_F(TuneLaunch, ScalarsIntegersAndExternOperationsHaveValues) {
  Executable exe = tuned(R"(graph @g(%table: bf16[100, 4096], %i: i64[300], %s: f32 scalar) {
  %r = gather %table, %i axis=0
  %w = cast %r : f32
  %m = mul %w, %s
  %e = extern "f" %m : f32[300, 4096]
  %y = softmax %e axis=1
  return %y as y
})");
  std::vector<Decision> decisions = exe.decisions();
  auto mappings = std::count_if(decisions.begin(), decisions.end(), [](const Decision &d) {
    return d.about.rfind("mapping of", 0) == 0;
  });
  EXPECT_EQ(mappings, 2);
}

TEST_F(TuneLaunch, AFailureOfTheDriverLeavesTheRules) {
  fake_cuda().failing_call = "cuMemsetD8Async";
  fake_cuda().failing_result = 2;
  EXPECT_NO_THROW(tuned(kSoftmax));
}

TEST_F(TuneLaunch, RefusesBatchInvariance) {
  CompileOptions options;
  options.batch_invariant = true;
  std::string text = error_of(ErrorCode::InvalidArgument, [&] { tuned(kSoftmax, options); });
  EXPECT_THAT(text, HasSubstr("softmax: tune chooses by time"));
}

TEST_F(TuneLaunch, WithoutAGpuNothingIsMeasured) {
  CompileOptions options;
  options.tune = true;
  options.executor = Executor::Host;
  EXPECT_EQ(mapping_of(compile(parse(kSoftmax), options)), "");
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 0);
}
