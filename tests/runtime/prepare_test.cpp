// Compilation ahead of time, on the fake GPU.
#include "expect_error.h"
#include "fake_cuda.h"
#include "programs.h"

#include <fuse/compile.h>

using namespace fuse;
using ::testing::ElementsAre;

namespace {

class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() { fake_cuda().reset(); }
  ~PrepareTest() override { fake_cuda().reset(); }

  std::vector<std::uint16_t> x = std::vector<std::uint16_t>(4 * 4096), y = x;
  void launch(const Executable &exe, std::int64_t columns) {
    exe.launch(nullptr, {tensor(x.data(), {4, columns}), tensor(y.data(), {4, columns})});
  }
};

const std::vector<Dims> kSizes = {{4, 4096}, {1, 1000}, {8, 1016}, {4, 100}, {4, 4096}};

}  // namespace

TEST_F(PrepareTest, LaunchesCompileNothingAfterwards) {
  Executable exe = compile(softmax());
  EXPECT_THAT(reasons(exe.prepare(kSizes)),
              ElementsAre("prepared for B = 1, C = 1000", "prepared for B = 4, C = 100"))
      << "the first compilation serves 4096";
  ASSERT_EQ(exe.compilations().size(), 3u);
  fake_cuda().calls.clear();
  for (std::int64_t columns : {4096, 1000, 1016, 100}) launch(exe, columns);
  EXPECT_EQ(exe.compilations().size(), 3u);
  EXPECT_EQ(fake_cuda().count("cuLinkAddData"), 0);
  EXPECT_EQ(fake_cuda().count("cuModuleLoadData"), 0);
  EXPECT_TRUE(exe.prepare(kSizes).empty());
}

TEST_F(PrepareTest, ArgumentsMayBeStrided) {
  Executable exe = compile(softmax());
  PrepareOptions options;
  options.arguments.strides = {{"x", {5000, 1}}};
  EXPECT_THAT(reasons(exe.prepare({{4, 4096}}, options)),
              ElementsAre("prepared for B = 4, C = 4096: x is strided"));
  std::vector<std::uint16_t> wide(4 * 5000);
  exe.launch(nullptr, {tensor(wide.data(), {4, 4096}, {5000, 1}), tensor(y.data(), {4, 4096})});
  EXPECT_EQ(exe.compilations().size(), 2u);
}

TEST_F(PrepareTest, NoRecompileServesThemAtFullSpeed) {
  CompileOptions options;
  options.no_recompile = true;
  Executable exe = compile(softmax(), options);
  exe.prepare({{4, 4096}});
  ASSERT_EQ(exe.compilations().size(), 2u);
  launch(exe, 4096);
  launch(exe, 1000);
  EXPECT_EQ(exe.compilations().size(), 2u);
  EXPECT_EQ(exe.kernels({4, 4096})[0].text, compile(softmax()).kernels({4, 4096})[0].text);
  EXPECT_NE(exe.kernels({4, 1000})[0].text, compile(softmax()).kernels({4, 1000})[0].text);
}

TEST_F(PrepareTest, AFileHoldsThemAll) {
  CompileOptions options;
  options.executor = Executor::None;
  options.targets = {Target::named("h100"), Target::named("h200")};
  Executable exe = compile(softmax(), options);
  EXPECT_EQ(exe.prepare(kSizes).size(), 4u) << "two for each target";
  std::string bytes = exe.serialize();
  EXPECT_EQ(fake_cuda().calls.size(), 0u);
  DeserializeOptions frozen;
  frozen.no_recompile = true;
  Executable same = deserialize(bytes, frozen);
  for (std::int64_t columns : {4096, 1000, 1016, 100}) launch(same, columns);
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { launch(same, 300); }),
            "softmax: C = 300 is outside 65 to 128: no compiled variant serves it and "
            "no_recompile is set");
  EXPECT_EQ(same.compilations().size(), 3u);
}

TEST_F(PrepareTest, SizesThatNoSymbolTakesAreRefusedFirst) {
  Executable exe = compile(softmax());
  EXPECT_EQ(error_of(ErrorCode::Shape, [&] { exe.prepare({{4, 1000}, {4, 0}}); }),
            "softmax: C = 0 is outside its bounds [1, 1099511627776]");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { exe.prepare({{{{"D", 4}}}}); }),
            "softmax: D is not a symbol of the graph");
  EXPECT_EQ(exe.compilations().size(), 1u);
}

TEST_F(PrepareTest, WhatIsNotLoadedIsNotKept) {
  fake_cuda().context_id = 1000;  // nothing is loaded in it
  Executable exe = compile(softmax());
  fake_cuda().failing_call = "cuModuleLoadData";
  fake_cuda().failing_result = 2;
  PrepareOptions one;
  one.threads = 1;
  error_of(ErrorCode::OutOfMemory, [&] { exe.prepare({{4, 1000}, {4, 100}}, one); });
  EXPECT_EQ(reasons(exe.compilations()).back(), "prepared for B = 4, C = 100");
  EXPECT_EQ(exe.prepare({{4, 1000}, {4, 100}}, one).size(), 1u);
}
