// Reductions: what lies outside a tile, long sums, half-precision norms, identities,
// arg-reductions.
#include "cases/case_run.h"

#include <cmath>

namespace fuse::cases {

namespace {

std::string with_type(std::string text, DType type) {
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;)
    text.replace(at, 4, to_string(type));
  return text;
}

/// Sizes around one, two and three stages.
constexpr std::int64_t kSizes[] = {1, 31, 8191, 8192, 8193, 16385, 454001};

}  // namespace

// pytorch 195845
TEST(ReductionCases, RowsOutsideTheTileStayOutOfAColumnSum) {
  std::vector<Sample> samples;
  for (std::int64_t rows : {1, 1023, 1025, 4099}) {
    Sample s{{Tensor(bf16, {rows, 129})}, {}, {{"R", rows}}};
    s.wanted = {exact(bf16, {rows}, {0.25}), exact(f32, {129}, {0.25 * double(rows)}),
                exact(f32, {129}, {double(rows)})};
    samples.push_back(std::move(s));
  }
  run_samples(parse(R"(graph @leak(%x: bf16[R, 129]) {
      %d = mul %x, 2.0
      %y = add %d, 0.25
      %m = max %y axes=[1]
      %w = cast %y : f32[R, 129]
      %s = sum %w axes=[0]
      %f = cast %x : f32[R, 129]
      %e = exp %f
      %t = sum %e axes=[0]
      return %m, %s, %t })"),
              samples);
}

// A sum may rise with its maximum in one pass, unless its weight waits for another reduction; of a
// row of -inf alone it is NaN, one operation at a time too.
TEST(ReductionCases, SumsThatRiseWithTheirMaximum) {
  auto value = [](std::int64_t j) { return double(j % 7) * 0.5 + double(j == 11) * 4; };
  std::vector<Sample> samples;
  for (std::int64_t columns : {40, 5000, 70000}) {
    Tensor x = generate(f32, {3, columns}, [&](std::int64_t i) {
      return i / columns == 2 ? -kInf : value(i % columns);
    });
    double sum = 0, weighted = 0, total = 0;
    for (std::int64_t j = 0; j < columns; ++j) total += value(j);
    for (std::int64_t j = 0; j < columns; ++j) {
      double e = std::exp(value(j) - value(11));
      sum += e, weighted += value(j) / total * e;
    }
    Sample s{{x}, {}, {{"C", columns}}};
    s.wanted = {within(f32, {3}, {sum, sum, kNaN}, {0, 1e-5, 0}),
                within(f32, {3}, {weighted, weighted, kNaN}, {0, 1e-4, 0})};
    samples.push_back(std::move(s));
  }
  run_samples(parse(R"(graph @online(%x: f32[3, C]) {
      %m = max %x axes=[1] keep
      %d = sub %x, %m
      %e = exp %d
      %s = sum %e axes=[1]
      %t = sum %x axes=[1] keep
      %w = div %x, %t
      %p = mul %w, %e
      %q = sum %p axes=[1]
      return %s, %q })"),
              samples);
}

// pytorch 154703
TEST(ReductionCases, OneLongSumDoesNotStall) {
  constexpr std::int64_t kCount = (std::int64_t{1} << 24) + 4;
  RunOptions options;
  options.op_by_op = options.evaluator = false;
  auto run = [&](double value, const Expected &sum, const Expected &average) {
    Tensor x = floats(f32, {kCount}, {value});
    run_case(R"(graph @long(%x: f32[16777220]) {
        %s = sum %x axes=[0]
        %m = mean %x axes=[0]
        return %s, %m })",
             {x}, {sum, average}, options);
    x.shape = {4, kCount / 4};
    run_case(R"(graph @both(%x: f32[4, 4194305]) {
        %s = sum %x axes=[0, 1]
        %m = mean %x axes=[0, 1]
        return %s, %m })",
             {x}, {sum, average}, options);
    x.shape = {kCount, 1};
    run_case(R"(graph @column(%x: f32[16777220, 1]) {
        %s = sum %x axes=[0, 1]
        %m = mean %x axes=[0, 1]
        return %s, %m })",
             {x}, {sum, average}, options);
  };
  run(1, exact(f32, {}, {double(kCount)}), exact(f32, {}, {1}));
  double tenth = double(0.1f);
  run(0.1, within(f32, {}, {tenth * double(kCount)}, {0, 1e-6, 0}),
      within(f32, {}, {tenth}, {0, 1e-6, 0}));
}

// onnxruntime 29034, 28442; torch-xpu-ops 1374; pytorch 173885
TEST(ReductionCases, HalfPrecisionNormsOfLargeValues) {
  Tensor x = generate(f16, {3, 2048}, [](std::int64_t i) { return i % 2 ? -300 : 300; });
  Expected signs = within(f16, {3, 2048}, {1, -1}, {1, 0, 0});
  run_case(R"(graph @norms(%x: f16[3, 2048]) {
      %r = rms_norm %x axes=[1] eps=1e-5
      %l = layer_norm %x axes=[1] eps=1e-5
      return %r, %l })",
           {x}, {signs, signs});
}

TEST(ReductionCases, HalfPrecisionMeanOfManyValues) {
  run_case(R"(graph @mean(%x: f16[1, 65536]) {
      %m = mean %x axes=[1]
      return %m })",
           {floats(f16, {1, 65536}, {16})}, {exact(f16, {1}, {16})});
}

TEST(ReductionCases, NormOfAConstantHugeRow) {
  run_case(R"(graph @norm(%x: f32[1, 8], %y: f32[1, 5]) {
      %a = layer_norm %x axes=[1] eps=1e-5
      %b = layer_norm %y axes=[1] eps=1e-5
      return %a, %b })",
           {floats(f32, {1, 8}, {1e15}), floats(f32, {1, 5}, {1e15})},
           {exact(f32, {1, 8}, {0}), exact(f32, {1, 5}, {0})});
}

TEST(ReductionCases, AnInfinityStaysInItsRow) {
  Tensor x = generate(f16, {4, 2048}, [](std::int64_t i) {
    return i == 2 * 2048 + 77 ? kInf : i % 2 ? -1.0 : 1.0;
  });
  std::vector<double> y(4 * 2048);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i / 2048 == 2 ? kNaN : i % 2 ? -1 : 1;
  run_case(R"(graph @norm(%x: f16[4, 2048]) {
      %l = layer_norm %x axes=[1] eps=1e-5
      return %l })",
           {x}, {within(f16, {4, 2048}, y, {1, 0, 0})});
}

// jax 17531
TEST(ReductionCases, StagesOfAMaximumGiveNoIdentity) {
  for (DType type : {f32, bf16, i8, i16, i32, i64}) {
    std::vector<Sample> samples;
    for (std::int64_t n : kSizes) {
      auto element = [&](std::int64_t i) { return i == n - 1 ? -1.0 : -3 - double(i % 7); };
      Tensor x = generate(type, {n}, element);
      Tensor y = generate(type, {n}, [&](std::int64_t i) { return -element(i); });
      samples.push_back({{x, y}, {exact(type, {}, {-1}), exact(type, {}, {1})}, {{"N", n}}});
    }
    RunOptions options;
    options.op_by_op = false;  // there is nothing between
    run_samples(parse(with_type(R"(graph @stages(%x: TYPE[N], %y: TYPE[N]) {
        %max = max %x axes=[0]
        %min = min %y axes=[0]
        return %max, %min })",
                                type)),
                samples, options);
  }
}

TEST(ReductionCases, StagesOfAMaximumOfUnsignedValues) {
  for (DType type : {u8, u16, u32, u64}) {
    std::vector<Sample> samples;
    for (std::int64_t n : kSizes) {
      Tensor x = generate(type, {n}, [&](std::int64_t i) { return i == n - 1 ? 9 : i % 7; });
      Tensor y = generate(type, {n}, [&](std::int64_t i) { return i == n - 1 ? 1 : 2 + i % 7; });
      samples.push_back({{x, y}, {exact(type, {}, {9}), exact(type, {}, {1})}, {{"N", n}}});
    }
    RunOptions options;
    options.op_by_op = false;
    run_samples(parse(with_type(R"(graph @stages(%x: TYPE[N], %y: TYPE[N]) {
        %max = max %x axes=[0]
        %min = min %y axes=[0]
        return %max, %min })",
                                type)),
                samples, options);
  }
}

TEST(ReductionCases, StagesOfAProductOfSigns) {
  for (DType type : {f32, i32}) {
    std::vector<Sample> samples;
    for (std::int64_t n : kSizes) {
      Tensor x = generate(type, {n}, [](std::int64_t i) { return i % 3 ? 1 : -1; });
      double product = (n + 2) / 3 % 2 ? -1 : 1;
      samples.push_back({{x}, {exact(type, {}, {product})}, {{"N", n}}});
    }
    RunOptions options;
    options.op_by_op = false;
    run_samples(parse(with_type(R"(graph @signs(%x: TYPE[N]) {
        %p = prod %x axes=[0]
        return %p })",
                                type)),
                samples, options);
  }
}

// pytorch 93630, 99879; mlx 4274; triton 1813
TEST(ReductionCases, ArgMaxOfTiesNanAndInfinities) {
  auto pad = [](std::vector<double> row, double with) {
    row.resize(4, with);
    return row;
  };
  std::vector<double> x;
  for (const auto &row :
       {pad({7, 7, 7}, 7), pad({4, kNaN, 2, 9}, 0), pad({kNaN, 1, kNaN}, 1), pad({1, 2, kNaN}, 2),
        pad({kInf, kNaN, -kInf}, 0), pad({-kInf, -kInf}, -kInf), pad({kNaN, kNaN}, kNaN)})
    x.insert(x.end(), row.begin(), row.end());
  for (DType type : {f32, f64, f16, bf16})
    run_case(with_type(R"(graph @arg(%x: TYPE[7, 4]) {
        %max = argmax %x axis=1
        %min = argmin %x axis=1
        %m = max %x axes=[1]
        return %max, %min, %m })",
                       type),
             {floats(type, {7, 4}, x)},
             {exact(i64, {7}, {0, 1, 0, 2, 1, 0, 0}), exact(i64, {7}, {0, 1, 0, 2, 1, 0, 0}),
              exact(type, {7}, {7, kNaN, kNaN, kNaN, kNaN, -kInf, kNaN})});
}

// Arg-reductions compare zeros as equal, max does not.
TEST(ReductionCases, ArgMaxOfSignedZeros) {
  run_case(R"(graph @arg(%x: f32[2, 2]) {
      %i = argmax %x axis=1
      %m = max %x axes=[1]
      return %i, %m })",
           {floats(f32, {2, 2}, {-0.0, 0.0, 0.0, -0.0})},
           {exact(i64, {2}, {0, 0}), exact(f32, {2}, {0, 0})});
}

TEST(ReductionCases, ArgMaxOverStagesGivesTheFirst) {
  Tensor z(f32, {100003});
  for (std::int64_t i : {40000, 90000}) z.set_bits(i, floats(f32, {}, {5}).bits(0));
  run_case(R"(graph @arg(%z: f32[100003]) {
      %i = argmax %z axis=0
      %m = max %z axes=[0]
      return %i, %m })",
           {z}, {exact(i64, {}, {40000}), exact(f32, {}, {5})});
}

}  // namespace fuse::cases
