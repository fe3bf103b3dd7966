// Whatever tuning tries computes the same: kernels of every form, mapped as no rule would.
#include "ir/evaluate.h"
#include "passes/passes.h"
#include "property/random_graph.h"
#include "property/run_program.h"

#include <gtest/gtest.h>

#include <set>

namespace fuse {
namespace {

struct Subject {
  const char *name;
  const char *text;
};

constexpr Subject kSubjects[] = {
    {"flat", "graph @flat(%x: bf16[37, 520]) { %y = gelu %x\n return %y as y }"},
    {"odd_flat", "graph @odd_flat(%x: bf16[7, 1025]) { %y = gelu %x\n return %y as y }"},
    {"softmax", "graph @softmax(%x: bf16[5, 4096]) { %y = softmax %x axis=1\n return %y as y }"},
    {"long_softmax",
     "graph @long_softmax(%x: bf16[2, 50257]) { %y = softmax %x axis=1\n return %y as y }"},
    {"odd_norm",
     "graph @odd_norm(%x: bf16[9, 1027], %w: bf16[1027], %b: bf16[1027]) {\n"
     "  %y = layer_norm %x, %w, %b axes=[1]\n  return %y as y }"},
    {"row_sum", "graph @row_sum(%x: f32[300, 2048]) { %y = sum %x axes=[1]\n return %y as y }"},
    {"few_sums", "graph @few_sums(%x: bf16[3, 70000]) { %y = sum %x axes=[1]\n return %y as y }"},
    {"column_sum",
     "graph @column_sum(%x: bf16[999, 264]) { %y = sum %x axes=[0]\n return %y as y }"},
    {"rows_and_columns",
     "graph @rows_and_columns(%x: bf16[70, 768]) {\n  %n = layer_norm %x axes=[1]\n"
     "  %c = sum %n axes=[0]\n  return %n as n, %c as c }"},
    {"transpose",
     "graph @transpose(%x: bf16[96, 130], %y: bf16[130, 96]) {\n"
     "  %t = transpose %x perm=[1, 0]\n  %z = add %t, %y\n  return %z as z }"},
    {"row_scan", "graph @row_scan(%x: f32[3, 3000]) { %y = cumsum %x axis=1\n return %y as y }"},
    {"long_scan", "graph @long_scan(%x: f32[1, 80000]) { %y = cumsum %x axis=1\n return %y as y }"},
    {"column_scan",
     "graph @column_scan(%x: f32[600, 40]) { %y = cumsum %x axis=0\n return %y as y }"},
    {"batch_norm",
     "graph @batch_norm(%x: bf16[4, 3, 32, 32]) {\n  %m = mean %x axes=[0, 2, 3] keep\n"
     "  %d = sub %x, %m\n  %s = mul %d, %d\n  %v = mean %s axes=[0, 2, 3] keep\n"
     "  %q = add %d, %v\n  return %q as y }"},
};

class Tunings : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    graph_ = parse(GetParam().text);
    Entropy entropy(3);
    Program program = lower(*graph_, target_, {});
    for (const Argument &a : program.inputs)
      inputs_.push_back(random_tensor(entropy, a.dtype, evaluate(a.shape, {}), false));
    expected_ = evaluate(canonicalize(*graph_).data(), inputs_, {}).outputs;
  }

  Program tuned(const Tuning &tuning) const {
    LowerOptions options;
    options.tunings = {{"k0", tuning}};
    return lower(*graph_, target_, options);
  }

  /// Runs the program where its kernels differ from all before.
  void expect_computes(const Tuning &tuning) {
    SCOPED_TRACE("with " + to_string(tuning));
    Program program = tuned(tuning);
    std::string text;
    for (const Kernel &k : program.kernels) {
      ASSERT_NO_THROW(verify(k)) << to_string(k);
      text += to_string(k);
    }
    if (!seen_.insert(text).second) return;
    ProgramRun run = run_program(program, inputs_, {}, host_executor());
    ASSERT_EQ(run.fault, "") << text;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      Comparison c = compare(expected_[i], run.outputs[i]);
      EXPECT_TRUE(c.passed()) << to_string(c) << "\n" << text;
    }
  }

  int resident(const Tuning &tuning) const { return tuned(tuning).kernels[0].resident; }

  Target target_ = Target::named("h200");
  std::optional<Graph> graph_;
  std::vector<Tensor> inputs_;
  std::vector<Expected> expected_;
  std::set<std::string> seen_;
};

TEST_P(Tunings, OneStepFromTheRules) {
  for (const Tuning &tuning : neighbours({}, resident({}))) expect_computes(tuning);
  EXPECT_GT(seen_.size(), 0u);
}

TEST_P(Tunings, ManySteps) {
  Entropy entropy(11);
  Tuning tuning;
  for (int step = 0; step < 12; ++step) {
    std::vector<Tuning> next = neighbours(tuning, resident(tuning));
    tuning = next[entropy.below(next.size())];
    expect_computes(tuning);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tunings, testing::ValuesIn(kSubjects),
                         [](const auto &param) { return param.param.name; });

}  // namespace
}  // namespace fuse
