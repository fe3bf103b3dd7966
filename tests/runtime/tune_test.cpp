// The search of tuning, with a machine of our own instead of a GPU.
#include "runtime/tune.h"

#include "passes/passes.h"

#include <gtest/gtest.h>

#include <limits>

namespace fuse {
namespace {

const Target kTarget = Target::named("h200");

struct Planned {
  explicit Planned(const char *text) : graph(parse(text)) {}

  ScheduleTuned schedule() const {
    return [this](const Tunings &tunings) {
      LowerOptions options;
      options.tunings = tunings;
      return lower(graph, kTarget, options);
    };
  }
  Graph graph;
};

const char *const kGelu = "graph @g(%x: bf16[4096, 4096]) { %y = gelu %x\n return %y as y }";

/// Asks for as few threads a block as there can be.
double fewer_threads(const Program &program) { return program.kernels[0].threads; }

MeasurePrograms each(double (*us)(const Program &), int *calls = nullptr) {
  return [us, calls](std::vector<Program> programs) {
    std::vector<double> all;
    for (const Program &p : programs) all.push_back(us(p));
    if (calls) ++*calls;
    return all;
  };
}

TEST(Tune, GoesStepByStepToTheFastest) {
  Planned planned(kGelu);
  std::vector<TunedKernel> kernels = tune(planned.schedule(), each(fewer_threads));
  ASSERT_EQ(kernels.size(), 1u);
  Program fastest = planned.schedule()(tunings_of(kernels));
  EXPECT_EQ(fastest.kernels[0].threads, 32);
  EXPECT_EQ(kernels[0].us, 32);
  EXPECT_GT(kernels[0].rule_us, 32);
  EXPECT_GT(kernels[0].tried, 3);
}

TEST(Tune, KeepsTheRulesWhereNothingIsFaster) {
  std::vector<TunedKernel> kernels =
      tune(Planned(kGelu).schedule(), each([](const Program &) { return 5.0; }));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].tuning, Tuning());
  EXPECT_TRUE(tunings_of(kernels).empty());
  Plan plan;
  add_decisions(kernels, plan);
  ASSERT_EQ(plan.decisions.size(), 1u);
  EXPECT_EQ(plan.decisions[0].about, "mapping of k0");
  EXPECT_EQ(plan.decisions[0].chosen, "by rule");
}

TEST(Tune, KeepsTheRulesWhereTheyDoNotRun) {
  int calls = 0;
  auto never = [](const Program &) { return std::numeric_limits<double>::infinity(); };
  std::vector<TunedKernel> kernels = tune(Planned(kGelu).schedule(), each(never, &calls));
  EXPECT_TRUE(tunings_of(kernels).empty());
  EXPECT_EQ(calls, 1) << "nothing to compare with";
}

TEST(Tune, KernelsThatDifferInNamesAreMeasuredOnce) {
  Planned planned(R"(graph @g(%x: bf16[4096, 4096], %y: bf16[4096, 4096]) {
  %m = extern "f" %x, %y : bf16[4096, 4096]
  %a = softmax %m axis=1
  %n = extern "f" %a, %y : bf16[4096, 4096]
  %b = softmax %n axis=1
  %o = extern "f" %b, %y : bf16[4096, 4096]
  return %o as o
})");
  std::vector<TunedKernel> kernels = tune(planned.schedule(), each(fewer_threads));
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_NE(kernels[0].name, kernels[1].name);
  EXPECT_EQ(kernels[0].tuning, kernels[1].tuning);
  EXPECT_NE(kernels[0].tuning, Tuning());
}

TEST(Tune, BothKernelsOfAScanOverBlocksAreMeasuredTogether) {
  Planned planned("graph @g(%x: f32[1, 1048576]) { %y = cumsum %x axis=1\n return %y as y }");
  auto two = [](const Program &p) { return p.kernels.size() == 2 ? 1.0 : 2.0; };
  std::vector<TunedKernel> kernels = tune(planned.schedule(), each(two));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].us, 1.0);
}

TEST(Tune, TextReadsBack) {
  Tuning tuning{1, -2, -1, 3, 1, 6, 2, RowForm::Looped};
  std::vector<TunedKernel> kernels = {{"k0", tuning, 12.5, 14, 9}, {"k7", {}, 1, 1, 3}};
  std::vector<TunedKernel> read = parse_tuned_kernels(to_string(kernels));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].name, "k0");
  EXPECT_EQ(read[0].tuning, tuning);
  EXPECT_EQ(read[0].us, 12.5);
  EXPECT_EQ(read[0].tried, 9);
  EXPECT_EQ(read[1].tuning, Tuning());
  EXPECT_TRUE(parse_tuned_kernels("nonsense\n").empty());
  EXPECT_TRUE(parse_tuned_kernels("k0 1 2 3 rows=sideways\n").empty());
}

}  // namespace
}  // namespace fuse
