// Limits: many arguments, deep graphs, long axes, and code that grows with the graph.
#include "cases/case_run.h"
#include "cases/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <functional>

namespace fuse::cases {

namespace {

/// Builds, prints, reads, compiles, runs and destroys a chain.
void run_chain(Op op, int length, const Tensor &x, const Tensor &start, const Expected &wanted) {
  Graph graph("chain");
  Value step = graph.input("x", x.dtype, {x.shape[0]});
  Value t = graph.input("y", x.dtype, {x.shape[0]});
  for (int i = 0; i < length; ++i) t = op == Op::Xor ? t ^ step : t + step;
  graph.output("out", t);
  EXPECT_TRUE(parse(to_string(graph)) == graph);
  for (Executor executor : executors()) {
    CompileOptions options;
    options.executor = executor;
    judge(wanted, execute(compile(graph, options), {{x, start}, {}})[0], "chain");
  }
}

/// x updated n times in one row of many; the sum of all behind it where asked for.
Graph updates(int n, bool with_sum) {
  Graph graph("updates");
  Value x = graph.input("x", f32, {64, 64});
  Value position = graph.scalar("ix", i64);
  Value rows = reshape(graph.iota(i64, {64}), {64, 1});
  for (int k = 0; k < n; ++k) {
    Value row = slice(x, 0, 0, 1) * (1 + k * 1e-4);
    x = x + select(eq(rows, mod(position + k, 64)), row, 0.0);
  }
  graph.output("y", x);
  if (with_sum) graph.output("sum", sum(x, {0, 1}));
  return graph;
}

std::size_t code_size(const Executable &executable) {
  std::size_t size = 0;
  for (const KernelReport &k : executable.kernels({})) size += k.text.size();
  return size;
}

/// Pages that nobody writes to take no memory.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes) : bytes_(bytes) {
    data_ = static_cast<std::uint8_t *>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~SparseMemory() { ::munmap(data_, bytes_); }
  std::uint8_t *data() const { return data_; }

 private:
  std::uint8_t *data_;
  std::size_t bytes_;
};

}  // namespace

// jax 677; arrayfire 1646, 2127
TEST(LimitsCases, SixHundredInputsOfOneKernel) {
  Graph graph("many");
  std::vector<Tensor> inputs;
  Value total;
  for (int k = 0; k < 600; ++k) {
    Value x = graph.input("x" + std::to_string(k), f32, {1000});
    total = k ? total + x : x;
    inputs.push_back(floats(f32, {1000}, {double(k + 1)}));
  }
  graph.output("sum", total);
  RunOptions options;
  options.op_by_op = false;
  double seconds =
      seconds_of([&] { run_case(graph, inputs, {exact(f32, {1000}, {180300})}, options); });
  EXPECT_LT(seconds, 60);
}

TEST(LimitsCases, SixHundredOutputs) {
  Graph graph("many");
  std::vector<Tensor> inputs;
  std::vector<Expected> wanted;
  for (int k = 0; k < 600; ++k) {
    Value x = graph.input("x" + std::to_string(k), f32, {1000});
    graph.output("y" + std::to_string(k), x + 1);
    inputs.push_back(floats(f32, {1000}, {double(k + 1)}));
    wanted.push_back(exact(f32, {1000}, {double(k + 2)}));
  }
  RunOptions options;
  options.op_by_op = false;
  run_case(graph, inputs, wanted, options);
}

TEST(LimitsCases, StridedInputsOfRankEight) {
  Graph graph("strided");
  Value total;
  for (int k = 0; k < 64; ++k) {
    Value x = graph.input("x" + std::to_string(k), f32, {2, 1, 2, 3, 1, 2, 1, 5});
    total = k ? total + x : x;
  }
  graph.output("sum", total);
  // Every axis is read backwards from far apart.
  const std::int64_t strides[] = {240, 7, 120, 40, 3, 20, 9, 4};
  std::vector<float> memory(481), out(120);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = float(i % 127);
  CompileOptions options;
  options.executor = Executor::Host;
  Executable executable = compile(graph, options);
  std::vector<std::int64_t> shape = {2, 1, 2, 3, 1, 2, 1, 5};
  std::vector<Arg> arguments(64, tensor(memory.data(), shape, {strides, strides + 8}));
  arguments.push_back(tensor(out.data(), shape));
  executable.launch(nullptr, arguments.data(), arguments.size());
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 64 * memory[4 * i]) << i;
}

// What counts is how far apart elements are, not how many there are.
TEST(LimitsCases, StridesBeyond32BitsOfASmallTensor) {
  constexpr std::int64_t kStride = (std::int64_t{1} << 30) + 3;
  SparseMemory x(std::size_t{6} << 30), y(std::size_t{6} << 30);
  Graph graph = parse("graph @apart(%x: u8[5, 3]) {\n%y = add %x, 1\nreturn %y }");
  CompileOptions options;
  options.executor = Executor::Host;
  Executable executable = compile(graph, options);
  for (std::int64_t i = 0; i < 15; ++i) x.data()[i / 3 * kStride + i % 3 * 5] = std::uint8_t(7 * i);
  for (std::int64_t sign : {1, -1}) {
    std::uint8_t *first = sign > 0 ? y.data() : y.data() + 4 * kStride;
    executable.launch(nullptr, {tensor(x.data(), {5, 3}, {kStride, 5}),
                                tensor(first, {5, 3}, {sign * kStride, 2})});
    for (std::int64_t i = 0; i < 15; ++i)
      ASSERT_EQ(first[i / 3 * sign * kStride + i % 3 * 2], 7 * i + 1) << i << " " << sign;
  }
}

// xls 133; rayforce 308; tvm 4534
TEST(LimitsCases, ChainOfTenThousandOperationsOnASmallStack) {
  on_small_stack([] {
    Tensor x = generate(u8, {1024}, [](std::int64_t i) { return i * 7 % 256; });
    Tensor y = generate(u8, {1024}, [](std::int64_t i) { return i * 13 % 256; });
    run_chain(Op::Xor, 10000, x, y, exactly(y));
    run_chain(Op::Add, 10000, floats(f32, {5}, {1}), floats(f32, {5}, {1}),
              exact(f32, {5}, {10001}));
  });
}

TEST(LimitsCases, CompileTimeOfChainsIsLinear) {
  auto seconds = [](int length) {
    return seconds_of([&] {
      run_chain(Op::Add, length, floats(f32, {5}, {1}), floats(f32, {5}, {1}),
                exact(f32, {5}, {double(length + 1)}));
    });
  };
  double once = std::min(seconds(5000), seconds(5000)), twice = seconds(10000);
  EXPECT_LT(twice, 3.5 * once);
  EXPECT_LT(twice, 60);
}

// triton 580; flash-linear-attention 172
TEST(LimitsCases, MoreThan65535OfAnAxis) {
  auto element = [](std::int64_t i) { return i % 3; };
  Tensor x = generate(f32, {65538, 2, 3}, element);
  Tensor z = generate(f32, {8, 1, 300000}, [](std::int64_t i) { return i / 300000 + 1; });
  run_case(R"(graph @long(%x: f32[65538, 2, 3], %z: f32[8, 1, 300000]) {
      %s = sum %x axes=[1, 2]
      %t = sum %z axes=[0]
      return %s, %t })",
           {x, z}, {exact(f32, {65538}, {6}), exact(f32, {1, 300000}, {36})});
}

TEST(LimitsCases, TransposeWithMoreThan65535Tiles) {
  Tensor x = generate(f16, {2, 3, 70001}, [](std::int64_t i) { return i % 2039; });
  Tensor y(f16, {2, 70001, 3});
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::int64_t c = i % 3, p = i / 3 % 70001, b = i / 3 / 70001;
    y.set_bits(i, x.bits((b * 3 + c) * 70001 + p));
  }
  run_case(R"(graph @transpose(%x: f16[2, 3, 70001]) {
      %y = transpose %x perm=[0, 2, 1]
      return %y })",
           {x}, {exactly(y)});
}

// jax 39483
TEST(LimitsCases, UpdatesDoNotDoubleTheCode) {
  CompileOptions options;
  options.executor = Executor::Host;
  std::size_t sizes[3];
  for (int i = 0; i < 3; ++i) sizes[i] = code_size(compile(updates(8 << i, true), options));
  EXPECT_LT(sizes[1], 2.5 * double(sizes[0]));
  EXPECT_LT(sizes[2], 2.5 * double(sizes[1]));
}

TEST(LimitsCases, ATrailingSumCostsLittleToCompile) {
  CompileOptions options;
  options.executor = Executor::Host;
  double without = seconds_of([&] { compile(updates(8, false), options); });
  double with = seconds_of([&] { compile(updates(8, true), options); });
  EXPECT_LT(with, 2 * without + 0.5);
}

TEST(LimitsCases, UpdatesWithATrailingSumAreRight) {
  std::vector<double> x(64 * 64), sum(1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = double(i % 17) / 16;
  Tensor in = floats(f32, {64, 64}, x);
  for (int k = 0; k < 8; ++k)
    for (std::size_t c = 0; c < 64; ++c)
      x[std::size_t((61 + k) % 64) * 64 + c] += x[c] * (1 + k * 1e-4);
  for (double v : x) sum[0] += v;
  run_case(updates(8, true), {in, ints(i64, {}, {61})},
           {within(f32, {64, 64}, x, {0, 1e-6, 0}), within(f32, {}, sum, {0, 1e-6, 0})});
}

}  // namespace fuse::cases
