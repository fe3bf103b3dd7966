// Random numbers: one mask on every layout, in every kernel and for every seed argument.
#include "cases/case_run.h"

#include "ir/float_bits.h"
#include "ir/philox.h"

#include <cmath>
#include <cstring>

namespace fuse::cases {

namespace {

constexpr std::uint64_t kSeed = 0xdeadbeef12345678;

Tensor seed_tensor(std::uint64_t seed = kSeed) {
  Tensor tensor(u64, {});
  tensor.set_bits(0, seed);
  return tensor;
}

std::vector<std::int64_t> words(std::int64_t count, std::uint64_t stream) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(random_word(kSeed, stream, static_cast<std::uint64_t>(i)));
  return result;
}

std::vector<Tensor> run_on(Executor executor, const Graph &graph, std::vector<Tensor> inputs,
                           const Bindings &symbols = {}) {
  CompileOptions options;
  options.executor = executor;
  return execute(compile(graph, options), {std::move(inputs), {}, symbols});
}

constexpr std::int64_t kB = 8, kT = 4096, kC = 64;

/// Position in [B, C, T] of an element of [B, T, C].
std::int64_t turned(std::int64_t i) { return i / (kT * kC) * kT * kC + i % kC * kT + i / kC % kT; }

/// Of neighbours along C that are kept or dropped alike.
double agreement_of_channels(const Tensor &y) {
  double alike = 0, pairs = 0;
  for (std::int64_t i = 0; i + 1 < y.size(); ++i) {
    if (i % kC == kC - 1) continue;
    alike += (as_double(y.literal(i)) != 0) == (as_double(y.literal(i + 1)) != 0);
    ++pairs;
  }
  return alike / pairs;
}

}  // namespace

// pytorch 198333: a transposition in the forward kernel, the mask again in the backward pass
TEST(RandomCases, OneMaskOnEveryLayout) {
  Graph turned_graph =
      parse(R"(graph @forward(%x: f32[8, 4096, 64], %g: f32[8, 4096, 64], %s: u64 scalar) {
      %y = dropout %x, 0.25, %s stream=5
      %t = transpose %y perm=[0, 2, 1]
      %z = add %t, 0.0
      %d = dropout %g, 0.25, %s stream=5
      %r = sum %d axes=[1]
      return %z, %r, %d })");
  Graph flat_graph = parse(R"(graph @flat(%x: f32[8, 4096, 64], %s: u64 scalar) {
      %y = dropout %x, 0.25, %s stream=5
      return %y })");
  Tensor ones(f32, {kB, kT, kC}, std::vector<double>(kB * kT * kC, 1));
  for (Executor executor : executors()) {
    std::vector<Tensor> forward = run_on(executor, turned_graph, {ones, ones, seed_tensor()});
    Tensor flat = run_on(executor, flat_graph, {ones, seed_tensor()})[0];
    std::int64_t other_forward = 0, other_backward = 0, kept = 0, wrong = 0;
    for (std::int64_t i = 0; i < flat.size(); ++i) {
      bool keeps = random_word(kSeed, 5, static_cast<std::uint64_t>(i)) >= 0x40000000;
      wrong += (as_double(flat.literal(i)) != 0) != keeps;
      other_forward += forward[0].bits(turned(i)) != flat.bits(i);
      other_backward += forward[2].bits(i) != flat.bits(i);
      kept += keeps;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(other_forward, 0);
    EXPECT_EQ(other_backward, 0);
    EXPECT_NEAR(double(kept) / double(flat.size()), 0.75, 0.002);
    EXPECT_NEAR(agreement_of_channels(flat), 0.625, 0.002);
  }
}

// pytorch 198333
TEST(RandomCases, UniformStaysBelow1) {
  for (const char *type : {"f32", "bf16", "f16", "f64"}) {
    Graph graph =
        parse("graph @u(%s: u64 scalar) {\n  %u = uniform %s stream=1 : " + std::string(type) +
              "[4, 70001]\n  return %u }");
    for (Executor executor : executors()) {
      Tensor u = run_on(executor, graph, {seed_tensor()})[0];
      double least = 1, largest = 0;
      for (std::int64_t i = 0; i < u.size(); ++i) {
        least = std::min(least, as_double(u.literal(i)));
        largest = std::max(largest, as_double(u.literal(i)));
      }
      EXPECT_GE(least, 0) << type;
      EXPECT_LT(largest, 1) << type;
      EXPECT_GT(largest, 0.99) << type;
    }
  }
}

// A view moves numbers, it makes no others.
TEST(RandomCases, WordsThroughEveryView) {
  std::vector<std::int64_t> w = words(6 * 10, 2), turned, sliced, backwards, picked;
  for (std::int64_t j = 0; j < 10; ++j)
    for (std::int64_t i = 0; i < 6; ++i) turned.push_back(w[std::size_t(i * 10 + j)]);
  for (std::int64_t i = 1; i < 6; i += 2)
    for (std::int64_t j = 3; j < 9; ++j) sliced.push_back(w[std::size_t(i * 10 + j)]);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 10; j-- > 0;) backwards.push_back(w[std::size_t(i * 10 + j)]);
  std::vector<std::int64_t> padded(8 * 10, 7);
  std::copy(w.begin(), w.end(), padded.begin() + 10);
  for (std::int64_t i : {4, 0, 9})
    for (std::int64_t j = 0; j < 10; ++j) picked.push_back(i < 6 ? w[std::size_t(i * 10 + j)] : 0);
  run_case(R"(graph @views(%s: u64 scalar, %i: i32[3]) {
      %w = random_bits %s stream=2 : u32[6, 10]
      %t = transpose %w perm=[1, 0]
      %c = slice %w [1:6:2, 3:9]
      %f = flip %w axes=[1]
      %p = pad %w, 7 lo=[1, 0] hi=[1, 0]
      %g = gather %w, %i axis=0
      %r = reshape %w : u32[4, 15]
      %a = concat %c, %c axis=0
      %m = max %w axes=[1]
      return %w, %t, %c, %f, %p, %g, %r, %m })",
           {seed_tensor(), ints(i32, {3}, {4, 0, 9})},
           {exactly(ints(u32, {6, 10}, w)), exactly(ints(u32, {10, 6}, turned)),
            exactly(ints(u32, {3, 6}, sliced)), exactly(ints(u32, {6, 10}, backwards)),
            exactly(ints(u32, {8, 10}, padded)), exactly(ints(u32, {3, 10}, picked)),
            exactly(ints(u32, {4, 15}, w)), [&] {
              std::vector<std::int64_t> largest;
              for (std::int64_t i = 0; i < 6; ++i)
                largest.push_back(*std::max_element(w.begin() + i * 10, w.begin() + (i + 1) * 10));
              return exactly(ints(u32, {6}, largest));
            }()});
}

// Vectors, tails and addresses that no vector begins at.
TEST(RandomCases, SameWordsAtEverySizeAndAddress) {
  Graph graph = parse(R"(graph @sizes(%x: f32[R, C], %s: u64 scalar) {
      symbol R min=0
      symbol C min=0
      %w = random_bits %s stream=9 : u32[R, C]
      %k = lt %w, 2147483648
      %y = select %k, %x, 0.0
      return %w, %y })");
  std::vector<Sample> samples;
  for (auto [rows, columns] : {std::pair<std::int64_t, std::int64_t>{3, 4096},
                               {5, 131},
                               {1, 1},
                               {7, 1022},
                               {64, 3},
                               {2, 2048}}) {
    std::vector<std::int64_t> w = words(rows * columns, 9);
    Tensor x = generate(f32, {rows, columns}, [](std::int64_t i) { return i + 1; });
    std::vector<double> y;
    for (std::size_t i = 0; i < w.size(); ++i)
      y.push_back(w[i] < INT64_C(2147483648) ? double(i + 1) : 0);
    samples.push_back({{x, seed_tensor()},
                       {exactly(ints(u32, {rows, columns}, w)), exact(f32, {rows, columns}, y)},
                       {{"R", rows}, {"C", columns}}});
  }
  for (int offset : {0, 1, 2}) {
    RunOptions options;
    options.offset = offset;
    run_samples(graph, samples, options);
  }
}

// By value, by device pointer, as a literal and computed: a step that is added to a base.
TEST(RandomCases, SeedsOfEveryKind) {
  std::vector<std::int64_t> w = words(1000, 4);
  Expected wanted = exactly(ints(u32, {1000}, w));
  run_case(
      "graph @value(%s: u64 scalar) {\n  %w = random_bits %s stream=4 : u32[1000]\n"
      "  return %w }",
      {seed_tensor()}, {wanted});
  run_case(
      "graph @pointer(%s: u64) {\n  %w = random_bits %s stream=4 : u32[1000]\n"
      "  return %w }",
      {seed_tensor()}, {wanted});
  run_case(
      "graph @literal(%x: u32[1000]) {\n  %w = random_bits 16045690981402826360 stream=4 : "
      "u32[1000]\n  %y = add %w, %x\n  return %y }",
      {ints(u32, {1000}, {0})}, {wanted});
  Tensor seeds(u64, {3});
  seeds.set_bits(1, kSeed - 5);
  run_case(
      "graph @computed(%s: u64[3], %step: u64) {\n  %a = slice %s [1:2]\n"
      "  %b = reshape %a : u64[]\n  %c = add %b, %step\n"
      "  %w = random_bits %c stream=4 : u32[1000]\n  return %w }",
      {seeds, seed_tensor(5)}, {wanted});
}

// Every dtype is a function of the same words.
TEST(RandomCases, NumbersOfEveryType) {
  Graph graph = parse(R"(graph @all(%s: u64, %p: f32 scalar, %x: bf16[37, 29]) {
      %a = uniform %s stream=1 : f32[37, 29]
      %b = uniform %s stream=1 : bf16[37, 29]
      %c = uniform %s stream=1 : f64[37, 29]
      %d = normal %s stream=2 : f32[37, 29]
      %e = normal %s stream=2 : f16[37, 29]
      %f = normal %s stream=2 : f64[37, 29]
      %g = bernoulli %s, %p stream=3 : bool[37, 29]
      %h = bernoulli %s, 0.3 stream=3 : bool[37, 29]
      %i = dropout %x, %p, %s stream=3
      %j = dropout %x, 0.3, %s stream=3
      return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j })");
  const std::vector<Tensor> inputs = {
      seed_tensor(), floats(f32, {}, {0.25}),
      generate(bf16, {37, 29}, [](std::int64_t i) { return i - 500; })};
  run_case(graph, inputs, evaluate(graph.data(), inputs).outputs);
}

// Two kernels, and between them something that neither can look through.
TEST(RandomCases, TwoKernelsMakeOneMask) {
  Graph graph = parse(R"(graph @two(%x: f32[300, 77], %s: u64 scalar) {
      %a = dropout %x, 0.5, %s stream=6
      %b = extern "copy"(%a) : f32[300, 77]
      %c = dropout %b, 0.5, %s stream=6
      return %a, %c })");
  CompileOptions options;
  options.executor = Executor::Host;
  Executable executable = compile(graph, options);
  LaunchOptions launch;
  launch.run_extern = [](const ExternCall &call) {
    std::memcpy(const_cast<void *>(call.results[0].data), call.operands[0].data, 300 * 77 * 4);
  };
  std::vector<float> x(300 * 77, 1), a(x), c(x);
  executable.launch(nullptr,
                    {tensor(x.data(), {300, 77}), kSeed, tensor(a.data(), {300, 77}),
                     tensor(c.data(), {300, 77})},
                    launch);
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool is_kept = random_word(kSeed, 6, i) >= 0x80000000;
    ASSERT_EQ(a[i], is_kept ? 2.0f : 0.0f) << i;
    ASSERT_EQ(c[i], is_kept ? 4.0f : 0.0f) << i;
  }
}

}  // namespace fuse::cases
