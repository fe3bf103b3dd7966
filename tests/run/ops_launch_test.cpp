// Every operation on every dtype that it accepts: compiled, launched on the host, and on a GPU
// where there is one, and judged by the evaluator. Several operations share a graph, so that
// compiling takes little of the time.
#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "run/executors.h"
#include "run/samples.h"

#include <fuse/buffer.h>
#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace fuse {
namespace {

const std::vector<DType> kTypes = {DType::Bool, DType::I8,     DType::I16,    DType::I32,
                                   DType::I64,  DType::U8,     DType::U16,    DType::U32,
                                   DType::U64,  DType::F8E4M3, DType::F8E5M2, DType::F16,
                                   DType::BF16, DType::F32,    DType::F64};

std::vector<Op> ops_of(OpKind kind, DType type) {
  std::vector<Op> ops;
  for (int i = 0; i < kNumOps; ++i) {
    auto op = static_cast<Op>(i);
    if (info(op).kind == kind && accepts(info(op).types, type)) ops.push_back(op);
  }
  return ops;
}

/// "; of 0.5, 3": the operands of an element.
std::string where(const std::vector<Tensor> &inputs, std::int64_t element) {
  std::string text;
  for (const Tensor &x : inputs)
    if (element >= 0 && element < x.size())
      text += (text.empty() ? "; of " : ", ") + std::to_string(as_double(x.literal(element))) +
              " (" + std::to_string(x.bits(element)) + ")";
  return text;
}

std::vector<Tensor> run(const Graph &graph, const std::vector<Tensor> &inputs, Executor executor,
                        bool strict) {
  CompileOptions options;
  options.executor = executor;
  options.strict = strict;
  Executable executable = compile(graph, options);
  std::vector<Tensor> tensors = inputs;
  for (const Output &o : graph.data().outputs)
    tensors.emplace_back(graph.data().dtype(o.node), evaluate(graph.data().shape(o.node), {}));
  std::vector<DeviceBuffer> buffers;
  std::vector<Arg> arguments;
  for (const Tensor &t : tensors) {
    std::size_t bytes = t.bytes.size();
    buffers.push_back(executor == Executor::Gpu ? DeviceBuffer::device(bytes)
                                                : DeviceBuffer::host(bytes));
    buffers.back().copy_from_host(t.bytes.data(), bytes);
    arguments.push_back(tensor(buffers.back().data(), t.shape));
  }
  executable.launch(nullptr, arguments.data(), arguments.size());
  for (std::size_t i = inputs.size(); i < tensors.size(); ++i)
    buffers[i].copy_to_host(tensors[i].bytes.data(), tensors[i].bytes.size());
  return {tensors.begin() + std::ptrdiff_t(inputs.size()), tensors.end()};
}

/// Compiles, launches and judges every output by itself.
void expect_outputs(const Graph &graph, const std::vector<Tensor> &inputs, bool strict = true) {
  std::vector<Expected> expected = evaluate(graph.data(), inputs).outputs;
  for (Executor executor : executors()) {
    std::vector<Tensor> outputs = run(graph, inputs, executor, strict);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Comparison c = compare(expected[i], outputs[i]);
      EXPECT_TRUE(c.passed()) << graph.data().outputs[i].name << " on "
                              << to_string(inputs[0].dtype)
                              << (executor == Executor::Gpu ? ", gpu: " : ", host: ")
                              << to_string(c) << where(inputs, c.first);
    }
  }
}

class Ops : public testing::TestWithParam<DType> {
 protected:
  static std::vector<NodeId> inputs(GraphData &g, const std::vector<Tensor> &tensors) {
    std::vector<NodeId> nodes;
    for (const Tensor &t : tensors) {
      Shape shape(t.shape.begin(), t.shape.end());
      nodes.push_back(build_input(g, "x" + std::to_string(nodes.size()), t.dtype, shape, false));
    }
    return nodes;
  }

  /// Elementwise ops over the tensors, six a graph.
  static void expect_elementwise(const std::vector<Op> &ops, const std::vector<Tensor> &tensors) {
    constexpr std::size_t kOpsPerGraph = 6;
    for (std::size_t first = 0; first < ops.size(); first += kOpsPerGraph) {
      Graph graph("ops");
      std::vector<NodeId> operands = inputs(graph.data(), tensors);
      for (std::size_t i = first; i < std::min(ops.size(), first + kOpsPerGraph); ++i)
        add_output(graph.data(), std::string(info(ops[i]).name),
                   build_elementwise(graph.data(), ops[i], operands));
      expect_outputs(graph, tensors);
    }
  }
};

TEST_P(Ops, Unary) {
  expect_elementwise(ops_of(OpKind::Unary, GetParam()), {dense_sample(GetParam())});
}

TEST_P(Ops, Tests) {
  expect_elementwise(ops_of(OpKind::Test, GetParam()), {dense_sample(GetParam())});
}

TEST_P(Ops, Binary) {
  expect_elementwise(ops_of(OpKind::Binary, GetParam()), special_products(GetParam(), 2));
}

TEST_P(Ops, Compare) {
  expect_elementwise(ops_of(OpKind::Compare, GetParam()), special_products(GetParam(), 2));
}

TEST_P(Ops, Ternary) {
  std::vector<Op> ops = ops_of(OpKind::Ternary, GetParam());
  std::erase(ops, Op::Select);
  expect_elementwise(ops, special_products(GetParam(), 3));
}

TEST_P(Ops, Select) {
  std::vector<Tensor> tensors = special_products(GetParam(), 2);
  Tensor condition(DType::Bool, tensors[0].shape);
  for (std::int64_t i = 0; i < condition.size(); ++i) condition.set_bits(i, i % 3 == 0);
  tensors.insert(tensors.begin(), condition);
  expect_elementwise({Op::Select}, tensors);
}

TEST_P(Ops, Casts) {
  std::vector<Tensor> tensors = {dense_sample(GetParam())};
  Graph graph("casts");
  NodeId x = inputs(graph.data(), tensors)[0];
  for (Op op : {Op::Cast, Op::CastSat})
    for (DType to : kTypes)
      add_output(graph.data(), std::string(info(op).name) + "_" + std::string(to_string(to)),
                 build_convert(graph.data(), op, x, to));
  expect_outputs(graph, tensors);
}

TEST_P(Ops, Bitcasts) {
  Tensor dense = dense_sample(GetParam());
  Graph graph("bitcasts");
  NodeId x = inputs(graph.data(), {dense})[0];
  if (is_float(GetParam()))  // the bits of NaNs are not specified
    x = build_elementwise(
        graph.data(), Op::Select,
        {{build_elementwise(graph.data(), Op::IsNan, {{x}}),
          build_constant(graph.data(), {GetParam(), 0}, graph.data().shape(x)), x}});
  for (DType to : kTypes)
    if (size_of(to) == size_of(GetParam()) && is_bool(to) == is_bool(GetParam()))
      add_output(graph.data(), "bitcast_" + std::string(to_string(to)),
                 build_convert(graph.data(), Op::Bitcast, x, to));
  expect_outputs(graph, {dense});
}

TEST_P(Ops, Reductions) {
  std::vector<std::uint64_t> special = special_bits(GetParam());
  for (std::vector<std::int64_t> shape : {std::vector<std::int64_t>{1, 37}, {19, 33}, {5, 300}}) {
    Tensor x(GetParam(), shape);
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.set_bits(i, special[std::size_t(i * i + i / 7) % (special.size() - std::size_t(i % 2))]);
    for (Op op : ops_of(OpKind::Reduce, GetParam())) {
      Graph graph("reductions");
      NodeId node = inputs(graph.data(), {x})[0];
      for (int axis : {0, 1})
        add_output(graph.data(), std::string(info(op).name) + std::to_string(axis),
                   build_reduce(graph.data(), op, node, {axis}, false));
      expect_outputs(graph, {x});
    }
  }
}

TEST_P(Ops, Scans) {
  std::vector<std::uint64_t> special = special_bits(GetParam());
  for (std::vector<std::int64_t> shape : {std::vector<std::int64_t>{1, 37}, {19, 33}, {5, 300}}) {
    Tensor x(GetParam(), shape);
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.set_bits(i, special[std::size_t(i * i + i / 7) % (special.size() - std::size_t(i % 2))]);
    for (Op op : ops_of(OpKind::Scan, GetParam())) {
      Graph graph("scans");
      NodeId node = inputs(graph.data(), {x})[0];
      for (int n = 0; n < 8; ++n)
        add_output(graph.data(), std::string(info(op).name) + std::to_string(n),
                   build_scan(graph.data(), op, node, {n & 1, (n & 2) != 0, (n & 4) != 0}));
      expect_outputs(graph, {x});
    }
  }
}

class RoundedOps : public testing::TestWithParam<DType> {};

/// With approximate forms, in f32 between the casts.
TEST_P(RoundedOps, GeluByErfAndItsSlope) {
  Tensor x = dense_sample(GetParam());
  Graph g("gelu");
  Value u = cast(g.input("x", GetParam(), {x.shape.begin(), x.shape.end()}), f32);
  Value cdf = 0.5 * (1.0 + erf(0.7071067811865476 * u));
  g.output("y", cast(u * cdf, GetParam()));
  g.output("slope", cast(cdf + u * (0.3989422804014327 * exp(-0.5 * (u * u))), GetParam()));
  expect_outputs(g, {x}, false);
}

INSTANTIATE_TEST_SUITE_P(Types, RoundedOps, testing::Values(DType::BF16, DType::F16),
                         [](const auto &info) { return std::string(to_string(info.param)); });

INSTANTIATE_TEST_SUITE_P(Types, Ops, testing::ValuesIn(kTypes),
                         [](const auto &info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace fuse
