// How often memory is read and code is compiled: values and their transposes from one read, long
// rows, and steps over many small tensors.
#include "cases/case_run.h"

#include "ir/float_bits.h"

#include <fuse/builders.h>

#include <cmath>
#include <numeric>

namespace fuse::cases {

namespace {

std::vector<KernelReport> kernels_of(const Graph &graph) {
  CompileOptions options;
  options.executor = Executor::None;
  options.target = Target::named("h200");
  return compile(graph, options).kernels({});
}

std::int64_t bytes_of(const std::vector<KernelReport> &kernels) {
  return std::accumulate(kernels.begin(), kernels.end(), std::int64_t{0},
                         [](std::int64_t sum, const KernelReport &k) { return sum + k.bytes; });
}

/// An n x n tensor times a scalar in 8 bits; its transpose and the largest magnitude, if wanted.
Graph scaled(std::int64_t n, bool transposed, bool with_maximum) {
  Graph g("scaled");
  Value x = g.input("x", bf16, {n, n}), s = g.input("s", f32, {});
  Value y = cast(cast(x, f32) * s, f8e4m3);
  g.output("y", y);
  if (transposed) g.output("z", transpose(y, {1, 0}));
  if (with_maximum) g.output("a", reduce_max(abs(x), {0, 1}));
  return g;
}

/// AdamW over tensors of the shape; learning rate and bias corrections are arguments.
Graph adam(int tensors, const Shape &shape) {
  Graph g("adam");
  Value rate = g.scalar("rate", f32), first = g.scalar("first", f32),
        second = g.scalar("second", f32);
  for (int i = 0; i < tensors; ++i) {
    std::string n = std::to_string(i);
    Value p = g.input("p" + n, f32, shape), d = g.input("g" + n, f32, shape);
    Value m = g.input("m" + n, f32, shape), v = g.input("v" + n, f32, shape);
    Value m1 = 0.9 * m + 0.1 * d, v1 = 0.999 * v + 0.001 * d * d;
    Value step = (m1 / first) / (sqrt(v1 / second) + 1e-8);
    g.output("p" + n + "_", p - p * (rate * 0.01) - rate * step);
    g.output("m" + n + "_", m1);
    g.output("v" + n + "_", v1);
  }
  return g;
}

}  // namespace

// pytorch 130015, 128063, 141082
TEST(TrafficCases, AValueAndItsTransposeComeFromOneRead) {
  constexpr std::int64_t kElements = std::int64_t{4096} * 4096;
  std::vector<KernelReport> two = kernels_of(scaled(4096, true, false));
  EXPECT_EQ(two.size(), 1u);
  EXPECT_LE(bytes_of(two), (2 + 1 + 1) * kElements + 4096);
  std::vector<KernelReport> three = kernels_of(scaled(4096, true, true));
  EXPECT_LE(bytes_of(three), (2 * 2 + 1 + 1) * kElements + 1024 * 1024);
}

/// What no reduction decides is stored where it is folded, and keeps the whole machine at it.
TEST(TrafficCases, AMaximumBesideAStoredValueIsSplitOverTheMachine) {
  for (bool transposed : {false, true})
    for (const KernelReport &k : kernels_of(scaled(4096, transposed, true)))
      EXPECT_GE(k.grid, 132u) << k.text;
}

TEST(TrafficCases, AValueAndItsTransposeAreRight) {
  constexpr std::int64_t kN = 97;
  auto at = [](std::int64_t i) { return double(i % 29) - 14; };
  Tensor x = generate(bf16, {kN, kN}, at);
  auto half = [&](std::int64_t i) { return at(i) / 2; };
  auto turned = [&](std::int64_t i) { return half(i % kN * kN + i / kN); };
  run_case(scaled(kN, true, true), {x, floats(f32, {}, {0.5})},
           {exactly(generate(f8e4m3, {kN, kN}, half)), exactly(generate(f8e4m3, {kN, kN}, turned)),
            exact(bf16, {}, {14})});
}

// pytorch 127011, 190693
TEST(TrafficCases, LongRowsAreReadAtMostTwice) {
  struct Case {
    std::int64_t rows, columns;
  };
  for (DType type : {f32, bf16})
    for (auto [rows, columns] : {Case{4096, 50257}, {1024, 128256}, {8, 131072}}) {
      Graph g("softmax");
      g.output("y", softmax(g.input("x", type, {rows, columns}), 1));
      auto tensor_bytes = rows * columns * std::int64_t(size_of(type));
      EXPECT_LE(bytes_of(kernels_of(g)), 3 * tensor_bytes + tensor_bytes / 50)
          << rows << " x " << columns << " " << to_string(type);
    }
}

TEST(TrafficCases, FewLongRowsUseManyMultiprocessors) {
  Graph g("softmax");
  g.output("y", softmax(g.input("x", bf16, {8, 131072}), 1));
  for (const KernelReport &k : kernels_of(g)) EXPECT_GT(k.grid, 8u) << k.text;
}

TEST(TrafficCases, SoftmaxOfLongRowsIsRight) {
  for (DType type : {f32, bf16})
    for (std::int64_t columns : {50257, 128256}) {
      Tensor x = generate(type, {2, columns}, [](std::int64_t i) { return double(i % 61) / 8; });
      Graph g("softmax");
      g.output("y", softmax(g.input("x", type, {2, columns}), 1));
      std::vector<double> y(static_cast<std::size_t>(2 * columns));
      for (std::size_t row = 0; row < 2; ++row) {
        double sum = 0;
        auto begin = y.begin() + std::ptrdiff_t(row) * columns;
        for (std::int64_t i = 0; i < columns; ++i)
          sum += begin[i] = std::exp(as_double(x.literal(std::int64_t(row) * columns + i)));
        for (std::int64_t i = 0; i < columns; ++i) begin[i] /= sum;
      }
      RunOptions options;
      options.op_by_op = false;
      run_case(g, {x}, {within(type, {2, columns}, y, {type == bf16 ? 1.0 : 0, 4e-6, 0})}, options);
    }
}

// pytorch 97361, 121857, 107006; dion 63
TEST(TrafficCases, TheRateOfAStepIsNoReasonToCompile) {
  constexpr int kTensors = 60;
  Graph graph = adam(kTensors, {7, 51});
  CompileOptions options;
  options.executor = Executor::Host;
  Executable executable = compile(graph, options);
  std::size_t compilations = executable.compilations().size();
  double p = 1, m = 0, v = 0;
  Sample s{{floats(f32, {}, {0}), floats(f32, {}, {0}), floats(f32, {}, {0})}, {}, {}};
  for (int i = 0; i < 4 * kTensors; ++i)
    s.inputs.push_back(floats(f32, {7, 51}, {i % 4 ? 0.0 : 1.0}));
  for (int i = 0; i < kTensors; ++i) s.inputs[std::size_t(4 + 4 * i)] = floats(f32, {7, 51}, {0.5});
  for (int step = 1; step <= 10; ++step) {
    double rate = 1e-3 / step;
    double first = 1 - std::pow(0.9, step), second = 1 - std::pow(0.999, step);
    m = 0.9 * m + 0.1 * 0.5, v = 0.999 * v + 0.001 * 0.25;
    p = p - p * rate * 0.01 - rate * (m / first) / (std::sqrt(v / second) + 1e-8);
    s.inputs[0] = floats(f32, {}, {rate});
    s.inputs[1] = floats(f32, {}, {first});
    s.inputs[2] = floats(f32, {}, {second});
    std::vector<Tensor> out = execute(executable, s);
    if (step == 1) {
      EXPECT_NEAR(p, 0.99899000002, 1e-12);
    }
    for (std::size_t i = 0; i < kTensors; ++i) {
      judge(within(f32, {7, 51}, {p}, {0, 1e-6, 0}), out[3 * i], "step " + std::to_string(step));
      s.inputs[3 + 4 * i] = out[3 * i];
      s.inputs[5 + 4 * i] = out[3 * i + 1];
      s.inputs[6 + 4 * i] = out[3 * i + 2];
    }
  }
  EXPECT_EQ(executable.compilations().size(), compilations);
}

}  // namespace fuse::cases
