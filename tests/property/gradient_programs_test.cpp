// Random graphs with their gradients through the whole road: whatever the dtypes, they verify, read
// back, keep their meaning in every pass and run as the evaluator wants it.
#include "property/derivatives.h"
#include "property/properties.h"

#include "ir/graph_verify.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

RandomGraphOptions small() {
  RandomGraphOptions options;
  options.operations = 7;
  options.max_elements = 600;
  options.extents = {1, 2, 3, 4, 5, 8, 16, 17};
  options.symbol_values = {2, 3, 16};
  return options;
}

/// Up to eight axes: rules must not need more.
RandomGraphOptions deep() {
  RandomGraphOptions options = small();
  options.max_rank = kMaxRank;
  options.views = 7;
  options.reductions = options.scans = 2;
  options.extents = {1, 2, 2, 3, 4, 5};
  options.symbols = false;  // products of many are too large an index
  return options;
}

RandomGraph joint(std::uint64_t seed) {
  RandomGraphOptions options = seed % 2 == 0 ? small() : deep();
  options.special_values = seed % 8 < 2;
  Entropy entropy(seed);
  return with_gradients(random_graph(entropy, options), entropy);
}

class GradientPrograms : public testing::TestWithParam<int> {
 protected:
  void try_graphs(std::uint64_t graphs, const Property &property) {
    graphs = setting("FUSE_PROPERTY_GRAPHS", graphs);
    std::uint64_t first = setting("FUSE_PROPERTY_FIRST", 0) + std::uint64_t(GetParam()) * graphs;
    for (std::uint64_t seed = first; seed < first + graphs; ++seed)
      if (std::string fault = check(joint(seed), property); !fault.empty())
        ADD_FAILURE() << "seed " << seed << ": " << fault;
  }
};

std::string verifies(const RandomGraph &random) {
  verify(random.graph);
  return parse(to_string(random.graph)) == random.graph ? "" : "the text reads back otherwise";
}

TEST_P(GradientPrograms, Verify) { try_graphs(400, verifies); }
TEST_P(GradientPrograms, PassesKeepMeaning) { try_graphs(60, passes_keep_meaning); }
TEST_P(GradientPrograms, TextsReadBack) { try_graphs(30, texts_read_back); }
TEST_P(GradientPrograms, KernelsCompute) { try_graphs(10, kernels_compute); }
TEST_P(GradientPrograms, LaunchesCompute) { try_graphs(10, launches_compute); }

INSTANTIATE_TEST_SUITE_P(Shards, GradientPrograms, testing::Range(0, 4));

}  // namespace
}  // namespace fuse
