// Views: chains through a pad, vector widths after a transposition, broadcasts of lower rank,
// gathers with small indices.
#include "cases/case_run.h"

#include <cmath>
#include <random>

namespace fuse::cases {

namespace {

/// One view, chosen at random, of a value of rank 3.
Value random_view(Value x, std::mt19937 &random) {
  int axis = static_cast<int>(random() % 3);
  const Shape &shape = x.shape();
  std::int64_t extent = shape[static_cast<std::size_t>(axis)].value();
  std::vector<std::int64_t> lo(3, 0), hi(3, 0);
  switch (random() % 5) {
    case 0: return transpose(x, {axis, (axis + 1) % 3, (axis + 2) % 3});
    case 1:
      lo[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(random() % 3);
      hi[static_cast<std::size_t>((axis + 1) % 3)] = static_cast<std::int64_t>(random() % 2);
      return pad(x, lo, hi, 0.5);
    case 2: return reshape(x, {shape[1], shape[2], shape[0]});
    case 3: return extent < 3 ? flip(x, {0, 2}) : slice(x, axis, 1, extent, 2);
    default: return flip(x, {axis});
  }
}

}  // namespace

// tinygrad 2844
TEST(ViewCases, ReshapeThroughAPad) {
  Tensor x = generate(f32, {2, 5, 5}, [](std::int64_t i) { return i + 1; });
  Tensor y = generate(f32, {4, 5, 5}, [](std::int64_t i) { return i < 50 ? 1 : i - 50 + 2; });
  run_case(R"(graph @pad(%x: f32[2, 5, 5]) {
      %p = pad %x, 0.0 lo=[2, 0, 0] hi=[0, 0, 0]
      %a = reshape %p : f32[2, 2, 5, 5]
      %b = reshape %a : f32[4, 5, 5]
      %y = add %b, 1.0
      %s = sum %y axes=[0, 1, 2]
      return %y, %s })",
           {x}, {exactly(y), exact(f32, {}, {1375})});
}

TEST(ViewCases, RandomChainsOfViews) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    Graph graph("chain");
    Value v = graph.input("x", f32, {4, 5, 6});
    for (int i = 0; i < 6; ++i) v = random_view(v, random);
    graph.output("y", v + 1);
    graph.output("s", sum(v, {0, 2}));
    Tensor x = generate(f32, {4, 5, 6}, [](std::int64_t i) { return i + 1; });
    const std::vector<Tensor> inputs = {x};
    run_case(graph, inputs, evaluate(graph.data(), inputs).outputs);
  }
}

// Fuser 413
TEST(ViewCases, VectorsAfterBroadcastReshapeAndTranspose) {
  Tensor t = generate(f32, {10240, 2}, [](std::int64_t i) { return i; });
  Tensor y = generate(f32, {20480, 3}, [](std::int64_t i) {
    std::int64_t row = i / 3, k = row % 10240, odd = row / 10240;
    return 2 * k + (i % 3 + odd) % 2;
  });
  run_case(R"(graph @widths(%t: f32[10240, 2]) {
      %u = unsqueeze %t axis=1
      %e = broadcast %u : f32[10240, 3, 2]
      %r = reshape %e : f32[10240, 2, 3]
      %p = transpose %r perm=[1, 0, 2]
      %y = reshape %p : f32[20480, 3]
      return %y })",
           {t}, {exactly(y)});
}

// onnxruntime 28971
TEST(ViewCases, ScaleOfLowerRankInANorm) {
  Tensor x = generate(f32, {5, 8, 960},
                      [](std::int64_t i) { return double(i * 2654435761 % 4096) / 1024 - 2; });
  Expected numbers = exactly(x);
  std::vector<double> plain, scaled;
  for (std::size_t row = 0; row < 40; ++row) {
    const double *at = &numbers.value[row * 960];
    double mean = 0, var = 0;
    for (int i = 0; i < 960; ++i) mean += at[i] / 960;
    for (int i = 0; i < 960; ++i) var += (at[i] - mean) * (at[i] - mean) / 960;
    for (int i = 0; i < 960; ++i) plain.push_back((at[i] - mean) / std::sqrt(var + 1e-5));
    for (int i = 0; i < 960; ++i)
      scaled.push_back(plain[row * 960 + std::size_t(i)] * double(row % 8 + 1));
  }
  auto run = [&](std::vector<std::int64_t> shape, bool by_row) {
    std::string type = "f32[";
    for (std::size_t i = 0; i < shape.size(); ++i)
      type += (i ? ", " : "") + std::to_string(shape[i]);
    std::string text = "graph @norm(%x: f32[5, 8, 960], %g: " + type + "]) {\n" +
                       "%n = layer_norm %x axes=[2]\n%y = mul %n, %g\nreturn %y }";
    std::int64_t width = shape.empty() ? 1 : shape.back();
    Tensor g = generate(f32, shape, [&](std::int64_t i) { return by_row ? i / width + 1 : 1; });
    Within tolerance{0, 1e-5, 1e-5};
    run_case(text, {x, g}, {within(f32, {5, 8, 960}, by_row ? scaled : plain, tolerance)});
  };
  run({8, 960}, true);
  run({1, 8, 1}, true);
  run({5, 1, 960}, false);
  run({960}, false);
  run({}, false);
}

// jax 16836, 6122
TEST(ViewCases, GatherWithSmallIndexTypes) {
  Tensor x = generate(i32, {200}, [](std::int64_t i) { return i; });
  run_case(R"(graph @gather(%x: i32[200], %a: u8[4], %b: i8[3], %c: u16[3], %d: i64[5]) {
      %ya = gather %x, %a axis=0
      %yb = gather %x, %b axis=0
      %yc = gather %x, %c axis=0
      %yd = gather %x, %d axis=0
      return %ya, %yb, %yc, %yd })",
           {x, ints(u8, {4}, {0, 127, 128, 199}), ints(i8, {3}, {0, 127, -1}),
            ints(u16, {3}, {199, 200, 65535}),
            ints(i64, {5}, {-1, 200, 199, INT64_MIN, std::int64_t{1} << 32})},
           {exactly(ints(i32, {4}, {0, 127, 128, 199})), exactly(ints(i32, {3}, {0, 127, 0})),
            exactly(ints(i32, {3}, {199, 0, 0})), exactly(ints(i32, {5}, {0, 0, 199, 0, 0}))});
}

TEST(ViewCases, GatherBeyond32BitsOfAVirtualAxis) {
  RunOptions options;
  options.op_by_op = false;  // the broadcast would take 20 GB
  options.evaluator = false;
  run_case(
      R"(graph @gather(%x: i32[1], %i: i64[4]) {
      %b = broadcast %x : i32[5000000000]
      %y = gather %b, %i axis=0
      return %y })",
      {ints(i32, {1}, {7}), ints(i64, {4}, {0, 4999999999, 5000000000, std::int64_t{1} << 31})},
      {exactly(ints(i32, {4}, {7, 7, 0, 7}))}, options);
}

}  // namespace fuse::cases
