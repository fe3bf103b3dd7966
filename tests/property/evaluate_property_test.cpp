// The evaluator against plain execution of random graphs: right results pass, disturbed ones fail.
#include "ir/evaluate.h"
#include "ir/op.h"
#include "property/execute.h"
#include "property/random_graph.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

std::string describe(const GraphData &g, NodeId id) {
  std::string text = std::string(info(g.node(id).op).text) + " : " +
                     std::string(to_string(g.dtype(id))) + to_string(g.shape(id)) + " of";
  for (NodeId operand : g.operands(id))
    text += " " + std::string(info(g.node(operand).op).text) + " : " +
            std::string(to_string(g.dtype(operand)));
  return text;
}

struct Trial {
  explicit Trial(std::uint64_t seed, const RandomGraphOptions &options = {}) : entropy(seed) {
    random = random_graph(entropy, options);
    EvaluateOptions all;
    all.all_values = true;
    judged = evaluate(random.graph.data(), random.inputs, random.symbols, all).values;
    executed = execute(random.graph.data(), random.inputs, random.symbols);
  }
  Entropy entropy;
  RandomGraph random;
  std::vector<Expected> judged;
  std::vector<Tensor> executed;
};

class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, PlainExecutionPasses) {
  constexpr std::uint64_t kGraphs = 150;
  std::int64_t elements = 0, uncertain = 0;
  for (std::uint64_t n = 0; n < kGraphs; ++n) {
    std::uint64_t seed = std::uint64_t(GetParam()) * kGraphs + n;
    Trial run(seed);
    const GraphData &g = run.random.graph.data();
    for (NodeId id = 0; id < g.size(); ++id) {
      Comparison c = compare(run.judged[id], run.executed[id]);
      ASSERT_TRUE(c.passed()) << "seed " << seed << ": " << describe(g, id) << ": " << to_string(c);
      elements += c.elements;
      uncertain += c.uncertain;
    }
  }
  EXPECT_LT(double(uncertain), 0.15 * double(elements));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, 8));

TEST(RandomGraph, DisturbedElementsFail) {
  RandomGraphOptions options;
  options.special_values = false;
  std::int64_t tried = 0, found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Trial run(seed, options);
    NodeId id = run.random.graph.data().outputs[0].node;
    Tensor &out = run.executed[id];
    Comparison before = compare(run.judged[id], out);
    if (out.size() == 0 || before.uncertain > 0) continue;
    std::int64_t i = std::int64_t(run.entropy.below(std::size_t(out.size())));
    std::uint64_t high_bits = std::uint64_t{3} << (8 * size_of(out.dtype) - 3);
    out.set_bits(i, is_bool(out.dtype) ? out.bits(i) ^ 1 : out.bits(i) ^ high_bits);
    ++tried;
    found += compare(run.judged[id], out).failures == 1;
  }
  EXPECT_GT(tried, 100);
  EXPECT_GE(found, tried - 2);  // a NaN may become another NaN
}

TEST(RandomGraph, TheSameSeedGivesTheSameGraph) {
  Trial a(5), b(5);
  ASSERT_EQ(a.executed.size(), b.executed.size());
  for (std::size_t i = 0; i < a.executed.size(); ++i)
    EXPECT_EQ(a.executed[i].bytes, b.executed[i].bytes);
}

TEST(RandomGraph, AnyBytesGiveAValidGraph) {
  std::vector<std::uint8_t> bytes = {1, 200, 3, 77, 5, 19, 254, 8, 9, 100};
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    Entropy entropy(std::span<const std::uint8_t>(bytes.data(), n));
    EXPECT_FALSE(random_graph(entropy).graph.outputs().empty());
  }
}

}  // namespace
}  // namespace fuse
