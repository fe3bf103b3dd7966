// Gradients of every operation and of random graphs, first and second, against differences.
#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/graph_verify.h"
#include "ir/op.h"
#include "property/derivatives.h"

#include <fuse/builders.h>
#include <fuse/grad.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace fuse {
namespace {

struct Range {
  double low, high;
};
constexpr Range kRanges[] = {{-0.9, 0.9}, {0.1, 0.9}, {1.1, 2.5}, {-3, 3}};

Tensor filled(Entropy &entropy, std::vector<std::int64_t> shape, Range range) {
  Tensor t(f64, std::move(shape));
  for (std::int64_t i = 0; i < t.size(); ++i)
    t.set_bits(i, encode_float(f64, entropy.uniform(range.low, range.high)));
  return t;
}

/// How many of the ranges have a derivative; all of them must agree.
int judge(const Graph &g, const std::string &what, bool second) {
  int judged = 0;
  std::uint64_t seed = 1;
  for (Range range : kRanges) {
    for (int trial = 0; trial < 3; ++trial, ++seed) {
      Entropy entropy(seed);
      std::vector<Tensor> inputs;
      for (Value v : g.inputs()) inputs.push_back(filled(entropy, evaluate(v.shape(), {}), range));
      DerivativeReport r = judge_gradient(g, inputs, {}, entropy);
      if (r.judged && second) {
        Graph first = vjp(g, {"x"}, {"y"});
        inputs.push_back(filled(entropy, evaluate(g.outputs()[0].shape(), {}), {-1, 1}));
        r = judge_gradient(first, inputs, {}, entropy);
      }
      if (!r.judged) continue;
      ++judged;
      EXPECT_TRUE(r.passed()) << what << ", seed " << seed << ": " << to_string(r);
    }
  }
  return judged;
}

using Build = std::function<NodeId(GraphData &, Op, std::vector<NodeId>)>;

Graph graph_of(Op op, DType type, std::size_t operands, const Build &build) {
  Graph g("g");
  std::vector<NodeId> ids;
  for (std::size_t i = 0; i < operands; ++i)
    ids.push_back(g.input(std::vector{"x", "y_in", "z_in"}[i], type, {2, 4}).index());
  g.output("y", g.data().value(build(g.data(), op, ids)));
  return g;
}

NodeId elementwise(GraphData &g, Op op, std::vector<NodeId> x) {
  if (op == Op::Select) x.insert(x.begin(), build_elementwise(g, Op::Lt, std::vector{x[0], x[1]}));
  return build_elementwise(g, op, x);
}

std::size_t floats_of(Op op) {
  switch (info(op).kind) {
    case OpKind::Ternary: return op == Op::Select ? 2 : 3;
    case OpKind::Binary: return 2;
    default: return 1;
  }
}

/// Graphs of one operation on floats, whose result is one.
std::vector<Graph> graphs_of(Op op, DType type = f64) {
  std::vector<Graph> graphs;
  const OpInfo &op_info = info(op);
  if (!accepts(op_info.types, type)) return graphs;
  switch (op_info.kind) {
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Ternary: graphs.push_back(graph_of(op, type, floats_of(op), elementwise)); break;
    case OpKind::Reduce:
      if (op == Op::ArgMax || op == Op::ArgMin) break;
      for (std::vector<int> axes : {std::vector{0}, {1}, {0, 1}})
        graphs.push_back(graph_of(op, type, 1, [&](GraphData &g, Op o, std::vector<NodeId> x) {
          return build_reduce(g, o, x[0], axes, axes[0] == 1);
        }));
      break;
    case OpKind::Scan:
      for (int n = 0; n < 8; ++n)
        graphs.push_back(graph_of(op, type, 1, [&](GraphData &g, Op o, std::vector<NodeId> x) {
          return build_scan(g, o, x[0], {n & 1, (n & 2) != 0, (n & 4) != 0});
        }));
      break;
    default: break;
  }
  std::erase_if(graphs, [&](const Graph &g) { return g.outputs()[0].dtype() != type; });
  return graphs;
}

class EveryOp : public testing::TestWithParam<int> {};

TEST_P(EveryOp, DerivativesAreThoseOfDifferences) {
  Op op = static_cast<Op>(GetParam());
  // An exclusive scan of extremes begins with an infinity.
  bool is_extreme = op == Op::CumMax || op == Op::CumMin || op == Op::LogCumSumExp;
  for (const Graph &g : graphs_of(op)) {
    std::string what = to_string(g);
    bool is_infinite = is_extreme && what.find("exclusive") != std::string::npos;
    EXPECT_TRUE(is_infinite || judge(g, what, false) > 0) << what;
    EXPECT_TRUE(is_infinite || judge(g, what, true) > 0) << what;
  }
}

/// The gradients by all inputs, of inputs and a cotangent that every dtype holds.
std::vector<double> gradients(const Graph &g, Range range, std::uint64_t seed) {
  std::vector<std::string> names;
  for (NodeId id : g.data().inputs) names.push_back(g.data().attr<InputAttr>(id).name);
  Graph joint = vjp(g, names, {"y"});
  verify(joint);
  Entropy entropy(seed);
  std::vector<Tensor> inputs;
  for (Value v : joint.inputs()) {
    Range drawn = inputs.size() < names.size() ? range : Range{-1, 1};
    Tensor wide = filled(entropy, evaluate(v.shape(), {}), drawn), t(v.dtype(), wide.shape);
    for (std::int64_t i = 0; i < t.size(); ++i)
      t.set_bits(i, encode_float(v.dtype(), round_float(bf16, as_double(wide.literal(i)))));
    inputs.push_back(std::move(t));
  }
  std::vector<double> numbers;
  std::vector<Expected> outputs = evaluate(joint.data(), inputs).outputs;
  for (std::size_t n = 1; n < outputs.size(); ++n) {
    Tensor d = rounded(outputs[n]);
    for (std::int64_t i = 0; i < d.size(); ++i) numbers.push_back(as_double(d.literal(i)));
  }
  return numbers;
}

// 16-bit gradients have the digits of their dtype: nothing between is rounded to it.
TEST_P(EveryOp, NarrowGradientsAreTheWideOnesRounded) {
  Op op = static_cast<Op>(GetParam());
  std::vector<Graph> wide = graphs_of(op);
  for (auto [type, tolerance] : {std::pair{f32, 1e-5}, {f16, 0x1p-10}, {bf16, 0x1p-7}}) {
    std::vector<Graph> narrow = graphs_of(op, type);
    ASSERT_EQ(wide.size(), narrow.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      for (Range range : kRanges) {
        std::vector<double> w = gradients(wide[i], range, 7), n = gradients(narrow[i], range, 7);
        for (std::size_t k = 0; k < w.size(); ++k) {
          bool is_moderate = std::fabs(w[k]) < 1e3;
          double bound = is_moderate ? 1e-5 + tolerance * std::fabs(w[k]) : 0;
          EXPECT_TRUE(!is_moderate || std::fabs(n[k] - w[k]) <= bound)
              << n[k] << ", not " << w[k] << ": " << to_string(narrow[i]);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::Range(0, kNumOps), [](const auto &tested) {
  return std::string(fuse::info(static_cast<Op>(tested.param)).name);
});

RandomGraphOptions plain_options() {
  RandomGraphOptions options;
  options.special_values = false;
  options.max_elements = 256;
  options.operations = 8;
  options.dtypes = {f64, f64, f64, f64, i32, boolean};
  options.extents = {1, 2, 3, 4, 5, 7, 8};
  options.symbol_values = {2, 3, 5};
  return options;
}

struct Tally {
  int judged = 0, poles = 0;
};

void judge_random(std::uint64_t seed, int order, Tally &tally) {
  Entropy entropy(seed);
  RandomGraph random = random_graph(entropy, plain_options());
  for (int n = 1; n < order; ++n) random = with_gradients(std::move(random), entropy);
  DerivativeReport r = judge_gradient(random.graph, random.inputs, random.symbols, entropy);
  // A direction along which nothing changes may meet an infinite derivative: asin(x / x).
  if (r.judged && !std::isfinite(r.gradient)) ++tally.poles;
  if (!r.judged || !std::isfinite(r.gradient)) return;
  ++tally.judged;
  ASSERT_TRUE(r.passed()) << "seed " << seed << ": " << to_string(r) << "\n"
                          << to_string(random.graph);
}

class RandomGradients : public testing::TestWithParam<int> {};

TEST_P(RandomGradients, FirstAgreeWithDifferences) {
  constexpr std::uint64_t kGraphs = 400;
  Tally tally;
  for (std::uint64_t n = 0; n < kGraphs && !HasFatalFailure(); ++n)
    judge_random(std::uint64_t(GetParam()) * kGraphs + n, 1, tally);
  EXPECT_GT(tally.judged, 150);
  EXPECT_LT(tally.poles, 8);
}

TEST_P(RandomGradients, SecondAgreeWithDifferences) {
  constexpr std::uint64_t kGraphs = 200;
  Tally tally;
  for (std::uint64_t n = 0; n < kGraphs && !HasFatalFailure(); ++n)
    judge_random(1000000 + std::uint64_t(GetParam()) * kGraphs + n, 2, tally);
  EXPECT_GT(tally.judged, 40);
  EXPECT_LT(tally.poles, 8);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGradients, testing::Range(0, 8));

}  // namespace
}  // namespace fuse
