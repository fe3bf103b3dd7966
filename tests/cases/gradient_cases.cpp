// Gradients: branches that were not taken, ties, zeros, saturated functions, empty tensors.
#include "cases/case_run.h"
#include "cases/limits.h"
#include "ir/graph_data.h"

#include <fuse/builders.h>
#include <fuse/grad.h>

#include <cmath>

namespace fuse::cases {

namespace {

/// The derivatives of the sum of the output by the inputs, alone.
Graph derivatives_of(std::string_view text, const std::vector<std::string> &inputs) {
  Graph joint = grad(parse(text), inputs);
  joint.data().outputs.erase(joint.data().outputs.begin());
  return joint;
}

void run_gradient(std::string_view text, const std::vector<Tensor> &inputs,
                  const std::vector<Expected> &wanted) {
  run_case(derivatives_of(text, {"x"}), inputs, wanted);
}

}  // namespace

// jax 347, 2630, 5798; tinygrad 12409
TEST(GradientCases, NothingComesThroughTheBranchThatWasNotTaken) {
  Tensor x = floats(f64, {3, 2}, {1, 2, 3, 4, 0, 0});
  double root = std::sqrt(5.0);
  Expected wanted = within(f64, {3, 2}, {1 / root, 2 / root, 0.6, 0.8, 0, 0}, {.rel = 1e-12});
  run_gradient(R"(graph @safe(%x: f64[3, 2]) {
      %s = mul %x, %x
      %q = sum %s axis=1
      %c = gt %q, 0.25
      %a = select %c, %q, 1.0
      %r = sqrt %a
      %y = select %c, %r, 1.0
      %loss = sum %y axis=0
      return %loss })",
               {x}, {wanted});
  run_gradient(R"(graph @unsafe(%x: f64[3, 2]) {
      %s = mul %x, %x
      %q = sum %s axis=1
      %r = sqrt %q
      %c = gt %r, 0.5
      %y = select %c, %r, 1.0
      %loss = sum %y axis=0
      return %loss })",
               {x}, {wanted});
}

// theano 4568; lightning-thunder 599
TEST(GradientCases, TiedElementsShareOneGradient) {
  run_gradient("graph @g(%x: f32[4]) { %y = max %x axes=[0]\n return %y }",
               {floats(f32, {4}, {3, 3, 1, 3})}, {exact(f32, {4}, {1, 0, 0, 0})});
  Tensor two = floats(f32, {1}, {2});
  run_case(derivatives_of("graph @g(%a: f32[1], %b: f32[1]) { %y = max %a, %b\n return %y }",
                          {"a", "b"}),
           {two, two}, {exact(f32, {1}, {0}), exact(f32, {1}, {1})});
  Tensor around = floats(f32, {3}, {-1, 0, 1});
  run_gradient("graph @g(%x: f32[3]) { %y = relu %x\n return %y }", {around},
               {exact(f32, {3}, {0, 0, 1})});
  run_gradient("graph @g(%x: f32[3]) { %y = abs %x\n return %y }", {around},
               {exact(f32, {3}, {-1, 0, 1})});
}

// tinygrad 17404; burn 5533; pytorch 82644
TEST(GradientCases, ProductsThatContainZeros) {
  auto run = [](const std::vector<double> &x, const std::vector<double> &wanted) {
    auto n = static_cast<std::int64_t>(x.size());
    for (double upstream : {1.0, 5.0}) {
      Graph g("g");
      Value v = g.input("x", f32, {n});
      g.output("d", vjp({prod(v, {0})}, {g.constant(upstream, f32)}, {v})[0]);
      std::vector<double> scaled;
      for (double d : wanted) scaled.push_back(d * upstream);
      run_case(g, {floats(f32, {n}, x)}, {exact(f32, {n}, scaled)});
    }
  };
  run({0, 2, 3}, {6, 0, 0});
  run({2, 0, 3, 4}, {0, 24, 0, 0});
  run({2, 0, 0, 4}, {0, 0, 0, 0});
  run({0}, {1});
  run_gradient("graph @g(%x: f32[3, 4]) { %y = prod %x axis=1\n return %y }",
               {floats(f32, {3, 4}, {1, 2, 3, 4, 2, 0, 3, 4, 2, 0, 0, 4})},
               {exact(f32, {3, 4}, {24, 12, 8, 6, 0, 24, 0, 0, 0, 0, 0, 0})});
}

// burn 5373; tt-metal 56397
TEST(GradientCases, SoftplusHasTheDerivativeOfItsFunction) {
  std::vector<double> x = {-100, -20, 0, 20, 50, 100, 1000};
  for (double beta : {1.0, 5.0}) {
    std::vector<double> wanted;
    for (double v : x) wanted.push_back(1 / (1 + std::exp(-beta * v)));
    std::string op = "%y = softplus %x beta=" + std::to_string(beta) + "\n return %y }";
    run_gradient("graph @g(%x: f32[7]) { " + op, {floats(f32, {7}, x)},
                 {within(f32, {7}, wanted, {.ulp = 16, .abs = 0x1p-120})});
    run_gradient("graph @g(%x: f16[7]) { " + op, {floats(f16, {7}, x)},
                 {within(f16, {7}, wanted, {.ulp = 1, .abs = 0x1p-24})});
  }
}

// pytorch 197108, 130187; NVIDIA/Fuser 870, 1246
TEST(GradientCases, EmptyTensorsHaveEmptyGradients) {
  for (const char *op : {"sum %x axis=1", "prod %x axis=1", "mean %x axis=1", "sum %x axis=0"}) {
    std::string rest = std::string(" %y = ") + op + "\n return %y }";
    run_gradient("graph @g(%x: f32[3, 0]) {" + rest, {floats(f32, {3, 0}, {})},
                 {exact(f32, {3, 0}, {})});
  }
  run_gradient("graph @g(%x: f32[0, 5]) { %y = sum %x axis=0\n return %y }",
               {floats(f32, {0, 5}, {})}, {exact(f32, {0, 5}, {})});
  run_gradient(
      "graph @g(%x: f32[2, 0, 3]) { %y = pad %x, -3.5 lo=[0, 1, 0] hi=[0, 1, 0]\n return %y }",
      {floats(f32, {2, 0, 3}, {})}, {exact(f32, {2, 0, 3}, {})});
  run_gradient(R"(graph @g(%x: f32[2, 8], %e: f32[2, 0]) {
      %d = mul %x, 2.0
      %y = concat %d, %e axis=1
      return %y })",
               {floats(f32, {2, 8}, {1}), floats(f32, {2, 0}, {})}, {exact(f32, {2, 8}, {2})});
}

// pytorch 194976
TEST(GradientCases, ScalarsOfALaunchAreNotFrozenInGradients) {
  Graph g = derivatives_of(R"(graph @g(%gate: f32[1], %up: f32[1], %L: f32 scalar) {
      %s = sigmoid %gate
      %a = mul %gate, %s
      %l = broadcast %L : f32[1]
      %m = min %a, %l
      %n = neg %l
      %c = clamp %up, %n, %l
      %y = mul %m, %c
      return %y })",
                           {"up"});
  std::vector<Sample> samples;
  for (double limit : {7.0, 10.0, 7.0})
    samples.push_back({{floats(f32, {1}, {100}), floats(f32, {1}, {9}), floats(f32, {}, {limit})},
                       {within(f32, {1}, {limit > 9 ? limit : 0}, {.rel = 1e-6})}});
  run_samples(g, samples);
  // An extent that serves as a number.
  std::vector<Sample> means;
  for (std::int64_t n : {4, 8, 4})
    means.push_back({{floats(f32, {n}, {1})}, {exact(f32, {n}, {1.0 / double(n)})}, {{"N", n}}});
  run_samples(derivatives_of("graph @g(%x: f32[N]) { %y = mean %x axes=[0]\n return %y }", {"x"}),
              means);
}

// Elements so far below the others that e^(their distance) is infinite.
TEST(GradientCases, LogCumSumExpOfDistantElements) {
  run_gradient("graph @g(%x: f32[4]) { %y = logcumsumexp %x axis=0\n return %y }",
               {floats(f32, {4}, {-1000, -1000, 0, 0})},
               {within(f32, {4}, {1.5, 0.5, 1.5, 0.5}, {.rel = 1e-4})});
  run_gradient("graph @g(%x: f32[3]) { %y = logcumsumexp %x axis=0 reverse\n return %y }",
               {floats(f32, {3}, {-kInf, 3, -kInf})}, {exact(f32, {3}, {0, 2, 0})});
}

TEST(GradientCases, GathersOfOneRowAddUp) {
  run_gradient(R"(graph @g(%x: f32[3, 2], %i: i64[5], %w: f32[5, 2]) {
      %r = gather %x, %i axis=0
      %y = mul %r, %w
      return %y })",
               {floats(f32, {3, 2}, {0}), ints(i64, {5}, {2, 0, 2, -1, 3}),
                floats(f32, {5, 2}, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512})},
               {exact(f32, {3, 2}, {4, 8, 0, 0, 17, 34})});
}

// xla 133 and others: the gradient of a chain, without recursion and in linear time.
TEST(GradientCases, ChainsOfTenThousandOperations) {
  auto chain = [](int length) {
    Graph g("chain");
    Value x = g.input("x", f32, {5}), t = x;
    for (int i = 0; i < length; ++i) t = t + x;
    g.output("d", grad(t, {x})[0]);
    return g;
  };
  on_small_stack([&] {
    Graph g = chain(10000);
    EXPECT_TRUE(parse(to_string(g)) == g);
    for (Executor executor : executors()) {
      CompileOptions options;
      options.executor = executor;
      Sample sample{{floats(f32, {5}, {1})}, {}};
      judge(exact(f32, {5}, {10001}), execute(compile(g, options), sample)[0], "gradient");
    }
  });
  auto sines = [](int length) {
    Graph g("sines");
    Value x = g.input("x", f32, {5}), t = x;
    for (int i = 0; i < length; ++i) t = sin(t * x);
    g.output("d", grad(t, {x})[0]);
  };
  double one = seconds_of([&] { sines(10000); }), two = seconds_of([&] { sines(20000); });
  EXPECT_LT(two, 3 * one + 0.1);
  EXPECT_LT(two, 10);
}

}  // namespace fuse::cases
