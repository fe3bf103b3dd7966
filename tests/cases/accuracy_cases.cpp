// Elementwise accuracy: division, trigonometry of large arguments, softplus, expm1, log1p, round.
#include "cases/case_run.h"
#include "ir/float_bits.h"

#include <algorithm>
#include <cmath>

namespace fuse::cases {

namespace {

template <class F>
std::vector<double> map(const Tensor &x, F f) {
  std::vector<double> result;
  Expected numbers = exactly(x);
  for (double v : numbers.value) result.push_back(f(v));
  return result;
}

}  // namespace

// What reads a sigmoid may leave room for a cheaper one; where it does not, tails keep their
// digits.
TEST(AccuracyCases, SigmoidsOfAllBf16) {
  Tensor x = generate(bf16, {65536}, [](std::int64_t i) {
    return as_double({bf16, static_cast<std::uint64_t>(i)});
  });
  auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  std::vector<double> thrice = map(x, [&](double v) { return sigmoid(sigmoid(sigmoid(v))); });
  std::vector<double> of_tanh = map(x, [&](double v) { return sigmoid(std::tanh(v)); });
  std::vector<double> tail = map(x, [&](double v) { return v * sigmoid(v); });
  std::vector<double> shifted = map(x, [&](double v) { return 3 + sigmoid(v) / 2; });
  auto one_ulp = [&](const std::vector<double> &values) {
    return within(bf16, {65536}, values, {.ulp = 1, .abs = 0x1p-126});
  };
  RunOptions fused;
  fused.op_by_op = false;  // rounds between
  run_case(R"(graph @sigmoids(%x: bf16[65536]) {
      %a = sigmoid %x
      %b = sigmoid %a
      %thrice = sigmoid %b
      %t = tanh %x
      %of_tanh = sigmoid %t
      %s = sigmoid %x
      %tail = mul %x, %s
      %half = mul %s, 0.5
      %shifted = add %half, 3.0
      return %thrice, %of_tanh, %tail, %shifted })",
           {x}, {one_ulp(thrice), one_ulp(of_tanh), one_ulp(tail), one_ulp(shifted)}, fused);
}

// Rounded before and after: bounds alone leave the room.
TEST(AccuracyCases, RoundedSigmoidsOfBoundedBf16) {
  Tensor x = generate(bf16, {65536}, [](std::int64_t i) {
    return as_double({bf16, static_cast<std::uint64_t>(i)});
  });
  std::vector<double> values = map(x, [&](double v) {
    return std::isnan(v) ? v : 1 / (1 + std::exp(-std::clamp(v, 0.0, 1.0)));
  });
  std::vector<double> bounded =
      map(x, [](double v) { return std::isnan(v) ? v : std::clamp(v, 0.0, 1.0); });
  RunOptions fused;
  fused.op_by_op = false;
  run_case(R"(graph @bounded(%x: bf16[65536]) {
      %c = clamp %x, 0.0, 1.0
      %y = sigmoid %c
      return %c, %y })",
           {x},
           {within(bf16, {65536}, bounded, {.ulp = 1, .abs = 0x1p-126}),
            within(bf16, {65536}, values, {.ulp = 1, .abs = 0x1p-126})},
           fused);
}

// triton 10661, 10073; pytorch 177740, 184680
TEST(AccuracyCases, DivisionIsCorrectlyRounded) {
  constexpr std::int64_t kCount = 100000;
  Tensor a = generate(f32, {kCount}, [](std::int64_t i) { return double(i + 1) * 0.9375; });
  Tensor b = generate(f32, {kCount}, [](std::int64_t) { return 0.9375; });
  Tensor k = generate(f32, {kCount}, [](std::int64_t i) { return i + 1; });
  std::vector<Expected> wanted(6, exactly(k));
  run_case(R"(graph @exact(%a: f32[100000], %b: f32[100000], %s: f32 scalar) {
      %q = div %a, %b
      %f0 = floor %q
      %t0 = trunc %q
      %r = div %a, %s
      %f1 = floor %r
      %t1 = trunc %r
      %l = div %a, 0.9375
      %f2 = floor %l
      %t2 = trunc %l
      return %f0, %t0, %f1, %t1, %f2, %t2 })",
           {a, b, floats(f32, {}, {0.9375})}, wanted);
  run_elementwise(
      R"(graph @division(%a: f32[N], %b: f32[N]) {
      %q = div %a, %b
      %third = div %a, 3.0
      return %q, %third })",
      {floats(f32, {2}, {4.6875, 7}), floats(f32, {2}, {0.9375, 3})},
      {exact(f32, {2}, {5, double(7.0f / 3.0f)}), exact(f32, {2}, {1.5625, double(7.0f / 3.0f)})});
}

// mlx 4157; tt-metal 55318
TEST(AccuracyCases, SineAndCosineOfLargeArguments) {
  Tensor x = floats(f32, {10}, {1e5, 1e6, 1e7, 1e9, 1e10, 1e15, 1e20, 1e30, 3.4e38, kInf});
  std::vector<double> sine = map(x, [](double v) { return std::sin(v); });
  std::vector<double> cosine = map(x, [](double v) { return std::cos(v); });
  const double known[] = {0.03574880, -0.34999350, 0.42054779,  0.54584345, -0.48750603,
                          0.99443431, 0.65657668,  -0.79116344, -0.24408487};
  for (std::size_t i = 0; i < std::size(known); ++i) EXPECT_NEAR(sine[i], known[i], 1e-8);
  EXPECT_NEAR(cosine[0], -0.99936081, 1e-8);
  EXPECT_NEAR(cosine[4], 0.87311962, 1e-8);
  run_elementwise(R"(graph @large(%x: f32[N]) {
      %s = sin %x
      %c = cos %x
      return %s, %c })",
                  {x}, {within(f32, {10}, sine, {4, 0, 0}), within(f32, {10}, cosine, {4, 0, 0})});
}

// burn 5373; tt-metal 56397
TEST(AccuracyCases, SoftplusDoesNotOverflow) {
  for (DType type : {f32, f16})
    for (double beta : {1.0, 5.0}) {
      std::string text = type == f32 ? R"(graph @softplus(%x: f32[N]) {)"
                                       "\n"
                                     : R"(graph @softplus(%x: f16[N]) {)"
                                       "\n";
      text += "%y = softplus %x beta=" + std::to_string(beta) + "\nreturn %y }";
      Tensor x = floats(type, {7}, {-100, -20, 0, 20, 50, 100, 1000});
      std::vector<double> y = map(x, [&](double v) {
        return (std::fmax(beta * v, 0) + std::log1p(std::exp(-std::fabs(beta * v)))) / beta;
      });
      run_elementwise(text, {x}, {within(type, {7}, y, {4, 0, 1e-43})});
    }
}

TEST(AccuracyCases, SoftplusOfPrimitivesOverflowsOnEveryPath) {
  std::vector<double> y = {3.720076e-44, 2.0611536e-9, 0.69314718, 20, 50, kInf, kInf};
  run_elementwise(R"(graph @softplus(%x: f32[N]) {
      %b = mul %x, 1.0
      %e = exp %b
      %l = log1p %e
      %y = div %l, 1.0
      return %y })",
                  {floats(f32, {7}, {-100, -20, 0, 20, 50, 100, 1000})},
                  {within(f32, {7}, y, {0, 1e-6, 1e-43})});
}

// tt-metal 28187; jax 39707
TEST(AccuracyCases, Expm1AndLog1pNearZero) {
  Tensor x = floats(f32, {5}, {1e-8, -1e-8, 1e-4, -1e-4, 1e-20});
  run_elementwise(R"(graph @near_zero(%x: f32[N]) {
      %e = expm1 %x
      %l = log1p %x
      return %e, %l })",
                  {x},
                  {within(f32, {5}, map(x, [](double v) { return std::expm1(v); }), {2, 0, 0}),
                   within(f32, {5}, map(x, [](double v) { return std::log1p(v); }), {2, 0, 0})});
}

TEST(AccuracyCases, DoubleLog1pBelowMinusTwoFifths) {
  run_elementwise(R"(graph @log1p(%x: f64[N]) {
      %l = log1p %x
      return %l })",
                  {floats(f64, {3}, {-0.4141892, -0.53, -0.28})},
                  {within(f64, {3}, {-0.5347584084320597, -0.7550225842780328, -0.3285040669720361},
                          {2, 0, 0})});
}

// moonbitlang core 3912
TEST(AccuracyCases, RoundingIsToEvenAndKeepsTheSign) {
  std::vector<double> x = {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.25, 8388609};
  std::vector<double> y = {0, 2, 2, -0.0, -2, -2, 0, -0.0, 8388609};
  const char *text = R"(graph @round(%x: TYPE[N]) {
      %y = round %x
      return %y })";
  std::string single = text, twice = text;
  run_elementwise(single.replace(single.find("TYPE"), 4, "f32"), {floats(f32, {9}, x)},
                  {exact(f32, {9}, y)});
  x[8] = y[8] = 4503599627370497;
  x[6] = 0.49999999999999994;
  run_elementwise(twice.replace(twice.find("TYPE"), 4, "f64"), {floats(f64, {9}, x)},
                  {exact(f64, {9}, y)});
}

}  // namespace fuse::cases
