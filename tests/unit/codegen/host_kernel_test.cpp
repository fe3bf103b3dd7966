// Kernels from their text on the host executor: the launch ABI end to end.
#include "codegen/host.h"
#include "host_kernels.h"

#include <gtest/gtest.h>

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
