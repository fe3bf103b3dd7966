// Kernels from their text on the host executor: the launch ABI end to end.
#include "codegen/host.h"
#include "host_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

using fuse::HostKernel;
using fuse::HostLaunch;
using fuse::Kernel;
using fuse::parse_kernel;
using fuse::Target;

void launch(const std::string &text, std::vector<void *> values, std::uint64_t grid,
            std::uint64_t seed = 0) {
  Kernel kernel = parse_kernel(text);
  fuse::verify(kernel);
  HostKernel host(kernel, Target::named("host"));
  HostLaunch launch;
  launch.grid = grid;
  launch.arguments = values.data();
  launch.shuffle_seed = seed;
  host.launch(launch);
}

TEST(HostKernelTest, ElementwiseWithTailAndSymbol) {
  std::int64_t n = 1003;
  std::vector<float> x(n), y(n + 5, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  void *px = x.data(), *py = y.data();
  launch(R"(kernel @twice(%x: f32[N]) -> (%y: f32[N]) threads 128 cluster 1 index 64 {
  dims i: N
  layout L: i = grid ceil(N / 256) . thread 128 . reg 2
  in L {
    %a = load.1 %x[i]
    %b = add %a, %a : f32
    store.1 %y[i], %b
  }
})",
         {&px, &py, &n}, 4);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(y[i], 2 * x[i]);
  for (std::int64_t i = n; i < n + 5; ++i) EXPECT_EQ(y[i], -1.0f);
}

/// Rows of 4099 that begin anywhere, in loops with and without a form for whole iterations.
TEST(HostKernelTest, EdgesOfRowsTakeNoPart) {
  constexpr std::int64_t kRows = 3, kColumns = 4099;
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = -3.0f - static_cast<float>(i * 37 % 101);
  for (const char *form : {"", " partition"}) {
    std::vector<float> most(kRows), least(kRows), sum(kRows), top(kRows), total(kRows);
    void *pointers[] = {x.data(), most.data(), least.data(), sum.data(), top.data(), total.data()};
    launch(
        R"(kernel @folds(%x: f32[3, 4099]) -> (%a: f32[3], %b: f32[3], %c: f32[3], %d: f32[3], %e: f32[3]) threads 64 cluster 1 index 64 {
  dims i: 3, r: 4099
  layout L: i = grid 3; r = loop:k 9 . reg 2 . thread 64 . vec 4 align %x[i*4099]
  in L {
    %one = const 1.0 : f32
    for k)" +
            std::string(form) +
            R"( {
      %v = load.4 %x[i*4099 + r]
      %v0 = reduce max(%v) over r
      %v1 = reduce min(%v) over r
      %v2 = reduce sum(%v) over r
      %v3, %v4 = reduce online(%v, %one) over r
    }
    store %a[i], %v0
    store %b[i], %v1
    store %c[i], %v2
    store %d[i], %v3
    store %e[i], %v4
  }
})",
        {&pointers[0], &pointers[1], &pointers[2], &pointers[3], &pointers[4], &pointers[5]}, 3);
    for (std::size_t i = 0; i < kRows; ++i) {
      auto row = x.begin() + static_cast<std::ptrdiff_t>(i) * kColumns;
      EXPECT_EQ(most[i], *std::max_element(row, row + kColumns)) << form;
      EXPECT_EQ(least[i], *std::min_element(row, row + kColumns)) << form;
      EXPECT_EQ(sum[i], std::accumulate(row, row + kColumns, 0.0f)) << form;
      EXPECT_EQ(top[i], most[i]) << form;
      float expected = 0;
      for (auto it = row; it != row + kColumns; ++it) expected += std::exp(*it - most[i]);
      EXPECT_NEAR(total[i], expected, 1e-4 * expected) << form;
    }
  }
}

TEST(HostKernelTest, RowSumsAcrossWarpsInAnyOrder) {
  constexpr std::int64_t kRows = 7, kColumns = 1000;
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101);
  for (std::uint64_t seed : {0, 1, 2}) {
    std::vector<float> y(kRows, -1.0f);
    void *px = x.data(), *py = y.data();
    launch(R"(kernel @sums(%x: f32[7, 1000]) -> (%y: f32[7]) threads 128 cluster 1 index 64 {
  dims i: 7, r: 1000
  layout L: i = grid 7; r = reg 2 . thread 128 . vec 4
  in L {
    %a = load.4 %x[i*1000 + r]
    %s = reduce sum(%a) over r
    store.1 %y[i], %s
  }
})",
           {&px, &py}, kRows, seed);
    for (std::int64_t row = 0; row < kRows; ++row)
      EXPECT_EQ(y[row], std::accumulate(&x[row * kColumns], &x[row * kColumns] + kColumns, 0.0f));
  }
}

TEST(HostKernelTest, RowSumsOverACluster) {
  constexpr std::int64_t kRows = 3, kColumns = 2048;
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101);
  for (std::uint64_t seed : {0, 1, 2}) {
    std::vector<float> y(kRows, -1.0f);
    void *px = x.data(), *py = y.data();
    launch(R"(kernel @sums(%x: f32[3, 2048]) -> (%y: f32[3]) threads 128 cluster 4 index 64 {
  dims i: 3, r: 2048
  layout L: i = grid 3; r = cta 4 . thread 128 . vec 4
  in L {
    %a = load.4 %x[i*2048 + r]
    %s = reduce sum(%a) over r
    store.1 %y[i], %s
  }
})",
           {&px, &py}, kRows * 4, seed);
    for (std::int64_t row = 0; row < kRows; ++row)
      EXPECT_EQ(y[row], std::accumulate(&x[row * kColumns], &x[row * kColumns] + kColumns, 0.0f));
  }
}

}  // namespace
