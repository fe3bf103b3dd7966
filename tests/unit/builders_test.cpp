// Values of the builders against formulas in double, and the places of their errors.
#include <fuse/jit.h>

#include "ir/evaluate.h"
#include "ir/float_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace {

using namespace fuse;
using testing::HasSubstr;

constexpr double kInf = INFINITY;

/// Output of a graph of one input, evaluated.
std::vector<double> run(const std::vector<double> &x, const std::vector<std::int64_t> &shape,
                        const std::function<Value(Value)> &build, DType type = f64,
                        const Bindings &symbols = {}, Shape declared = {}) {
  Graph g("g");
  for (const auto &[name, size] : symbols) g.dim(name);
  if (declared.empty()) declared.assign(shape.begin(), shape.end());
  g.output("y", build(g.input("x", type, declared)));
  std::vector<Tensor> inputs = {Tensor(type, shape, x)};
  Tensor y = rounded(evaluate(g.data(), inputs, symbols).outputs[0]);
  std::vector<double> values;
  for (std::int64_t i = 0; i < y.size(); ++i) values.push_back(as_double(y.literal(i)));
  return values;
}

void expect_near(const std::vector<double> &actual, const std::vector<double> &expected,
                 double tolerance = 1e-13) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isfinite(expected[i]))
      EXPECT_NEAR(actual[i], expected[i], tolerance * std::fabs(expected[i])) << i;
    else
      EXPECT_TRUE(actual[i] == expected[i] || std::isnan(expected[i])) << i << ": " << actual[i];
  }
}

void expect_elementwise(const std::function<Value(Value)> &build,
                        const std::function<double(double)> &formula, double tolerance = 1e-13) {
  std::vector<double> x = {-30, -6, -1.5, -0.25, 0, 0.25, 1.5, 6, 30}, expected;
  for (double v : x) expected.push_back(formula(v));
  expect_near(run(x, {9}, build), expected, tolerance);
}

TEST(Builders, ActivationsFollowTheirFormulas) {
  expect_elementwise([](Value x) { return silu(x); },
                     [](double v) { return v / (1 + std::exp(-v)); });
  expect_elementwise([](Value x) { return gelu_erf(x); },
                     [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); }, 1e-11);
  expect_elementwise([](Value x) { return gelu(x); },
                     [](double v) {
                       double u = std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
                       return v / (1 + std::exp(-2 * u));
                     },
                     1e-11);
  expect_elementwise([](Value x) { return elu(x, 2); },
                     [](double v) { return v > 0 ? v : 2 * std::expm1(v); });
  expect_elementwise([](Value x) { return leaky_relu(x, 0.5); },
                     [](double v) { return v > 0 ? v : 0.5 * v; });
  expect_elementwise([](Value x) { return hardswish(x); },
                     [](double v) { return v * std::fmin(std::fmax(v + 3, 0), 6) / 6; });
  expect_elementwise([](Value x) { return relu(x); }, [](double v) { return v > 0 ? v : 0; });
  expect_elementwise([](Value x) { return clamp(x, -1, 2.5); },
                     [](double v) { return std::fmin(std::fmax(v, -1), 2.5); });
  expect_elementwise([](Value x) { return reciprocal(x + 31.0); },
                     [](double v) { return 1 / (v + 31); });
}

TEST(Builders, SoftplusHasNoOverflowAndKeepsItsTail) {
  expect_near(run({-100, -20, 0, 20, 50, 100, 1000}, {7}, [](Value x) { return softplus(x); }),
              {3.720075976020836e-44, 2.061153620314381e-9, 0.6931471805599453, 20.00000000206115,
               50, 100, 1000});
  expect_near(run({-4, 4}, {2}, [](Value x) { return softplus(x, 5); }),
              {std::log1p(std::exp(-20.0)) / 5, 4 + std::log1p(std::exp(-20.0)) / 5});
}

TEST(Builders, RowStatistics) {
  std::vector<double> x = {1, 2, 4, -3, 1000, 1002};
  auto on = [&](auto build) { return run(x, {2, 3}, build); };
  expect_near(on([](Value v) { return mean(v, {-1}); }), {7.0 / 3, 1999.0 / 3});
  expect_near(on([](Value v) { return var(v, {0, 1}, 1); }), {[&] {
                double m = 0, s = 0;
                for (double v : x) m += v / 6;
                for (double v : x) s += (v - m) * (v - m) / 5;
                return s;
              }()});
  expect_near({on([](Value v) { return stddev(v, {1}); })[0]}, {std::sqrt(14.0 / 9)});
  expect_near(
      on([](Value v) { return logsumexp(v, {1}); }),
      {4 + std::log(1 + std::exp(-2.0) + std::exp(-3.0)), 1002 + std::log1p(std::exp(-2.0))});
  double s = 1 + std::exp(-2.0) + std::exp(-3.0);
  std::vector<double> softmaxed = on([](Value v) { return softmax(v, 1); });
  expect_near({softmaxed.begin(), softmaxed.begin() + 3},
              {std::exp(-3.0) / s, std::exp(-2.0) / s, 1 / s});
  std::vector<double> logs = on([](Value v) { return log_softmax(v, 1); });
  expect_near({logs.begin(), logs.begin() + 3}, {-3 - std::log(s), -2 - std::log(s), -std::log(s)});
}

TEST(Builders, LogsumexpOfInfinities) {
  expect_near(
      run({-kInf, -kInf, -kInf, 1, kInf, 1}, {3, 2}, [](Value x) { return logsumexp(x, {1}); }),
      {-kInf, 1, kInf});
}

TEST(Builders, SymbolicExtentsCountAtRunTime) {
  Dim b = Dim::symbol("B");
  expect_near(
      run({1, 2, 3, 4, 5}, {5}, [](Value x) { return var(x, {0}, 1); }, f32, {{"B", 5}}, {b}),
      {2.5}, 1e-6);
}

TEST(Builders, CrossEntropyPicksTheTarget) {
  Graph g("g");
  auto x = g.input("x", f64, {3, 3});
  auto t = g.input("t", u8, {3});
  g.output("y", cross_entropy(x, t));
  auto t2 = g.input("t2", i64, {3});
  g.output("z", cross_entropy(x, t2));
  std::vector<double> logits = {1, 2, 3, 1000, 0, 0, 0, 0, 0};
  std::vector<Tensor> inputs = {Tensor(f64, {3, 3}, logits),
                                Tensor(u8, {3}, std::vector<double>{2, 0, 1}),
                                Tensor(i64, {3}, std::vector<double>{2, -100, 1})};
  Evaluation e = evaluate(g.data(), inputs);
  double first = std::log(1 + std::exp(-1.0) + std::exp(-2.0));
  for (int i : {0, 1}) {
    Tensor y = rounded(e.outputs[i]);
    EXPECT_NEAR(as_double(y.literal(0)), first, 1e-14);
    EXPECT_EQ(as_double(y.literal(1)), 0);
    EXPECT_NEAR(as_double(y.literal(2)), std::log(3.0), 1e-14);
  }
}

TEST(Builders, CrossEntropyOfATargetBeyondTheColumnsIsNaN) {
  for (Dim columns : {Dim(3), Dim::symbol("C")}) {
    Graph g("g");
    if (!columns.is_static()) g.dim("C");
    auto x = g.input("x", f32, {4, columns});
    for (DType type : {u8, i32, i64, u64})
      g.output("of_" + std::string(to_string(type)),
               cross_entropy(x, g.input(to_string(type), type, {4})));
    std::vector<Tensor> inputs = {Tensor(f32, {4, 3}, std::vector<double>(12))};
    for (DType type : {u8, i32, i64, u64})
      inputs.push_back(
          Tensor(type, {4}, std::vector<double>{2, 3, 0, type == u8 ? 255.0 : 0x1p30}));
    inputs.back() = Tensor(u64, {4}, std::vector<double>{2, 3, 0, 0x1p63});
    Evaluation e = evaluate(g.data(), inputs, {{"C", 3}});
    for (int i = 0; i < 4; ++i) {
      Tensor y = rounded(e.outputs[i]);
      for (int row : {0, 2}) EXPECT_NEAR(as_double(y.literal(row)), std::log(3.0), 1e-6);
      for (int row : {1, 3}) EXPECT_TRUE(std::isnan(as_double(y.literal(row))));
    }
  }
}

TEST(Builders, Normalizations) {
  std::vector<double> x = {1, 2, 3, 6};  // mean 3, variance 3.5
  auto standard = [](double v) { return (v - 3) / std::sqrt(3.5 + 1e-5); };
  std::vector<double> expected;
  for (double v : x) expected.push_back(standard(v));
  expect_near(run(x, {1, 4}, [](Value v) { return layer_norm(v, {1}); }), expected);
  expect_near(run(x, {1, 4}, [](Value v) { return group_norm(v, 1); }), expected);
  expect_near(
      run(x, {4, 1}, [](Value v) { return batch_norm_training(v, mean(v, {0}), mean(v, {0})).y; }),
      expected);
  double rms = std::sqrt(50.0 / 4 + 1e-6);
  expect_near(run(x, {4}, [](Value v) { return rms_norm(v, {0}); }),
              {1 / rms, 2 / rms, 3 / rms, 6 / rms});
  double norm = std::sqrt(50.0);
  expect_near(run(x, {4}, [](Value v) { return normalize(v); }),
              {1 / norm, 2 / norm, 3 / norm, 6 / norm});
}

TEST(Builders, RunningStatisticsMove) {
  std::vector<double> x = {1, 2, 3, 6};
  expect_near(run(x, {4, 1},
                  [](Value v) {
                    Value zero = mean(v, {0}) * 0.0;
                    return batch_norm_training(v, zero, zero, {}, {}, 0.25).running_var;
                  }),
              {0.25 * 14 / 3});
}

TEST(Builders, ScattersReplaceASlice) {
  std::vector<double> x = {0, 1, 2, 3, 4, 5, 6};
  auto replaced = [&](Dim start, Dim stop, std::int64_t step) {
    return run(x, {7}, [&](Value v) {
      return slice_scatter(v, slice(v, 0, start, stop, step) * 10.0, 0, start, stop, step);
    });
  };
  expect_near(replaced(0, 2, 1), {0, 10, 2, 3, 4, 5, 6});
  expect_near(replaced(2, 7, 1), {0, 1, 20, 30, 40, 50, 60});
  expect_near(replaced(1, 6, 2), {0, 10, 2, 30, 4, 50, 6});
  expect_near(replaced(0, 7, 3), {0, 1, 2, 30, 4, 5, 60});
  expect_near(run(x, {7}, [](Value v) { return select_scatter(v, mean(v, {0}), 0, 6); }),
              {0, 1, 2, 3, 4, 5, 3});
}

TEST(Builders, RotaryEmbeddingRotatesHalves) {
  expect_near(run({1, 2, 3, 4}, {4},
                  [](Value v) {
                    Value c = slice(v, 0, 0, 2), s = slice(v, 0, 2, 4);
                    return rotary_embedding(v, c, s);
                  }),
              {1 * 1 - 3 * 3, 2 * 2 - 4 * 4, 3 * 1 + 1 * 3, 4 * 2 + 2 * 4});
}

TEST(Builders, SixteenBitInputsAreRoundedOnce) {
  Graph g("g");
  auto x = g.input("x", bf16, {4, 8});
  Value y = softmax(x);
  EXPECT_EQ(y.dtype(), bf16);
  g.output("y", y);
  EXPECT_THAT(to_string(g), testing::Not(HasSubstr("exp %0 : bf16")));
}

TEST(Builders, ErrorsNameTheBuilderAndTheCallersLine) {
  Graph g("g");
  auto x = g.input("x", i32, {4, 8});
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    softmax(x);
    FAIL() << "no error";
  } catch (const Error &e) {
    EXPECT_EQ(std::string(e.what()),
              e.where() + ": softmax: takes floats, not i32[4, 8]; cast it first");
    EXPECT_EQ(e.code(), ErrorCode::DType);
    EXPECT_THAT(e.where(), HasSubstr("builders_test.cpp:" + std::to_string(line)));
  }
  auto f = g.input("f", f32, {4, 8});
  EXPECT_THROW(layer_norm(f, {1}, g.input("w", f32, {7})), Error);
  EXPECT_THROW(group_norm(f, 3), Error);
  EXPECT_THROW(squeeze(f, 0), Error);
  EXPECT_THROW(unsqueeze(f, 4), Error);
  EXPECT_THROW(rotary_embedding(f, x, x), Error);
  EXPECT_THROW(relu(1.0), Error);
}

/// What an expression's error says behind the place of its line. In arguments of a macro that span
/// two lines compilers count from the first or the second.
template <class Function>
std::string words(int line, Function function) {
  try {
    function();
  } catch (const Error &e) {
    std::string text = e.what();
    for (int at : {line, line + 1}) {
      std::string place = std::string(__FILE__) + ":" + std::to_string(at) + ": ";
      if (text.compare(0, place.size(), place) == 0) return text.substr(place.size());
    }
    return text;
  }
  return "no error";
}

TEST(Errors, BeginWithThePlaceAndNameTheOperand) {
  Graph g("g"), other("other");
  auto x = g.input("x", f32, {4, 8}), y = other.input("y", f32, {4, 8});
  EXPECT_EQ(words(__LINE__, [&] { x + y; }),
            "add: operand 1 is of another graph: of other, not of g");
  EXPECT_EQ(words(__LINE__, [&] { x + Value(); }), "add: operand 1 is an empty Value");
  EXPECT_EQ(words(__LINE__, [&] { sum(x, {2}); }), "sum: axis 2 of f32[4, 8], whose rank is 2");
  EXPECT_EQ(words(__LINE__, [&] { g.dim("B", {2, 1, 1}); }),
            "dim B: bounds [2, 1] divisible by 1 hold no size");
  EXPECT_EQ(words(__LINE__, [&] { g.output("x", x); }),
            "output: x is the name of an input; launches tell arguments apart by name");
  EXPECT_EQ(words(__LINE__, [&] { g.constant(x, f32); }), "constant: takes a literal, not a value");
}

TEST(Literals, MayHaveAnyIntegerType) {
  Graph g("g");
  auto x = g.input("x", f32, {4});
  Value n = x * 2;
  EXPECT_EQ(n, x * 2u);
  EXPECT_EQ(n, x * 2LL);
  EXPECT_EQ(n, x * std::size_t{2});
  EXPECT_EQ(x * ~std::uint64_t{0}, x * 0x1p64);
  EXPECT_EQ(g.constant(1, f32), g.constant(1.0, f32));
  EXPECT_EQ(g.constant(true, boolean), g.constant(1u, boolean));
}

}  // namespace
