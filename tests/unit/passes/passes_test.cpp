#include "expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph gelu() {
  return graph_of([](auto &, Value x, Value) { return (x * 1) * (tanh(x * 0.5) + 1); }, bf16);
}

TEST(Pipeline, CanonicalGraphsAreFixedPoints) {
  Graph once = canonicalize(gelu());
  EXPECT_EQ(expression(canonicalize(once)), expression(once));
}

TEST(Pipeline, StrictKeepsEveryRounding) {
  EXPECT_EQ(expression(canonicalize(gelu(), true)), "mul(x, add(tanh(mul(x, 0.5)), 1))");
  EXPECT_EQ(expression(canonicalize(gelu())),
            "cast:bf16(mul(cast:f32(x), mul(sigmoid(mul(mul(cast:f32(x), 0.5), 2)), 2)))");
}

TEST(Pipeline, ReportsEachPass) {
  std::vector<std::string> ran;
  std::string_view names[] = {"simplify", "eliminate_dead"};
  run_passes(gelu(), names, [&](const PassReport &r) {
    ran.push_back(std::string(r.name) + (r.changed ? " changed" : " same"));
    EXPECT_GE(r.seconds, 0);
  });
  EXPECT_THAT(ran, ElementsAre("simplify changed", "eliminate_dead same"));
}

TEST(Pipeline, NamesUnknownPasses) {
  std::string_view names[] = {"simplfy"};
  try {
    run_passes(gelu(), names);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(e.what(), HasSubstr("no pass is named 'simplfy'; there are forget_gradients"));
  }
}

}  // namespace
}  // namespace fuse
