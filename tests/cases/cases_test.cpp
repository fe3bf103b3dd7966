// The helper itself: a wrong value must fail on every path.
#include "cases/case_run.h"

#include <gtest/gtest-spi.h>

namespace fuse::cases {

TEST(CaseRun, WrongValuesFailOnEveryPath) {
  ::testing::TestPartResultArray failures;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
    run_case("graph @wrong(%x: f32[1]) {\n%y = add %x, 1.0\nreturn %y }", {floats(f32, {1}, {1})},
             {exact(f32, {1}, {3})});
  }
  std::string all;
  for (int i = 0; i < failures.size(); ++i) all += failures.GetTestPartResult(i).summary();
  std::string on = executors()[0] == Executor::Gpu ? "gpu" : "host";
  for (const std::string &path : {std::string("evaluator"), std::string("folding"), on + ", fused",
                                  on + ", op by op", on + ", strict"})
    EXPECT_NE(all.find(path), std::string::npos) << path;
}

TEST(CaseRun, TolerancesAreInUnitsOfTheValue) {
  Expected one = within(f32, {1}, {1}, {2, 0, 0});
  EXPECT_TRUE(compare(one, floats(f32, {1}, {1 + 0x1p-22})).passed());
  EXPECT_FALSE(compare(one, floats(f32, {1}, {1 + 0x1p-21})).passed());
  EXPECT_FALSE(compare(exact(f32, {1}, {0}), floats(f32, {1}, {-0.0})).passed());
}

}  // namespace fuse::cases
