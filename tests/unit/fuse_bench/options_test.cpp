// Command lines of fuse-bench, and what is wrong with them.
#include "options.h"

#include <gmock/gmock.h>

using namespace fuse;
using namespace fuse::bench;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

Options parsed(std::vector<const char *> words) {
  words.insert(words.begin(), "fuse-bench");
  return parse_options(static_cast<int>(words.size()), words.data()).value();
}

std::string refused(const std::vector<const char *> &words) {
  try {
    parsed(words);
  } catch (const UsageError &e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "nothing is wrong";
}

TEST(BenchOptions, FilesAreToldFromNamesByTheirEndings) {
  EXPECT_THAT(parsed({"softmax", "row sum"}).filters, ElementsAre("softmax", "row sum"));
  Options o = parsed({"a/x.fuse", "y.kernel", "--dim=N=32", "--dim", "R=4,C=5"});
  EXPECT_THAT(o.files, ElementsAre("a/x.fuse", "y.kernel"));
  EXPECT_TRUE(o.filters.empty());
  EXPECT_EQ(o.dims, (Bindings{{"C", 5}, {"N", 32}, {"R", 4}}));
}

TEST(BenchOptions, SizesHaveOneForm) {
  for (const char *wrong : {"--dim=N", "--dim==3", "--dim=N=", "--dim=N=x", "--dim=N=-1"})
    EXPECT_THAT(refused({"x.fuse", wrong}), HasSubstr("is not of the form N=32")) << wrong;
  EXPECT_EQ(refused({"x.fuse", "--dim=N=1,N=2"}), "--dim: N is given twice");
  EXPECT_THAT(refused({"softmax", "--dim=N=1"}), HasSubstr("--dim: wants a program"));
}

TEST(BenchOptions, WhatHasNoMeaningTogetherIsRefused) {
  EXPECT_THAT(refused({"x.fuse", "softmax"}), HasSubstr("one kind at a time"));
  EXPECT_THAT(refused({"old.json"}), HasSubstr("name it as --suite=old.json"));
  EXPECT_THAT(refused({"--launch", "--calibrate"}), HasSubstr("one at a time"));
  EXPECT_THAT(refused({"--calibrate", "x.fuse"}), HasSubstr("takes no program"));
  EXPECT_THAT(refused({"--launch", "--on=host"}), HasSubstr("need a GPU"));
  EXPECT_THAT(refused({"--launch", "--compare=old"}), HasSubstr("--compare"));
  EXPECT_THAT(refused({"--with=new"}), HasSubstr("--with: wants --compare"));
  EXPECT_THAT(refused({"--runs=0"}), HasSubstr("must be positive"));
  EXPECT_THAT(refused({"--on=moon"}), HasSubstr("none of gpu, host"));
  EXPECT_THAT(refused({"--lunch"}), HasSubstr("--lunch"));
}

TEST(BenchOptions, FilesMayBeDifferentiated) {
  EXPECT_THAT(parsed({"x.fuse", "--grad=x,w"}).grad, ElementsAre("x", "w"));
  EXPECT_THAT(refused({"softmax", "--grad=x"}), HasSubstr("--grad: wants a program"));
  EXPECT_THAT(refused({"x.fuse", "--grad=x", "--launch"}), HasSubstr("--launch and --grad"));
}

TEST(BenchOptions, RunsWithoutTimesHaveNone) {
  EXPECT_TRUE(parsed({"--once"}).once);
  for (const char *timed : {"--on=host", "--kernels", "--tune", "--compare=old"})
    EXPECT_THAT(refused({"--once", timed}), HasSubstr("--once: takes no times")) << timed;
}

TEST(BenchOptions, TextsOfProbesNeedNoGpu) {
  EXPECT_TRUE(parsed({"--calibrate", "--list", "--on=host"}).calibrate);
}

}  // namespace
