// The reference evaluator: values, allowed errors, and that wrong results are found.
#include "ir/evaluate.h"

#include "ir/float_bits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

namespace fuse {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
using Extents = std::vector<std::int64_t>;

Tensor tensor(DType type, Extents shape, const std::vector<double> &values) {
  return Tensor(type, std::move(shape), values);
}

Tensor random_tensor(DType type, Extents shape, double low, double high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<std::size_t>(count_elements(shape)));
  for (double &v : values) v = uniform(random);
  return tensor(type, std::move(shape), values);
}

Expected run_one(Graph &g, Value y, const std::vector<Tensor> &inputs,
                 const Bindings &symbols = {}) {
  g.output("y", y);
  return evaluate(g.data(), inputs, symbols).outputs.at(0);
}

double value(const Expected &x, std::int64_t i) { return x.value[x.splat ? 0 : i]; }
double error(const Expected &x, std::int64_t i) {
  return x.error.empty() ? 0 : x.error[x.splat ? 0 : i];
}

/// y = f(x) for one input of the given elements.
template <class F>
Expected map(DType type, const std::vector<double> &values, F f) {
  Graph g;
  Extents shape = {static_cast<std::int64_t>(values.size())};
  Value x = g.input("x", type, {Dim(shape[0])});
  return run_one(g, f(x), {tensor(type, shape, values)});
}

void expect_tensor(const Expected &y, const Extents &shape, const std::vector<double> &values) {
  EXPECT_EQ(shape, y.shape);
  Comparison c = compare(y, Tensor(y.dtype, shape, values));
  EXPECT_TRUE(c.passed()) << to_string(c);
  EXPECT_EQ(0, c.uncertain);
}

TEST(Evaluate, AnInexactValueThatMayHaveEitherSignRoundsToEitherZero) {
  Expected y = map(DType::F32, {1}, [](Value x) { return cast(sin(x) - sin(x), f8e5m2); });
  expect_tensor(y, {1}, {0.0});
  expect_tensor(y, {1}, {-0.0});
  EXPECT_FALSE(compare(y, Tensor(DType::F8E5M2, {1}, {{0x1p-16}})).passed());
}

TEST(Evaluate, ExactChainsAskForTheValueItself) {
  Expected y = map(DType::F32, {4.6875, 1, 3}, [](Value x) { return (x / 0.9375) * 0.1 - 1.0; });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(0, error(y, i));
  EXPECT_EQ(float(5 * 0.1f) - 1, value(y, 0));
  Tensor off = rounded(y);
  EXPECT_TRUE(compare(y, off).passed());
  off.set_bits(1, off.bits(1) + 1);
  Comparison c = compare(y, off);
  EXPECT_EQ(1, c.failures);
  EXPECT_EQ(1, c.first);
}

TEST(Evaluate, SixteenBitNodesAreRounded) {
  Expected y = map(DType::BF16, {1, 3}, [](Value x) { return (x + 1.0 / 256) - x; });
  expect_tensor(y, {2}, {0, 0});
  Expected z = map(DType::F32, {0, 1, 2, 3}, [](Value x) { return cast(cast(x / 7.0, f16), f32); });
  expect_tensor(z, {4}, {0, 0.142822265625, 0.28564453125, 0.428466796875});
}

TEST(Evaluate, FunctionsAllowTheirBound) {
  Expected y = map(DType::F32, {1, 0.5, -3}, [](Value x) { return exp(x); });
  for (int i = 0; i < 3; ++i) {
    double ulp = std::ldexp(1, std::ilogb(value(y, i)) - 23);
    EXPECT_EQ(2 * ulp, error(y, i));
  }
  Tensor near = rounded(y);
  near.set_bits(0, near.bits(0) + 1);
  EXPECT_TRUE(compare(y, near).passed());
  near.set_bits(0, near.bits(0) + 2);
  EXPECT_FALSE(compare(y, near).passed());
  EXPECT_GT(compare(y, near).worst_ratio, 1);
}

TEST(Evaluate, SixteenBitFunctionsStayWithinOneUnit) {
  Expected y = map(DType::BF16, {-10, 2}, [](Value x) { return sigmoid(x); });
  Tensor t = rounded(y);
  t.set_bits(0, t.bits(0) + 2);
  EXPECT_EQ(1, compare(y, t).failures);
}

TEST(Evaluate, ExactOperationsWithWideLiteralsRound) {
  // The remainder by an f32 literal is exact in f32 but needs rounding to bf16.
  Expected y = map(DType::BF16, {2.03125}, [](Value x) { return rem(exp(x), 0.7853982); });
  double of_exp = std::ldexp(1, -5), unit = std::ldexp(1, -8);
  EXPECT_GE(error(y, 0), of_exp + unit / 2);
  EXPECT_LE(error(y, 0), of_exp + unit);
}

TEST(Evaluate, ErrorsGrowThroughOperations) {
  // log amplifies near 1, exp by its result.
  Expected y = map(DType::F32, {1.001}, [](Value x) { return log(exp(log(x))); });
  EXPECT_GT(error(y, 0), 5e-8);
  EXPECT_LT(error(y, 0), 1e-6);
  Expected e = map(DType::F32, {30}, [](Value x) { return exp(log(exp(log(x)) * 2.0)); });
  EXPECT_NEAR(60, value(e, 0), 1e-9);
  EXPECT_LT(error(e, 0), 60 * 5e-6);
}

TEST(Evaluate, EitherSideOfAThresholdPasses) {
  auto f = [](Value x) { return select(exp(log(x)) < 3.0, x, x * 100.0); };
  Expected y = map(DType::F32, {2, 3, 4}, f);
  EXPECT_TRUE(compare(y, tensor(DType::F32, {3}, {2, 3, 400})).passed());
  EXPECT_TRUE(compare(y, tensor(DType::F32, {3}, {2, 300, 400})).passed());
  EXPECT_FALSE(compare(y, tensor(DType::F32, {3}, {2, 1000, 400})).passed());
  EXPECT_FALSE(compare(y, tensor(DType::F32, {3}, {200, 3, 400})).passed());

  Expected n = map(DType::F32, {2.5, 3}, [](Value x) { return floor(exp(log(x))); });
  EXPECT_EQ(0, error(n, 0));
  EXPECT_TRUE(compare(n, tensor(DType::F32, {2}, {2, 2})).passed());
  EXPECT_FALSE(compare(n, tensor(DType::F32, {2}, {3, 3})).passed());

  Expected i = map(DType::F32, {2.5, 3}, [](Value x) { return cast(exp(log(x)), i32); });
  EXPECT_TRUE(compare(i, tensor(DType::I32, {2}, {2, 2})).passed());
  EXPECT_FALSE(compare(i, tensor(DType::I32, {2}, {2, 1})).passed());

  Expected b = map(DType::F32, {2, 3}, [](Value x) { return exp(log(x)) < 3.0; });
  EXPECT_EQ(1, compare(b, tensor(DType::Bool, {2}, {1, 1})).uncertain);
  EXPECT_FALSE(compare(b, tensor(DType::Bool, {2}, {0, 1})).passed());
}

TEST(Evaluate, SpecialValues) {
  std::vector<double> x = {kNan, kInf, -kInf, 0, -0.0, 3};
  expect_tensor(map(DType::F32, x, [](Value v) { return v * 0.0; }), {6},
                {kNan, kNan, kNan, 0, -0.0, 0});
  expect_tensor(map(DType::F32, x, [](Value v) { return v - v; }), {6},
                {kNan, kNan, kNan, 0, 0, 0});
  expect_tensor(map(DType::F16, x, [](Value v) { return v / 0.0; }), {6},
                {kNan, kInf, -kInf, kNan, kNan, kInf});
  expect_tensor(map(DType::BF16, x, [](Value v) { return min(max(v, 0.0), 1.0); }), {6},
                {kNan, 1, 0, 0, 0, 1});
  Expected negative_zero = map(DType::F32, {-0.0}, [](Value v) { return v * 1.0; });
  EXPECT_FALSE(compare(negative_zero, tensor(DType::F32, {1}, {0.0})).passed());
}

TEST(Evaluate, SoftmaxOfRowsWithInfinities) {
  Graph g;
  Value x = g.input("x", f32, {5, 2});
  Value e = exp(x - reduce_max(x, {1}, true));
  Expected y =
      run_one(g, e / sum(e, {1}, true),
              {tensor(f32, {5, 2}, {0, -kInf, -kInf, -kInf, 0, kInf, 0, kNan, 1e4, 9999})});
  std::vector<double> want = {1, 0, kNan, kNan, kNan, kNan, kNan, kNan, 0.7310586, 0.2689414};
  EXPECT_TRUE(compare(y, tensor(f32, {5, 2}, want)).passed());
  EXPECT_LT(error(y, 8), 2e-6);
}

TEST(Evaluate, SumsBoundTheirError) {
  Graph g;
  Value x = g.input("x", f32, {Dim(100), Dim(1000)});
  g.output("rows", sum(x, {1}));
  g.output("all", sum(x, {0, 1}));
  g.output("one", sum(slice(x, 1, 0, 1), {1}));
  Tensor in = random_tensor(f32, {100, 1000}, -1, 1);
  Evaluation r = evaluate(g.data(), std::vector<Tensor>{in});
  double row = 0, magnitude = 0;
  for (int i = 0; i < 1000; ++i) {
    double v = decode_float(f32, in.bits(1000 + i));
    row += v;
    magnitude += std::fabs(v);
  }
  EXPECT_NEAR(row, value(r.outputs[0], 1), 1e-10);
  EXPECT_LT(error(r.outputs[0], 1), 60 * 6e-8 * magnitude);
  EXPECT_GT(error(r.outputs[0], 1), 10 * 6e-8 * magnitude);
  EXPECT_EQ(0, error(r.outputs[2], 7));
  Tensor dropped = rounded(r.outputs[0]);
  dropped.set_bits(1, encode_float(f32, row - decode_float(f32, in.bits(1500))));
  EXPECT_FALSE(compare(r.outputs[0], dropped).passed());
}

TEST(Evaluate, ReductionsOfEmptyAxes) {
  Graph g;
  Value x = g.input("x", f32, {3, 0});
  g.output("sum", sum(x, {1}));
  g.output("prod", prod(x, {1}));
  g.output("mean", sum(x, {1}) / 0.0);
  g.output("any", any(isnan(x), {1}));
  g.output("all", all(isnan(x), {1}));
  g.output("kept", sum(x, {0}));
  std::vector<Expected> y = evaluate(g.data(), std::vector<Tensor>{Tensor(f32, {3, 0})}).outputs;
  expect_tensor(y[0], {3}, {0, 0, 0});
  expect_tensor(y[1], {3}, {1, 1, 1});
  EXPECT_TRUE(std::isnan(value(y[2], 0)));
  expect_tensor(y[3], {3}, {0, 0, 0});
  expect_tensor(y[4], {3}, {1, 1, 1});
  EXPECT_EQ(Extents{0}, y[5].shape);
}

TEST(Evaluate, ReductionsOfIntegersAreExact) {
  Graph g;
  Value x = g.input("x", i32, {5});
  g.output("min", reduce_min(x, {0}));
  g.output("argmin", argmin(x, 0));
  g.output("sum", sum(x, {0}));
  std::vector<Expected> y =
      evaluate(g.data(),
               std::vector<Tensor>{tensor(i32, {5}, {5, -2147483648.0, 7, 0, 2147483647})})
          .outputs;
  EXPECT_EQ(INT32_MIN, std::int64_t(y[0].bits[0]));
  EXPECT_EQ(1u, y[1].bits[0]);
  EXPECT_EQ(11, std::int64_t(y[2].bits[0]));
}

TEST(Evaluate, ArgMaxDoubtsRivalsWithinTheirError) {
  Graph g;
  Value x = g.input("x", f32, {3, 3});
  Expected y =
      run_one(g, argmax(exp(log(x)), 1), {tensor(f32, {3, 3}, {1, 2, 3, 5, 5, 1, 4, 1, 2})});
  EXPECT_TRUE(compare(y, tensor(i64, {3}, {2, 1, 0})).passed());
  EXPECT_FALSE(compare(y, tensor(i64, {3}, {1, 1, 0})).passed());
  EXPECT_FALSE(compare(y, tensor(i64, {3}, {2, 0, 1})).passed());
}

TEST(Evaluate, ReduceMaxOfNan) {
  Graph g;
  Value x = g.input("x", bf16, {2, 2});
  expect_tensor(run_one(g, reduce_max(x, {1}), {tensor(bf16, {2, 2}, {kNan, 1, -0.0, 0})}), {2},
                {kNan, 0});
}

TEST(Evaluate, LongSumsOfOnes) {
  Graph g;
  Value one = g.constant(1.0, f32, {10000, 1000});
  Expected y = run_one(g, sum(one, {0, 1}), {});
  EXPECT_EQ(1e7, value(y, 0));
}

TEST(Evaluate, ProductsNearTheRangeAreUncertain) {
  Graph g;
  Value x = g.input("x", f32, {2, 4});
  Expected y =
      run_one(g, prod(x, {1}), {tensor(f32, {2, 4}, {1e30, 1e30, 1e-30, 1e-30, 2, 3, 5, 7})});
  EXPECT_EQ(kInf, error(y, 0));
  EXPECT_EQ(210, value(y, 1));
  EXPECT_LT(error(y, 1), 1e-3);
}

TEST(Evaluate, ViewsMoveElements) {
  Graph g;
  Value x = g.input("x", i32, {2, 3});
  g.output("transpose", transpose(x, {1, 0}));
  g.output("flip", flip(x, {1}));
  g.output("slice", slice(x, 1, 0, 3, 2));
  g.output("pad", pad(x, {1, 0}, {0, 2}, 9));
  g.output("concat", concat({x, slice(x, 1, 1, 2)}, 1));
  g.output("reshape", reshape(x, {3, 2}));
  g.output("broadcast", broadcast(slice(x, 0, 1, 2), {2, 2, 3}));
  g.output("iota", g.iota(i32, {2, 3}, 1) + x);
  std::vector<Expected> y =
      evaluate(g.data(), std::vector<Tensor>{tensor(i32, {2, 3}, {1, 2, 3, 4, 5, 6})}).outputs;
  expect_tensor(y[0], {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_tensor(y[1], {2, 3}, {3, 2, 1, 6, 5, 4});
  expect_tensor(y[2], {2, 2}, {1, 3, 4, 6});
  expect_tensor(y[3], {3, 5}, {9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9});
  expect_tensor(y[4], {2, 4}, {1, 2, 3, 2, 4, 5, 6, 5});
  expect_tensor(y[5], {3, 2}, {1, 2, 3, 4, 5, 6});
  expect_tensor(y[6], {2, 2, 3}, {4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6});
  expect_tensor(y[7], {2, 3}, {1, 3, 5, 4, 6, 8});
}

TEST(Evaluate, ReshapeThroughAPad) {
  Graph g;
  Value x = g.iota(i32, {50}) + 1;
  Value padded = pad(reshape(cast(x, f32), {2, 5, 5}), {2, 0, 0}, {0, 0, 0}, 0.0);
  Value y = reshape(reshape(padded, {2, 2, 5, 5}), {4, 5, 5}) + 1.0;
  g.output("sum", sum(y, {0, 1, 2}));
  g.output("y", y);
  std::vector<Expected> r = evaluate(g.data(), std::vector<Tensor>{}).outputs;
  EXPECT_EQ(1375, value(r[0], 0));
  EXPECT_EQ(1, value(r[1], 49));
  EXPECT_EQ(2, value(r[1], 50));
  EXPECT_EQ(51, value(r[1], 99));
}

TEST(Evaluate, GatherOutOfRangeGivesZero) {
  Graph g;
  Value x = g.iota(i32, {200}) + 1;
  Value index = g.input("index", u8, {5});
  Value wide = g.input("wide", i64, {3});
  g.output("narrow", gather(x, index));
  g.output("by_wide", gather(reshape(x, {2, 100}), wide, 0));
  std::vector<Expected> y =
      evaluate(g.data(), std::vector<Tensor>{tensor(u8, {5}, {0, 127, 128, 199, 200}),
                                             tensor(i64, {3}, {-1, 1, 1e10})})
          .outputs;
  expect_tensor(y[0], {5}, {1, 128, 129, 200, 0});
  EXPECT_EQ(0u, y[1].bits[5]);
  EXPECT_EQ(106u, y[1].bits[105]);
  EXPECT_EQ(0u, y[1].bits[205]);
}

TEST(Evaluate, SymbolsTakeTheirValues) {
  Graph g;
  Dim b = g.dim("B");
  Value x = g.input("x", f32, {b, 3});
  Expected y = run_one(g, sum(slice(x, 0, 1, b), {0}),
                       {tensor(f32, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}, {{"B", 3}});
  expect_tensor(y, {3}, {11, 13, 15});
  EXPECT_THROW(evaluate(g.data(), std::vector<Tensor>{Tensor(f32, {3, 3})}, {{"B", 4}}), Error);
  EXPECT_THROW(evaluate(g.data(), std::vector<Tensor>{Tensor(f32, {3, 3})}), Error);
}

TEST(Evaluate, ExternsRunThroughTheCallback) {
  Graph g;
  Value x = g.input("x", f32, {2});
  std::vector<Value> r = g.extern_op("both", {x * 2.0}, {{f32, {2}}, {f32, {2}}});
  g.output("y", r[1] + 1.0);
  EXPECT_THROW(evaluate(g.data(), std::vector<Tensor>{Tensor(f32, {2})}), Error);
  EvaluateOptions options;
  options.run_extern = [](std::string_view, std::span<const Expected> x) {
    return std::vector<Expected>{x[0], x[0]};
  };
  Evaluation e = evaluate(g.data(), std::vector<Tensor>{tensor(f32, {2}, {1, 2})}, {}, options);
  expect_tensor(e.outputs[0], {2}, {3, 5});
}

TEST(Evaluate, DoublesAreJudgedBeyondDouble) {
  Expected y = map(DType::F64, {-0.4141892, 0.5}, [](Value x) { return log1p(x); });
  EXPECT_NE(0, y.low[0]);
  Tensor t = rounded(y);
  EXPECT_TRUE(compare(y, t).passed());
  t.set_bits(0, t.bits(0) + 3);
  EXPECT_FALSE(compare(y, t).passed());
}

TEST(Evaluate, AllNodesOnRequest) {
  Graph g;
  Value x = g.input("x", f32, {2});
  Value y = x + 1.0;
  g.output("z", y * y);
  EvaluateOptions options;
  options.all_values = true;
  Evaluation e = evaluate(g.data(), std::vector<Tensor>{tensor(f32, {2}, {1, 2})}, {}, options);
  expect_tensor(e.values[y.index()], {2}, {2, 3});
}

TEST(Evaluate, DeepChainsNeedNoStack) {
  Graph g;
  Value x = g.input("x", f32, {4});
  Value t = x;
  for (int i = 0; i < 10000; ++i) t = t + x;
  expect_tensor(run_one(g, t, {tensor(f32, {4}, {1})}), {4}, {10001, 10001, 10001, 10001});
}

}  // namespace
}  // namespace fuse
