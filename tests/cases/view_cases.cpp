// Views: chains through a pad, vector widths after a transposition, broadcasts of lower rank,
// gathers with small indices.
#include "cases/case_run.h"

#include <cmath>

namespace fuse::cases {

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
