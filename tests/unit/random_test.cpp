// Random numbers: the generator against known answers, what graphs make of it, and its builders.
#include <fuse/jit.h>

#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "ir/graph_verify.h"
#include "ir/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace {

using namespace fuse;
using testing::HasSubstr;

using Words = std::array<std::uint32_t, 4>;

Tensor seed_tensor(std::uint64_t seed) {
  Tensor tensor(u64, {});
  tensor.set_bits(0, seed);
  return tensor;
}

/// The values of one builder for a seed, in double.
template <class Build>
std::vector<double> numbers(std::int64_t count, const Build &build, std::uint64_t seed = 12345) {
  Graph g;
  g.output("y", build(g.scalar("seed", u64), Shape{count}));
  const std::vector<Tensor> inputs = {seed_tensor(seed)};
  Tensor y = rounded(evaluate(g.data(), inputs).outputs[0]);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(as_double(y.literal(i)));
  return values;
}

double moment(const std::vector<double> &values, int power, double around = 0) {
  double sum = 0;
  for (double v : values) sum += std::pow(v - around, power);
  return sum / static_cast<double>(values.size());
}

/// Of neighbours at the distance, in units of their product's standard deviation.
double correlation(const std::vector<double> &values, std::size_t distance, double mean,
                   double variance) {
  double sum = 0;
  std::size_t count = values.size() - distance;
  for (std::size_t i = 0; i < count; ++i) sum += (values[i] - mean) * (values[i + distance] - mean);
  return sum / variance / std::sqrt(static_cast<double>(count));
}

TEST(Philox, HasTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, AnElementIsAWordOfItsCall) {
  constexpr std::uint64_t kSeed = 0x299f31d0a4093822, kStream = 0x0370734413198a2e;
  constexpr std::uint64_t kBlock = 0x05a308d3243f6a88;
  Words words = philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_EQ(random_word(kSeed, kStream, kBlock * 4 + i), words[i]);
  EXPECT_EQ(random_word(0, 0, 1), 0xe169c58d);
}

TEST(RandomBits, AreTheWordsInRowMajorOrder) {
  Graph g;
  Value bits = random_bits(g.scalar("seed", u64), {3, 5}, 9);
  g.output("y", bits);
  g.output("t", transpose(bits, {1, 0}));
  const std::vector<Tensor> inputs = {seed_tensor(0xfedcba9876543210)};
  auto outputs = evaluate(g.data(), inputs).outputs;
  for (std::uint64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(outputs[0].bits[i], random_word(0xfedcba9876543210, 9, i));
    EXPECT_EQ(outputs[1].bits[i % 5 * 3 + i / 5], outputs[0].bits[i]);
  }
}

TEST(RandomBits, AreInternedBySeedStreamAndShape) {
  Graph g;
  Value seed = g.scalar("seed", u64), other = g.input("other", u64, {});
  Value bits = random_bits(seed, {4, 8}, 1);
  EXPECT_TRUE(bits == random_bits(seed, {4, 8}, 1));
  EXPECT_FALSE(bits == random_bits(seed, {4, 8}, 2));
  EXPECT_FALSE(bits == random_bits(seed, {8, 4}, 1));
  EXPECT_FALSE(bits == random_bits(other, {4, 8}, 1));
}

TEST(RandomBits, TakeTheNextStreamOfTheGraph) {
  auto build = [] {
    Graph g("g");
    Value seed = g.scalar("seed", u64);
    Value a = random_bits(seed, {4}), b = uniform(seed, f32, {4}), c = random_bits(seed, {4}, 7);
    g.output("a", a);
    g.output("b", b);
    g.output("c", c);
    g.output("d", dropout(b, 0.0, seed));  // drops nothing, but takes a stream
    g.output("e", random_bits(seed, {4}));
    return g;
  };
  Graph g = build();
  std::string text = to_string(g);
  EXPECT_THAT(text, HasSubstr("%0 = random_bits %seed stream=4294967296"));
  EXPECT_THAT(text, HasSubstr("random_bits %seed stream=4294967297"));
  EXPECT_THAT(text, HasSubstr("random_bits %seed stream=7"));
  EXPECT_THAT(text, HasSubstr("random_bits %seed stream=4294967299"));
  EXPECT_TRUE(g == build());
  // What is read goes on where what was printed ended; a copy, too.
  Graph read = parse(text), copy = g.clone();
  for (Graph *graph : {&read, &copy}) {
    graph->output("f", random_bits(graph->inputs()[0], {4}));
    EXPECT_THAT(to_string(*graph), HasSubstr("random_bits %seed stream=4294967300"));
  }
}

TEST(RandomBits, HaveATextWithoutAStream) {
  Graph g = parse(R"(graph @g(%seed: u64 scalar) {
      %0 = random_bits %seed : u32[4, 8]
      %1 = random_bits 42 stream=0 : u32[4, 8]
      %2 = random_bits 42 : u32
      return %0, %1, %2 })");
  EXPECT_THAT(to_string(g), HasSubstr("%0 = random_bits %seed stream=4294967296 : u32[4, 8]\n"
                                      "  %1 = random_bits 42 stream=0 : u32[4, 8]\n"
                                      "  %2 = random_bits 42 stream=4294967297 : u32\n"));
  EXPECT_TRUE(g == parse(to_string(g)));
  verify(g);
}

template <class Build>
std::string error_of(ErrorCode code, const Build &build) {
  Graph g;
  Value seed = g.scalar("seed", u64), x = g.input("x", f32, {4});
  try {
    build(g, seed, x);
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(RandomBits, SayWhatIsWrong) {
  using G = Graph &;
  EXPECT_THAT(error_of(ErrorCode::DType, [](G, Value, Value x) { random_bits(x, {4}); }),
              HasSubstr("random_bits: the seed is f32[4], not a u64 scalar"));
  EXPECT_THAT(
      error_of(ErrorCode::DType, [](G g, Value, Value) { uniform(g.scalar("s", i64), f32, {4}); }),
      HasSubstr("uniform: random_bits: the seed is i64[], not a u64 scalar"));
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [](G, Value, Value) { random_bits(42, {4}); }),
              HasSubstr("random_bits: the seed is a literal; g.constant(42, u64) is a value"));
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument, [](G, Value s, Value) { random_bits(s, {4}, -2); }),
      HasSubstr("random_bits: stream -2 is negative"));
  EXPECT_THAT(error_of(ErrorCode::DType, [](G, Value s, Value) { uniform(s, i32, {4}); }),
              HasSubstr("uniform: gives f16, bf16, f32 or f64, not i32"));
  EXPECT_THAT(error_of(ErrorCode::DType, [](G, Value s, Value) { normal(s, f8e4m3, {4}); }),
              HasSubstr("normal: gives f16, bf16, f32 or f64, not f8e4m3"));
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [](G, Value s, Value x) { dropout(x, 1.5, s); }),
              HasSubstr("dropout: p is 1.5, not in [0, 1]"));
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument, [](G, Value s, Value) { bernoulli(s, NAN, {4}); }),
      HasSubstr("bernoulli: p is nan, not in [0, 1]"));
  EXPECT_THAT(error_of(ErrorCode::Shape, [](G, Value s, Value x) { bernoulli(s, x, {4}); }),
              HasSubstr("bernoulli: p is f32[4], not a scalar"));
  EXPECT_THAT(error_of(ErrorCode::DType,
                       [](G g, Value s, Value) { dropout(g.input("i", i32, {4}), 0.5, s); }),
              HasSubstr("dropout: takes floats, not i32"));
  EXPECT_THAT(error_of(ErrorCode::Shape,
                       [](G, Value s, Value) { random_bits(s, {1, 1, 1, 1, 1, 1, 1, 1, 1}); }),
              HasSubstr("random_bits: rank 9 exceeds 8"));
}

std::string parse_error(const std::string &line) {
  try {
    parse("graph @g(%s: u64, %x: f32[4], %i: i64) {\n  %y = " + line + "\n  return %y }", "t");
  } catch (const Error &e) {
    return e.what();
  }
  return "no error";
}

TEST(RandomBits, PointAtTheTextThatIsWrong) {
  EXPECT_EQ(parse_error("random_bits %s : f32[4]"),
            "t:2:25: error: random_bits gives u32, not f32");
  EXPECT_EQ(parse_error("random_bits %s stream=-1 : u32[4]"),
            "t:2:23: error: stream -1 is negative");
  EXPECT_EQ(parse_error("random_bits %s stream=1.5 : u32[4]"),
            "t:2:23: error: stream is an integer");
  EXPECT_EQ(parse_error("random_bits %s"),
            "t:2:8: error: random_bits needs a type after its operands: ': f32[4, 8]'");
  EXPECT_EQ(parse_error("random_bits %i stream=3 : u32[4]"),
            "t:2:8: error: random_bits: the seed is i64[], not a u64 scalar");
  EXPECT_EQ(parse_error("random_bits 1.5 stream=3 : u32[4]"),
            "t:2:20: error: 1.5 is no value of u64");
  EXPECT_EQ(parse_error("dropout %x, 2.0, %s"), "t:2:8: error: dropout: p is 2, not in [0, 1]");
  EXPECT_EQ(parse_error("uniform %s strem=1 : f32[4]"),
            "t:2:19: error: uniform takes no strem; did you mean stream?");
}

// --- Values --------------------------------------------------------------------------------------

constexpr std::int64_t kMany = 1 << 18;

TEST(Uniform, IsUniform) {
  std::vector<double> u =
      numbers(kMany, [](Value s, const Shape &shape) { return uniform(s, f32, shape, 3); });
  double n = static_cast<double>(kMany);
  EXPECT_NEAR(moment(u, 1), 0.5, 4 / std::sqrt(12 * n));
  EXPECT_NEAR(moment(u, 2, 0.5), 1.0 / 12, 4 * std::sqrt(1.0 / 180 / n));
  EXPECT_NEAR(moment(u, 4, 0.5), 1.0 / 80, 4e-5);
  for (std::size_t distance : {1, 2, 3, 4, 5, 64})
    EXPECT_NEAR(correlation(u, distance, 0.5, 1.0 / 12), 0, 4) << distance;
  std::array<int, 16> bins{};
  for (double v : u) ++bins[static_cast<std::size_t>(v * 16)];
  double chi = 0;
  for (int count : bins) chi += std::pow(count - n / 16, 2) / (n / 16);
  EXPECT_LT(chi, 37.7);  // of 15 degrees of freedom, once in a thousand
}

TEST(Uniform, IsExactAndStaysBelow1) {
  struct Case {
    DType type;
    int bits;
  };
  for (Case c : {Case{f16, 11}, Case{bf16, 8}, Case{f32, 24}, Case{f64, 32}}) {
    std::vector<double> u =
        numbers(4096, [&](Value s, const Shape &shape) { return uniform(s, c.type, shape, 0); });
    for (std::size_t i = 0; i < u.size(); ++i) {
      std::uint32_t word = random_word(12345, 0, i);
      ASSERT_EQ(u[i], std::ldexp(word >> (32 - c.bits), -c.bits)) << to_string(c.type);
      ASSERT_LT(u[i], 1);
    }
  }
}

TEST(Normal, IsNormal) {
  for (DType type : {f32, f64}) {
    std::vector<double> z =
        numbers(kMany, [&](Value s, const Shape &shape) { return normal(s, type, shape, 1); });
    double n = static_cast<double>(kMany);
    EXPECT_NEAR(moment(z, 1), 0, 4 / std::sqrt(n));
    EXPECT_NEAR(moment(z, 2), 1, 4 * std::sqrt(2 / n));
    EXPECT_NEAR(moment(z, 3), 0, 4 * std::sqrt(15 / n));
    EXPECT_NEAR(moment(z, 4), 3, 4 * std::sqrt(96 / n));
    for (std::size_t distance : {1, 2, 3, 4, 64})
      EXPECT_NEAR(correlation(z, distance, 0, 1), 0, 4) << distance;
    for (double limit : {1.0, 2.0, 3.0}) {
      double beyond = 0, p = std::erfc(limit / std::sqrt(2));
      for (double v : z) beyond += std::fabs(v) > limit;
      EXPECT_NEAR(beyond / n, p, 4 * std::sqrt(p / n)) << limit;
    }
  }
}

/// normal of one chosen word: its construction with the word in the place of random bits.
double normal_of(DType type, std::uint32_t word) {
  Graph g;
  Value seed = g.scalar("seed", u64);
  g.output("z", normal(seed, type, {1}, 0));
  std::string text = to_string(g);
  std::string from = "random_bits %seed stream=0 : u32[1]";
  text.replace(text.find(from), from.size(), "const " + std::to_string(word) + " : u32[1]");
  const std::vector<Tensor> inputs = {seed_tensor(0)};
  Graph chosen = parse(text);
  return as_double(rounded(evaluate(chosen.data(), inputs).outputs[0]).literal(0));
}

TEST(Normal, HasFiniteSymmetricTailsAndNoZero) {
  EXPECT_NEAR(normal_of(f32, 0x7fffffff), 5.41998, 1e-5);
  EXPECT_NEAR(normal_of(f64, 0x7fffffff), 6.3379, 1e-3);
  for (DType type : {f16, bf16, f32, f64}) {
    for (std::uint32_t word : {0u, 1u, 0x1234567u, 0x7fffffffu}) {
      double z = normal_of(type, word);
      EXPECT_TRUE(std::isfinite(z) && z > 0) << to_string(type) << " " << word;
      EXPECT_EQ(normal_of(type, ~word), -z) << to_string(type) << " " << word;
    }
  }
}

// --- Dropout -------------------------------------------------------------------------------------

std::vector<double> dropped(DType type, double x, Operand p, std::int64_t count) {
  Graph g;
  Value seed = g.scalar("seed", u64);
  g.output("y", dropout(g.constant(x, type, {count}), p, seed, 2));
  const std::vector<Tensor> inputs = {seed_tensor(12345)};
  Tensor y = rounded(evaluate(g.data(), inputs).outputs[0]);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(as_double(y.literal(i)));
  return values;
}

TEST(Dropout, KeepsAndScales) {
  for (DType type : {f16, bf16, f32, f64, f8e5m2}) {
    std::vector<double> y = dropped(type, 2, 0.25, kMany);
    double kept = 0, scaled = type == f8e5m2 ? 2.5 : 2 / 0.75;
    for (std::size_t i = 0; i < y.size(); ++i) {
      bool is_kept = random_word(12345, 2, i) >= 0x40000000;
      ASSERT_NEAR(y[i], is_kept ? scaled : 0, 0.01) << i;
      kept += is_kept;
    }
    EXPECT_NEAR(kept / kMany, 0.75, 4 * std::sqrt(0.75 * 0.25 / kMany));
  }
}

TEST(Dropout, OfAllAndOfNothing) {
  EXPECT_THAT(dropped(f32, 3, 0.0, 100), testing::Each(3));
  EXPECT_THAT(dropped(f32, 3, 1.0, 100), testing::Each(0));
  EXPECT_THAT(dropped(bf16, 3, 1, 100), testing::Each(0));
  EXPECT_THAT(dropped(f32, NAN, 1.0, 100), testing::Each(0));
}

/// p as an argument; out of range it counts as the nearer end.
TEST(Dropout, TakesAProbabilityThatChanges) {
  for (DType type : {f32, f64, bf16}) {
    Graph g;
    Value seed = g.scalar("seed", u64), p = g.scalar("p", type), x = g.input("x", f32, {1000});
    g.output("y", dropout(x, p, seed, 2));
    g.output("b", bernoulli(seed, p, {1000}, 2));
    for (double value : {-1.0, 0.0, 0.25, 1.0, 7.0}) {
      const std::vector<Tensor> inputs = {seed_tensor(5),
                                          Tensor(type, {}, std::vector<double>{value}),
                                          Tensor(f32, {1000}, std::vector<double>(1000, 3))};
      auto outputs = evaluate(g.data(), inputs).outputs;
      Tensor y = rounded(outputs[0]);
      for (std::int64_t i = 0; i < 1000; ++i) {
        bool is_below = random_word(5, 2, static_cast<std::uint64_t>(i)) < value * 0x1p32;
        EXPECT_EQ(outputs[1].bits[static_cast<std::size_t>(i)], is_below) << value << " at " << i;
        double expected = is_below ? 0 : 3 / (1 - value);
        EXPECT_FLOAT_EQ(static_cast<float>(as_double(y.literal(i))), static_cast<float>(expected));
      }
    }
  }
}

TEST(Bernoulli, IsTrueWithItsProbability) {
  for (double p : {0.0, 0.125, 0.9, 1.0}) {
    std::vector<double> b =
        numbers(kMany, [&](Value s, const Shape &shape) { return bernoulli(s, p, shape, 4); });
    EXPECT_NEAR(moment(b, 1), p, 4 * std::sqrt(p * (1 - p) / kMany)) << p;
  }
}

TEST(Random, StreamsAndSeedsAreIndependent) {
  auto with = [](std::int64_t stream, std::uint64_t seed) {
    return numbers(
        kMany, [&](Value s, const Shape &shape) { return uniform(s, f32, shape, stream); }, seed);
  };
  std::vector<double> a = with(0, 0);
  for (const std::vector<double> &b : {with(1, 0), with(0, 1), with(INT64_C(1) << 32, 0)}) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - 0.5) * (b[i] - 0.5) * 12;
    EXPECT_NEAR(sum / std::sqrt(double(kMany)), 0, 4);
  }
}

}  // namespace
