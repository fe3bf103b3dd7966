// Every graph pass on random graphs: the result verifies, computes what the graph computes, and is
// a fixed point.
#include "ir/evaluate.h"
#include "ir/graph_verify.h"
#include "ir/program_text.h"
#include "passes/passes.h"
#include "property/execute.h"
#include "property/random_graph.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

constexpr std::uint64_t kGraphs = 150;

class PassesOnRandomGraphs : public testing::TestWithParam<int> {
 protected:
  template <class Check>
  void for_each_graph(Check check) {
    for (std::uint64_t n = 0; n < kGraphs; ++n) {
      std::uint64_t seed = std::uint64_t(GetParam()) * kGraphs + n;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Entropy entropy(seed);
      check(random_graph(entropy));
      if (HasFatalFailure()) return;
    }
  }
};

/// The judge's values of the graph against plain execution of what a pass made of it.
void expect_same_values(const RandomGraph &before, const Graph &after) {
  std::vector<Expected> expected =
      evaluate(before.graph.data(), before.inputs, before.symbols).outputs;
  std::vector<Tensor> values = execute(after.data(), before.inputs, before.symbols);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Comparison c = compare(expected[i], values[after.data().outputs[i].node]);
    ASSERT_TRUE(c.passed()) << "output " << i << ": " << to_string(c) << "\n"
                            << to_string(before.graph) << to_string(after);
  }
}

TEST_P(PassesOnRandomGraphs, ExactPassesKeepValues) {
  for_each_graph([](const RandomGraph &random) {
    for (Graph (*pass)(const Graph &) : {eliminate_dead, fold_constants, simplify}) {
      Graph after = pass(random.graph);
      verify(after);
      expect_same_values(random, after);
    }
  });
}

TEST_P(PassesOnRandomGraphs, StrictCanonicalFormKeepsValues) {
  for_each_graph([](const RandomGraph &random) {
    expect_same_values(random, canonicalize(random.graph, true));
  });
}

TEST_P(PassesOnRandomGraphs, AreIdempotent) {
  for_each_graph([](const RandomGraph &random) {
    for (const GraphPass &pass : graph_passes()) {
      Graph once = pass.run(random.graph);
      EXPECT_EQ(to_string(pass.run(once)), to_string(once)) << pass.name;
    }
    Graph once = canonicalize(random.graph);
    EXPECT_EQ(to_string(canonicalize(once)), to_string(once));
  });
}

TEST_P(PassesOnRandomGraphs, LoweredProgramsReadBack) {
  for_each_graph([](const RandomGraph &random) {
    LowerOptions options;
    if (random.inputs.size() % 2) options.inputs.assign(random.inputs.size(), {true, 4});
    std::string text;
    try {
      text = to_string(lower(random.graph, Target::named("h200"), options));
    } catch (const Error &) {
      return;  // whether every graph can be lowered is asked in properties.cpp
    }
    EXPECT_EQ(to_string(parse_program(text)), text);
  });
}

TEST_P(PassesOnRandomGraphs, WidenKeepsTypesOfOutputs) {
  for_each_graph([](const RandomGraph &random) {
    Graph wide = widen(random.graph);
    verify(wide);
    std::vector<Value> before = random.graph.outputs(), after = wide.outputs();
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].dtype(), after[i].dtype());
      EXPECT_EQ(before[i].shape(), after[i].shape());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, PassesOnRandomGraphs, testing::Range(0, 8));

}  // namespace
}  // namespace fuse
