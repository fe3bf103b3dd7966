// Random graphs through the whole road. FUSE_PROPERTY_GRAPHS is the number of graphs a shard tries,
// FUSE_PROPERTY_FIRST the first seed, for longer searches.
#include "property/properties.h"

#include "passes/passes.h"
#include "property/joined.h"

#include <gtest/gtest.h>

#include <map>

namespace fuse {
namespace {

/// Tries graphs of seeds; reports each kind of fault once, with the smallest graph that shows it.
void try_graphs(int shard, std::uint64_t graphs, const RandomGraphOptions &options,
                const Property &property) {
  graphs = setting("FUSE_PROPERTY_GRAPHS", graphs);
  std::uint64_t first = setting("FUSE_PROPERTY_FIRST", 0) + std::uint64_t(shard) * graphs;
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    Entropy entropy(seed);
    std::string fault = check(random_graph(entropy, options), property);
    if (!fault.empty()) ADD_FAILURE() << "seed " << seed << ": " << fault;
  }
}

/// Few dims, most of them long, many reductions: what row and column kernels are made of.
RandomGraphOptions rows() {
  RandomGraphOptions options;
  options.operations = 10;
  options.max_elements = 20000;
  options.reductions = 4;
  options.views = 2;
  options.extents = {1, 2, 3, 511, 512, 1000, 1021, 2048, 4096, 4100};
  options.symbol_values = {2, 5, 511, 1024, 1999, 4097};
  options.max_rank = 2;
  options.dtypes = {DType::F32, DType::F32, DType::BF16, DType::BF16, DType::F16, DType::I32};
  return options;
}

/// Up to eight axes of few elements, mostly views: what access maps are made of.
RandomGraphOptions deep() {
  RandomGraphOptions options;
  options.max_elements = 2000;
  options.reductions = 2;
  options.views = 7;
  options.extents = {1, 2, 2, 3, 4, 5, 8};
  options.symbol_values = {2, 3, 5};
  options.max_rank = kMaxRank;
  options.dtypes = {DType::F32, DType::BF16, DType::I8, DType::I64, DType::F64};
  return options;
}

/// Rows with many scans among few other operations.
RandomGraphOptions scans() {
  RandomGraphOptions options = rows();
  options.operations = 6;
  options.scans = 6;
  options.reductions = 2;
  options.extents = {1, 2, 3, 31, 33, 511, 1000, 4100};
  options.max_rank = 3;
  options.dtypes.push_back(DType::F64);
  options.dtypes.push_back(DType::I64);
  return options;
}

/// Views of planes and no reductions: what tiles in shared memory are made of.
RandomGraphOptions planes() {
  RandomGraphOptions options;
  options.operations = 6;
  options.max_elements = 20000;
  options.reductions = 0;
  options.scans = 0;
  options.views = 5;
  options.extents = {2, 8, 9, 16, 31, 33, 64, 65, 72, 128};
  options.symbol_values = {8, 33, 64, 100};
  options.max_rank = 3;
  options.dtypes = {DType::F32, DType::BF16, DType::F8E4M3, DType::U8, DType::F64};
  return options;
}

/// The graph of a seed three times, once with other extents: small kernels of one body.
RandomGraph copies(std::uint64_t seed, RandomGraphOptions options) {
  std::vector<RandomGraph> graphs;
  for (int i = 0; i < 3; ++i) {
    if (i == 2)
      for (std::int64_t &extent : options.extents) extent = extent * 3 / 2 + 1;
    Entropy entropy(seed);
    graphs.push_back(random_graph(entropy, options));
  }
  if (graphs[2].symbols != graphs[0].symbols) graphs.pop_back();
  return joined(graphs);
}

/// Kernels with instances that the graphs of some seeds give.
int try_copies(std::uint64_t first, std::uint64_t graphs, const RandomGraphOptions &options) {
  int packed = 0;
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    RandomGraph random = copies(seed, options);
    for (const auto &property : {kernels_compute, launches_compute})
      if (std::string fault = check(random, property); !fault.empty())
        ADD_FAILURE() << "seed " << seed << ": " << fault;
    LowerOptions lowering;
    lowering.sizes = random.symbols;
    for (const Kernel &k : lower(random.graph, Target::named("h200"), lowering).kernels)
      packed += k.instances > 0;
  }
  return packed;
}

class Pipeline : public testing::TestWithParam<int> {};

TEST_P(Pipeline, PassesKeepMeaning) { try_graphs(GetParam(), 60, {}, passes_keep_meaning); }
TEST_P(Pipeline, TextsReadBack) { try_graphs(GetParam(), 60, {}, texts_read_back); }
TEST_P(Pipeline, LayoutsSpanDims) { try_graphs(GetParam(), 40, {}, layouts_span_dims); }
TEST_P(Pipeline, RowLayoutsSpanDims) { try_graphs(GetParam(), 40, rows(), layouts_span_dims); }
TEST_P(Pipeline, StatementsArePlanned) { try_graphs(GetParam(), 60, {}, statements_are_planned); }
TEST_P(Pipeline, RowStatementsArePlanned) {
  try_graphs(GetParam(), 60, rows(), statements_are_planned);
}
TEST_P(Pipeline, DeepStatementsArePlanned) {
  try_graphs(GetParam(), 60, deep(), statements_are_planned);
}
TEST_P(Pipeline, KernelsCompute) { try_graphs(GetParam(), 12, {}, kernels_compute); }
TEST_P(Pipeline, KernelsComputeStrictly) {
  try_graphs(GetParam(), 8, {}, kernels_compute_strictly);
}
TEST_P(Pipeline, LaunchesCompute) { try_graphs(GetParam(), 12, {}, launches_compute); }
TEST_P(Pipeline, DeepReadBack) { try_graphs(GetParam(), 30, deep(), texts_read_back); }
TEST_P(Pipeline, DeepKeepMeaning) { try_graphs(GetParam(), 30, deep(), passes_keep_meaning); }
TEST_P(Pipeline, DeepCompute) { try_graphs(GetParam(), 6, deep(), kernels_compute); }
TEST_P(Pipeline, DeepLaunch) { try_graphs(GetParam(), 6, deep(), launches_compute); }
TEST_P(Pipeline, PlanesCompute) { try_graphs(GetParam(), 10, planes(), kernels_compute); }
TEST_P(Pipeline, PlanesLaunch) { try_graphs(GetParam(), 10, planes(), launches_compute); }
TEST_P(Pipeline, RowsReadBack) { try_graphs(GetParam(), 30, rows(), texts_read_back); }
TEST_P(Pipeline, RowsCompute) { try_graphs(GetParam(), 8, rows(), kernels_compute); }
TEST_P(Pipeline, RowsLaunch) { try_graphs(GetParam(), 8, rows(), launches_compute); }

TEST_P(Pipeline, ScansKeepMeaning) { try_graphs(GetParam(), 40, scans(), passes_keep_meaning); }
TEST_P(Pipeline, ScanStatementsArePlanned) {
  try_graphs(GetParam(), 60, scans(), statements_are_planned);
}
TEST_P(Pipeline, ScanLayoutsSpanDims) { try_graphs(GetParam(), 40, scans(), layouts_span_dims); }
TEST_P(Pipeline, ScansCompute) { try_graphs(GetParam(), 12, scans(), kernels_compute); }
TEST_P(Pipeline, ScansLaunch) { try_graphs(GetParam(), 12, scans(), launches_compute); }

TEST_P(Pipeline, CopiesCompute) {
  std::uint64_t graphs = setting("FUSE_PROPERTY_GRAPHS", 8);
  std::uint64_t first = setting("FUSE_PROPERTY_FIRST", 0) + std::uint64_t(GetParam()) * graphs;
  EXPECT_GT(try_copies(first, graphs, {}), 0) << "nothing was packed";
  EXPECT_GT(try_copies(first, graphs / 2, rows()), 0) << "nothing was packed";
}

INSTANTIATE_TEST_SUITE_P(Shards, Pipeline, testing::Range(0, 4));

}  // namespace
}  // namespace fuse
