// NaN, infinities and signed zeros: what rewrites and online softmax may not lose.
#include "cases/case_run.h"

#include "ir/graph_data.h"
#include "passes/passes.h"

#include <bit>
#include <cmath>

namespace fuse::cases {

namespace {

std::string with_type(std::string text, DType type) {
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;)
    text.replace(at, 4, to_string(type));
  return text;
}

}  // namespace

// pytorch 93784
TEST(SpecialCases, NanThroughMinMaxClampAndRelu) {
  const char *text = R"(graph @nan(%a: TYPE[N], %b: TYPE[N], %lo: TYPE[N], %hi: TYPE[N]) {
      %max = max %a, %b
      %min = min %a, %b
      %clamp = clamp %a, 0.0, 1.0
      %within = clamp %a, %lo, %hi
      %relu = relu %a
      return %max, %min, %clamp, %within, %relu })";
  std::vector<double> a = {kNaN, 1, kNaN, -2, 0.5}, b = {1, kNaN, kNaN, 3, 0.25};
  for (DType type : {f32, f64, f16, bf16}) {
    auto wanted = [&](const std::vector<double> &v) { return exact(type, {5}, v); };
    run_elementwise(with_type(text, type),
                    {floats(type, {5}, a), floats(type, {5}, b), floats(type, {5}, {0}),
                     floats(type, {5}, {1})},
                    {wanted({kNaN, kNaN, kNaN, 3, 0.5}), wanted({kNaN, kNaN, kNaN, -2, 0.25}),
                     wanted({kNaN, 1, kNaN, 0, 0.5}), wanted({kNaN, 1, kNaN, 0, 0.5}),
                     wanted({kNaN, 1, kNaN, 0, 0.5})});
  }
}

TEST(SpecialCases, NanThroughReducedMaxAndMin) {
  const char *text = R"(graph @nan(%a: TYPE[N]) {
      %max = max %a axes=[0]
      %min = min %a axes=[0]
      return %max, %min })";
  for (DType type : {f32, f64, f16, bf16}) {
    std::vector<Sample> samples;
    for (std::int64_t n : {4, 5, 1027})
      for (std::int64_t at : {std::int64_t{0}, n - 1}) {
        Tensor x = generate(type, {n}, [&](std::int64_t i) { return i == at ? kNaN : -2.0; });
        samples.push_back({{x}, {exact(type, {}, {kNaN}), exact(type, {}, {kNaN})}, {{"N", n}}});
      }
    run_samples(parse(with_type(text, type)), samples);
  }
}

TEST(SpecialCases, CrossEntropyOfTargetsThatAreNoColumn) {
  const char *text = R"(graph @loss(%x: f32[R, C], %t: i64[R]) {
      %loss = cross_entropy %x, %t axis=1
      return %loss })";
  Tensor x = floats(f32, {4, 5}, {0});
  run_samples(parse(text), {{{x, ints(i64, {4}, {4, 5, -100, INT64_MAX})},
                             {within(f32, {4}, {std::log(5.0), kNaN, 0, kNaN}, {.ulp = 8})},
                             {{"R", 4}, {"C", 5}}}});
}

// tilelang 2638; pytorch 186281, 101009; tinygrad 4982
TEST(SpecialCases, AlgebraThatIsWrongForFloats) {
  std::vector<double> x = {kNaN, kInf, -kInf, 0, -0.0, 3};
  auto wanted = [](const std::vector<double> &v) { return exact(f32, {6}, v); };
  run_elementwise(
      R"(graph @algebra(%x: f32[N]) {
      %mul = mul %x, 0.0
      %sub = sub %x, %x
      %div = div %x, %x
      %zero = div 0.0, %x
      %by = div %x, 0.0
      %minus = const -1.0 : f32[N]
      %negative = div %minus, 0.0
      return %mul, %sub, %div, %zero, %by, %negative })",
      {floats(f32, {6}, x)},
      {wanted({kNaN, kNaN, kNaN, 0, -0.0, 0}), wanted({kNaN, kNaN, kNaN, 0, 0, 0}),
       wanted({kNaN, kNaN, kNaN, kNaN, kNaN, 1}), wanted({kNaN, 0, -0.0, kNaN, kNaN, 0}),
       wanted({kNaN, kInf, -kInf, kNaN, kNaN, kInf}), wanted({-kInf})});
}

TEST(SpecialCases, TheSameAlgebraIsRightForIntegers) {
  Graph g = canonicalize(parse(R"(graph @algebra(%x: i32[N]) {
      %mul = mul %x, 0
      %sub = sub %x, %x
      return %mul, %sub })"));
  for (const Output &o : g.data().outputs) {
    ASSERT_EQ(g.data().node(o.node).op, Op::Constant);
    EXPECT_EQ(g.data().attr<Literal>(o.node).bits, 0u);
  }
}

// torch-mojo-backend 319; tt-metal 56056; pytorch 6864, 106545
TEST(SpecialCases, SoftmaxOfRowsWithInfinities) {
  double big = 0.7310585786300049, small = 0.2689414213699951;
  std::vector<double> x = {0,    -kInf, -kInf, -kInf, -kInf, -kInf, 0, kInf, 1,
                           kNaN, 0,     1,     10000, 9999,  -kInf, 0, 0,    0};
  std::vector<double> y = {1,    0,    0,    kNaN, kNaN,  kNaN, kNaN,    kNaN,    kNaN,
                           kNaN, kNaN, kNaN, big,  small, 0,    1 / 3.0, 1 / 3.0, 1 / 3.0};
  const char *text = R"(graph @softmax(%x: TYPE[6, 3]) {
      %y = softmax %x axis=1
      return %y })";
  run_case(with_type(text, f32), {floats(f32, {6, 3}, x)}, {within(f32, {6, 3}, y, {0, 1e-6, 0})});
  // 9999 is no bf16 number.
  x[12] = 2;
  x[13] = 1;
  run_case(with_type(text, bf16), {floats(bf16, {6, 3}, x)},
           {within(bf16, {6, 3}, y, {1.5, 0, 0})});
}

TEST(SpecialCases, LogSoftmaxOfAMaskedElement) {
  run_case(R"(graph @log_softmax(%x: f32[1, 2]) {
      %y = log_softmax %x axis=1
      return %y })",
           {floats(f32, {1, 2}, {0, -kInf})}, {exact(f32, {1, 2}, {0, -kInf})});
}

TEST(SpecialCases, SoftmaxOfRowsShorterThanABlock) {
  std::vector<Sample> samples;
  for (std::int64_t w = 1; w <= 1025; w = w == 130 ? 1023 : w < 130 ? w + 1 : w + 2) {
    Tensor x = generate(f32, {3, w}, [](std::int64_t i) { return double(i * 37 % 101) / 25 - 2; });
    std::vector<double> y(static_cast<std::size_t>(3 * w));
    for (std::int64_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (std::int64_t k = 0; k < w; ++k)
        sum += y[std::size_t(row * w + k)] =
            std::exp(double(std::bit_cast<float>(std::uint32_t(x.bits(row * w + k)))));
      for (std::int64_t k = 0; k < w; ++k) y[std::size_t(row * w + k)] /= sum;
    }
    Within tolerance = w == 1 ? Within{} : Within{0, 2e-6, 0};
    samples.push_back({{x}, {within(f32, {3, w}, y, tolerance)}, {{"W", w}}});
  }
  run_samples(parse(R"(graph @softmax(%x: f32[3, W]) {
      %y = softmax %x axis=1
      return %y })"),
              samples, {false, true, 0});
}

// jax 347, 2630, 5798; tinygrad 12409
TEST(SpecialCases, TheBranchNotSelectedLeavesNoTrace) {
  Tensor x = floats(f64, {3, 2}, {1, 2, 3, 4, 0, 0});
  run_case(
      R"(graph @norm(%x: f64[3, 2]) {
      %xx = mul %x, %x
      %q = sum %xx axes=[1] keep
      %p = gt %q, 0.25
      %safe = select %p, %q, 1.0
      %r = sqrt %safe
      %norm = select %p, %r, 1.0
      %slope = div %x, %r
      %gradient = select %p, %slope, 0.0
      %steep = rsqrt %q
      %chosen = select %p, %steep, 0.0
      %mask = cast %p : f64
      %product = mul %mask, %steep
      return %norm, %gradient, %chosen, %product })",
      {x},
      {within(f64, {3, 1}, {std::sqrt(5.0), 5, 1}, {0, 1e-15, 0}),
       within(f64, {3, 2}, {1 / std::sqrt(5.0), 2 / std::sqrt(5.0), 0.6, 0.8, 0, 0}, {0, 1e-12, 0}),
       within(f64, {3, 1}, {1 / std::sqrt(5.0), 0.2, 0}, {0, 1e-12, 0}),
       within(f64, {3, 1}, {1 / std::sqrt(5.0), 0.2, kNaN}, {0, 1e-12, 0})});
}

}  // namespace fuse::cases
