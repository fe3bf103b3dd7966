// Assembling and loading.
#include "runtime/module.h"

#include "expect_error.h"
#include "fake_cuda.h"

using namespace fuse;
using ::testing::HasSubstr;

namespace {

class ModuleTest : public ::testing::Test {
 protected:
  ModuleTest() : context(context_of(nullptr, 0)), scope(context.handle) { fake_cuda().reset(); }
  ~ModuleTest() override { fake_cuda().reset(); }
  Context context;
  ContextScope scope;
};

}  // namespace

TEST_F(ModuleTest, ARejectedPtxCarriesTheLog) {
  std::string text = error_of(ErrorCode::Driver, [] { assemble("reject me"); });
  EXPECT_THAT(text, HasSubstr("cuLinkAddData failed"));
  EXPECT_THAT(text, HasSubstr("ptxas fatal: line 1: rejected"));
  EXPECT_EQ(fake_cuda().count("cuLinkDestroy"), 1);
}

TEST_F(ModuleTest, RunsUnderTheRelaxedCaptureMode) {
  load_function(context, assemble("ptx of RunsUnderTheRelaxedCaptureMode"), {"k"});
  EXPECT_EQ(fake_cuda().count("cuLinkCreate(capture mode 2)"), 1);
  EXPECT_EQ(fake_cuda().count("cuModuleLoadData(capture mode 2)"), 1);
  EXPECT_EQ(fake_cuda().capture_mode, 0);
}

TEST_F(ModuleTest, EqualCodeIsLoadedOnceInAContext) {
  auto first = load_function(context, "shared code", {"k"});
  auto second = load_function(context, "shared code", {"k"});
  EXPECT_EQ(first, second);
  EXPECT_EQ(fake_cuda().count("cuModuleLoadData"), 1);
  Context other{context.handle, context.id + 1};
  load_function(other, "shared code", {"k"});
  EXPECT_EQ(fake_cuda().count("cuModuleLoadData"), 2);
}

TEST_F(ModuleTest, AFailedLoadIsTriedAgain) {
  fake_cuda().failing_call = "cuModuleLoadData";
  fake_cuda().failing_result = 2;
  error_of(ErrorCode::OutOfMemory, [&] { load_function(context, "failing code", {"k"}); });
  EXPECT_NO_THROW(load_function(context, "failing code", {"k"}));
}

TEST_F(ModuleTest, LargeClustersAreAskedFor) {
  load_function(context, "cluster code", {"small", 128, 8});
  load_function(context, "cluster code", {"large", 128, 16});
  EXPECT_EQ(fake_cuda().count("cuFuncSetAttribute(14, 1)"), 1);
}

TEST_F(ModuleTest, FactsComeFromTheDriver) {
  auto function = load_function(context, "fact code", {"k", 256});
  FunctionFacts facts = facts_of(function, {"k", 256});
  EXPECT_EQ(facts.registers, 40);
  EXPECT_EQ(facts.spill_bytes, 0);
  EXPECT_EQ(facts.blocks_per_sm, 8);
  EXPECT_EQ(facts.occupancy, 1);
}

TEST_F(ModuleTest, OccupancyCountsWholeWarpsAndClusters) {
  auto function = load_function(context, "occupancy code", {"k", 96});
  EXPECT_EQ(facts_of(function, {"k", 96}).occupancy, 21 * 96 / 2048.0);
  fake_cuda().num_clusters = 33;
  EXPECT_EQ(facts_of(function, {"k", 512, 4}).occupancy, 33 * 4 * 512 / (132 * 2048.0));
}
