// The kernels of this folder against plain loops in double, at sizes with full and ragged edges.
// FUSE_TEST_EXECUTOR=host or gpu judges what comes from there.
#include "ir/philox.h"
#include "kernels/kernel_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace fuse::test {
namespace {

constexpr double kBf16 = 1.0 / 128, kF32 = 1e-5;

/// |a - b| within a relative and a small absolute tolerance.
void expect_close(double actual, double expected, double tolerance, std::int64_t at) {
  ASSERT_LE(std::fabs(actual - expected), tolerance * std::fabs(expected) + 1e-5) << "at " << at;
}

TEST(Kernels, AllPrintAsTheyRead) {
  int count = 0;
  for (const auto &file : std::filesystem::directory_iterator(kernel_folder())) {
    if (file.path().extension() != ".kernel") continue;
    Kernel k = read_kernel(file.path().stem());
    EXPECT_NO_THROW(verify(k)) << file.path();
    EXPECT_EQ(to_string(parse_kernel(to_string(k))), to_string(k)) << file.path();
    ++count;
  }
  EXPECT_GE(count, 15);
}

TEST(Kernels, Gelu) {
  for (std::int64_t n : {4096, 4099, 5}) {
    KernelRun k("gelu", {{"N", n}});
    k.run();
    for (std::int64_t i = 0; i < n; ++i) {
      double x = k["x"][i], u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      expect_close(k["y"][i], x / (1 + std::exp(-2 * u)), kBf16, i);
    }
    EXPECT_EQ(k.stats("x").vector_accesses, n / 8);
    EXPECT_EQ(k.stats("x").element_accesses, n % 8);
    EXPECT_EQ(k.stats("x").sectors, k.stats("x").ideal_sectors);
  }
}

TEST(Kernels, Dropout) {
  for (std::int64_t n : {4096, 4099, 3}) {
    KernelRun k("dropout", {{"N", n}});
    k["seed"].set(0, 77);
    k.run();
    for (std::int64_t i = 0; i < n; ++i) {
      bool is_kept = random_word(77, 3, static_cast<std::uint64_t>(i)) >= 1073741824;
      expect_close(k["y"][i], is_kept ? k["x"][i] / 0.75 : 0, kBf16, i);
    }
  }
}

TEST(Kernels, RandomWords) {
  constexpr std::uint64_t kStream = UINT64_C(1) << 62;
  for (std::int64_t columns : {136, 4}) {
    KernelRun k("random_words", {{"R", 14}, {"C", columns}});
    k["seed"].set(0, -3);
    k.run();
    for (std::int64_t i = 0; i < 14 * columns; ++i) {
      double word = random_word(~UINT64_C(2), kStream, static_cast<std::uint64_t>(i));
      for (const char *name : {"a", "b", "c"}) ASSERT_EQ(k[name][i], word) << name << " at " << i;
      std::int64_t back = i / columns * columns + columns - 1 - i % columns;
      ASSERT_EQ(k["d"][back], word) << "d at " << back;
    }
  }
}

void check_softmax(KernelRun &k, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    double m = -INFINITY, s = 0;
    for (std::int64_t c = 0; c < columns; ++c) m = std::max(m, k["x"][r * columns + c]);
    for (std::int64_t c = 0; c < columns; ++c) s += std::exp(k["x"][r * columns + c] - m);
    for (std::int64_t c = 0; c < columns; ++c)
      expect_close(k["y"][r * columns + c], std::exp(k["x"][r * columns + c] - m) / s, kBf16,
                   r * columns + c);
  }
}

TEST(Kernels, Softmax) {
  KernelRun k("softmax", {{"B", 3}});
  k.run();
  check_softmax(k, 3, 4096);
  EXPECT_EQ(k.stats("y").vector_accesses, 3 * 512);
}

TEST(Kernels, SoftmaxOfOddRows) {
  KernelRun k("softmax_odd", {{"B", 3}});
  k.phases = {{"x", 3}, {"y", 3}};
  k.run();
  check_softmax(k, 3, 4097);
  // Whole vectors but for the two edges of a row.
  EXPECT_GE(k.stats("x").vector_accesses, 3 * 511);
  EXPECT_EQ(k.stats("x").vector_accesses * 8 + k.stats("x").element_accesses, 3 * 4097);
}

TEST(Kernels, OddRowsNeedCongruentOperands) {
  KernelRun k("softmax_odd", {{"B", 1}});
  k.phases = {{"x", 3}, {"y", 4}};
  EXPECT_THROW(k.run(), Error);
}

TEST(Kernels, SoftmaxOverACluster) {
  KernelRun k("softmax_cluster", {{"B", 2}});
  k.phases = {{"x", 5}, {"y", 5}};
  k.run();
  check_softmax(k, 2, 50257);
}

TEST(Kernels, SoftmaxOfLongRows) {
  KernelRun k("softmax_long", {{"B", 2}});
  k.phases = {{"x", 1}, {"y", 1}};
  k.run();
  check_softmax(k, 2, 50257);
}

TEST(Kernels, LayerNorm) {
  KernelRun k("layer_norm", {{"B", 2}});
  k["eps"].set(0, 1e-5);
  k.run();
  for (std::int64_t r = 0; r < 2; ++r) {
    double sum = 0, squares = 0;
    for (int c = 0; c < 4096; ++c) sum += k["x"][r * 4096 + c];
    for (int c = 0; c < 4096; ++c) squares += std::pow(k["x"][r * 4096 + c] - sum / 4096, 2);
    double rs = 1 / std::sqrt(squares / 4096 + 1e-5);
    expect_close(k["mean"][r], sum / 4096, kF32, r);
    expect_close(k["rstd"][r], rs, kF32, r);
    for (int c = 0; c < 4096; ++c) {
      double h = (k["x"][r * 4096 + c] - sum / 4096) * rs;
      double expected = h * k["w"][c] + k["b"][c];
      ASSERT_NEAR(k["y"][r * 4096 + c], expected, kBf16 * std::fabs(expected) + 1e-4);
    }
  }
}

TEST(Kernels, LayerNormBackward) {
  const std::int64_t rows = 7, grid = 3, columns = 4096;
  KernelRun k("layer_norm_backward", {{"B", rows}, {"G", grid}});
  for (std::int64_t r = 0; r < rows; ++r) k["rstd"].set(r, 0.5 + 0.25 * static_cast<double>(r));
  k.run();
  std::vector<double> pw(grid * columns), pb(grid * columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    double mu = k["mean"][r], rs = k["rstd"][r], c1 = 0, c2 = 0;
    auto h = [&](std::int64_t c) { return (k["x"][r * columns + c] - mu) * rs; };
    auto g = [&](std::int64_t c) { return k["dy"][r * columns + c]; };
    for (std::int64_t c = 0; c < columns; ++c) {
      c1 += g(c) * k["w"][c] / columns;
      c2 += g(c) * k["w"][c] * h(c) / columns;
      auto at = static_cast<std::size_t>(r % grid * columns + c);
      pw[at] += g(c) * h(c);
      pb[at] += g(c);
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      double expected = rs * (g(c) * k["w"][c] - c1 - h(c) * c2);
      ASSERT_NEAR(k["dx"][r * columns + c], expected, kBf16 * std::fabs(expected) + 1e-4);
    }
  }
  for (std::int64_t c = 0; c < grid * columns; ++c) {
    ASSERT_NEAR(k["pw"][c], pw[static_cast<std::size_t>(c)], 1e-4);
    ASSERT_NEAR(k["pb"][c], pb[static_cast<std::size_t>(c)], 1e-4);
  }
  EXPECT_EQ(k.stats("mw").bank_cycles, k.stats("mw").ideal_bank_cycles * 2);
}

TEST(Kernels, PartialSums) {
  for (std::int64_t grid : {1, 66, 132}) {
    const std::int64_t columns = 72;
    KernelRun k("partial_sums", {{"G", grid}, {"C", columns}});
    k.run();
    for (std::int64_t c = 0; c < columns; ++c) {
      double dw = 0, db = 0;
      for (std::int64_t g = 0; g < grid; ++g) {
        dw += k["pw"][g * columns + c];
        db += k["pb"][g * columns + c];
      }
      ASSERT_NEAR(k["dw"][c], dw, 1e-4);
      ASSERT_NEAR(k["db"][c], db, 1e-4);
    }
  }
}

TEST(Kernels, BatchNorm) {
  const std::int64_t n = 3, channels = 2, p = 4096;
  KernelRun k("batch_norm", {{"N", n}, {"C", channels}});
  k.run();
  for (std::int64_t c = 0; c < channels; ++c) {
    auto at = [&](std::int64_t i) { return (i / p * channels + c) * p + i % p; };
    double sum = 0, squares = 0, count = static_cast<double>(n * p);
    for (std::int64_t i = 0; i < n * p; ++i) sum += k["x"][at(i)];
    for (std::int64_t i = 0; i < n * p; ++i) squares += std::pow(k["x"][at(i)] - sum / count, 2);
    expect_close(k["mean"][c], sum / count, kF32, c);
    expect_close(k["var"][c], squares / count, kF32, c);
    double scale = k["w"][c] / std::sqrt(squares / count + 1e-5);
    for (std::int64_t i = 0; i < n * p; ++i) {
      double expected = (k["x"][at(i)] - sum / count) * scale + k["b"][c];
      ASSERT_NEAR(k["y"][at(i)], expected, kBf16 * std::fabs(expected) + 1e-4);
    }
  }
}

TEST(Kernels, CastTranspose) {
  const std::int64_t u = 80, v = 144;
  KernelRun k("cast_transpose", {{"U", u}, {"V", v}});
  k.run();
  for (std::int64_t i = 0; i < u; ++i)
    for (std::int64_t j = 0; j < v; ++j) {
      double x = k["x"][i * v + j], y = k["y"][i * v + j];
      ASSERT_LE(std::fabs(x - y), std::fabs(x) / 16 + 1.0 / 512);
      ASSERT_EQ(k["z"][j * u + i], y);
    }
  EXPECT_EQ(k.stats("z").element_accesses, 0);
}

TEST(Kernels, ColumnSum) {
  const std::int64_t rows = 37, columns = 264;
  KernelRun k("column_sum", {{"R", rows}, {"C", columns}, {"G", 2}});
  k.run();
  for (std::int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += k["x"][r * columns + c];
    ASSERT_NEAR(k["y"][c], sum, 1e-4) << c;
  }
}

TEST(Kernels, CumulativeSum) {
  const std::int64_t columns = 4096 + 1000;
  KernelRun k("cumsum", {{"B", 2}, {"C", columns}});
  k.run();
  for (std::int64_t r = 0; r < 2; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      sum += k["x"][r * columns + c];
      ASSERT_NEAR(k["y"][r * columns + c], sum, 1e-3) << c;
    }
  }
  EXPECT_EQ(k.stats("x").sectors, k.stats("x").ideal_sectors);
  EXPECT_EQ(k.stats("m").bank_cycles, k.stats("m").ideal_bank_cycles);
}

TEST(Kernels, GemvInt8) {
  const std::int64_t rows = 24, columns = 4096;
  KernelRun k("gemv_int8", {{"R", rows / 8}});
  for (std::int64_t i = 0; i < rows * columns; ++i)
    k["w"].set(i, static_cast<double>(i * 37 % 255 - 127));
  k.run();
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += k["w"][r * columns + c] * k["x"][c];
    ASSERT_NEAR(k["y"][r], sum * k["scale"][r], kBf16 * std::fabs(sum * k["scale"][r]) + 0.05);
  }
}

void set_adam_scalars(KernelRun &k) {
  k["lr"].set(0, 0.001);
  k["c1"].set(0, 2.5);
  k["c2"].set(0, 3.5);
}

/// `of`: what the names of the tensor's buffers end in.
void make_positive(KernelRun &k, const std::string &of) {
  Tensor &v = k["v" + of];
  for (std::int64_t i = 0; i < v.size(); ++i) v.set(i, std::fabs(v[i]));
}

void check_adam(KernelRun &k, const std::string &of) {
  for (std::int64_t i = 0; i < k["p" + of].size(); ++i) {
    double g = k["g" + of][i];
    double m = 0.9 * k["m" + of][i] + 0.1 * g, v = 0.999 * k["v" + of][i] + 0.001 * g * g;
    expect_close(k["m1" + of][i], m, kF32, i);
    expect_close(k["v1" + of][i], v, kF32, i);
    double step = 0.001 * (m * 2.5) / (std::sqrt(v * 3.5) + 1e-8);
    expect_close(k["p1" + of][i], k["p" + of][i] - step, kF32, i);
  }
}

TEST(Kernels, Adam) {
  KernelRun k("adam", {{"N", 2050}});
  make_positive(k, "");
  set_adam_scalars(k);
  k.run();
  check_adam(k, "");
}

TEST(Kernels, AdamOnManyTensors) {
  for (std::int64_t n : {1, 3, 1300}) {
    KernelRun k("adam_many", {{"N", n}});
    for (int t = 0; t < k.kernel().instances; ++t) make_positive(k, "." + std::to_string(t));
    set_adam_scalars(k);
    k.run();
    std::int64_t elements = 0;
    for (int t = 0; t < k.kernel().instances; ++t) {
      check_adam(k, "." + std::to_string(t));
      elements += k["p." + std::to_string(t)].size();
    }
    EXPECT_EQ(k.stats("p").vector_accesses * 4 + k.stats("p").element_accesses, elements);
  }
}

TEST(Kernels, ScaledSumsOfManyMatrices) {
  const std::int64_t rows = 3, columns = 1000;
  KernelRun k("scaled_sums_many", {{"R", rows}});
  for (int t = 0; t < 5; ++t) k["s." + std::to_string(t)].set(0, t - 1.5);
  k.run();
  for (int t = 0; t < 5; ++t) {
    const std::string of = "." + std::to_string(t);
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) sum += k["x" + of][r * columns + c] * k["w"][c];
      ASSERT_NEAR(k["y" + of][r], sum * (t - 1.5), 1e-2) << t;
      EXPECT_EQ(k["counter" + of][r], 0);
    }
  }
}

TEST(Kernels, RowSumsOfManyMatrices) {
  KernelRun k("row_sums_many", {{"R", 5}});
  k.run();
  for (const std::string of : {".0", ".1", ".2", ".3"})
    for (std::int64_t r = 0; r < k["y" + of].size(); ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < 500; ++c) sum += k["x" + of][r * 500 + c];
      ASSERT_NEAR(k["y" + of][r], sum, 1e-3) << of << " at " << r;
    }
}

TEST(Kernels, Rotary) {
  const std::int64_t tokens = 3, heads = 7;
  KernelRun k("rotary", {{"T", tokens}, {"H", heads}});
  k.run();
  for (std::int64_t i = 0; i < tokens * heads * 128; ++i) {
    std::int64_t d = i % 128, t = i / (heads * 128);
    double partner = d < 64 ? -k["x"][i + 64] : k["x"][i - 64];
    double expected = k["x"][i] * k["cos"][t * 64 + d % 64] + partner * k["sin"][t * 64 + d % 64];
    ASSERT_NEAR(k["y"][i], expected, kBf16 * std::fabs(expected) + 1e-4);
  }
  EXPECT_EQ(k.stats("x").element_accesses, 0);
}

TEST(Kernels, Gather) {
  KernelRun k("gather", {{"V", 10}, {"T", 5}});
  const double index[] = {3, 9, -1, 10, 0};
  for (std::int64_t t = 0; t < 5; ++t) k["index"].set(t, index[t]);
  k.run();
  for (std::int64_t t = 0; t < 5; ++t)
    for (std::int64_t c = 0; c < 1024; ++c) {
      bool inside = index[t] >= 0 && index[t] < 10;
      ASSERT_EQ(k["y"][t * 1024 + c],
                inside ? k["table"][static_cast<std::int64_t>(index[t]) * 1024 + c] : 0);
    }
}

TEST(Kernels, CrossEntropy) {
  const std::int64_t rows = 3, columns = 8192 + 300 + 1;
  KernelRun k("cross_entropy", {{"B", rows}, {"C", columns}});
  for (std::int64_t r = 0; r < rows; ++r) k["target"].set(r, static_cast<double>(r * 1000));
  for (std::int64_t c = 0; c < columns; ++c) k["x"].set(columns + c, -INFINITY);  // one -inf row
  k["x"].set(columns + 1000, 1.0);
  k.run();
  for (std::int64_t r = 0; r < rows; ++r) {
    double s = 0;
    for (std::int64_t c = 0; c < columns; ++c) s += std::exp(k["x"][r * columns + c]);
    expect_close(k["loss"][r], std::log(s) - k["x"][r * columns + r * 1000], kF32, r);
  }
}

}  // namespace
}  // namespace fuse::test
