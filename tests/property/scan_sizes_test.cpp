// Scans over axes of every length: within a warp, a block and beyond, as static sizes and as one
// program of symbols; the same bits in every order of threads, as the evaluator wants them.
#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "property/random_graph.h"
#include "property/run_program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fuse {
namespace {

constexpr std::int64_t kLengths[] = {1,   2,    31,   32,   33,    255,   256,
                                     257, 1000, 4097, 8192, 33000, 100003};
constexpr Op kOps[] = {Op::CumSum, Op::CumProd, Op::CumMax, Op::CumMin, Op::LogCumSumExp};
constexpr DType kTypes[] = {DType::F32, DType::BF16, DType::F64, DType::F16, DType::I32};

/// A scan with what stands before and behind it: y = scan(2 x) + x.
Graph scan_graph(Op op, DType type, const Shape &shape, const ScanAttr &attr) {
  Graph graph("scan");
  if (!shape[1 - attr.axis].is_static()) graph.dim("B");
  if (!shape[attr.axis].is_static()) graph.dim("N", {1, 1 << 20, 1});
  Value x = graph.input("x", type, shape);
  GraphData &g = graph.data();
  NodeId doubled = build_elementwise(g, Op::Add, {{x.index(), x.index()}});
  NodeId scan = build_scan(g, op, doubled, attr);
  add_output(g, "y", build_elementwise(g, Op::Add, {{scan, x.index()}}));
  return graph;
}

Tensor numbers(DType type, std::vector<std::int64_t> shape) {
  Entropy entropy(7);
  return random_tensor(entropy, type, std::move(shape), false);
}

bool is_within_limits(const Program &program, const Bindings &symbols) {
  return std::all_of(program.limits.begin(), program.limits.end(), [&](const Limit &limit) {
    return value_of(limit.value, symbols) <= limit.max;
  });
}

void expect_program(const Graph &graph, const Program &program, const Tensor &x,
                    const Bindings &symbols, bool interpret = true) {
  std::vector<Tensor> inputs = {x};
  GraphData wanted = canonicalize(graph).data();
  Expected expected = evaluate(wanted, inputs, symbols).outputs.at(0);
  ProgramRun first = run_program(program, inputs, symbols, host_executor());
  ProgramRun second = run_program(program, inputs, symbols, host_executor(11));
  ASSERT_EQ(first.fault, "");
  Comparison c = compare(expected, first.outputs[0]);
  EXPECT_TRUE(c.passed()) << to_string(c) << "\n" << to_string(program.kernels[0]);
  EXPECT_TRUE(first.outputs[0].bytes == second.outputs[0].bytes)
      << "depends on the order of threads";
  if (!interpret || x.size() > 6000) return;
  ProgramRun interpreted = run_program(program, inputs, symbols, interpreter());
  ASSERT_EQ(interpreted.fault, "");
  EXPECT_TRUE(compare(expected, interpreted.outputs[0]).passed());
}

class ScanSizes : public testing::TestWithParam<int> {};

TEST_P(ScanSizes, StaticSizes) {
  int n = GetParam();
  for (std::int64_t length : kLengths) {
    ScanAttr attr{n & 1, (n & 2) != 0, (n & 4) != 0};
    Op op = kOps[n % 5];
    DType type = op == Op::LogCumSumExp ? DType::F32 : kTypes[(n * 3 + length) % 5];
    std::vector<std::int64_t> shape(2, length > 10000 ? 2 : 5);
    shape[static_cast<std::size_t>(attr.axis)] = length;
    SCOPED_TRACE(std::string(info(op).text) + " of " + std::string(to_string(type)) + " over " +
                 std::to_string(length) + " of axis " + std::to_string(attr.axis));
    Graph graph = scan_graph(op, type, {Dim(shape[0]), Dim(shape[1])}, attr);
    // One kernel, or two where few blocks would work on long rows.
    Program program = lower(graph, Target::named(n % 3 ? "h200" : "host"), {});
    std::int64_t beside = attr.axis == 0 ? shape[1] : 1;
    EXPECT_EQ(program.kernels.size(), length * beside < 65536 ? 1u : 2u);
    expect_program(graph, program, numbers(type, shape), {});
    ++n;
  }
}

TEST_P(ScanSizes, SymbolicSizes) {
  int n = GetParam();
  for (std::int64_t expected : {40, 3000, 40000, 100000}) {
    ScanAttr attr{n & 1, (n & 2) != 0, (n & 4) != 0};
    Shape shape(2, Dim::symbol("B"));
    shape[static_cast<std::size_t>(attr.axis)] = Dim::symbol("N");
    Graph graph = scan_graph(kOps[n % 5], DType::F32, shape, attr);
    LowerOptions options;
    options.sizes = {{"B", 16}, {"N", expected}};
    Program program = lower(graph, Target::named("h200"), options);
    int runs = 0;
    for (std::int64_t length : kLengths) {
      Bindings symbols = {{"B", length > 9000 ? 1 : 3}, {"N", length}};
      bool is_long = expected > 9000, is_near = std::abs(length - expected) < 10000;
      bool is_tried = is_long ? length == 257 || is_near : length < 9000;
      if (!is_tried || !is_within_limits(program, symbols)) continue;
      SCOPED_TRACE(std::to_string(length) + " of " + std::to_string(expected));
      expect_program(graph, program, numbers(DType::F32, evaluate(shape, symbols)), symbols,
                     !is_long);
      ++runs;
    }
    EXPECT_GE(runs, 1) << "few sizes are within the limits\n" << to_string(program.kernels[0]);
    ++n;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, ScanSizes, testing::Range(0, 8));

}  // namespace
}  // namespace fuse
