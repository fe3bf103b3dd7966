// Measures the host executor on one core: compile time, elements and threads a second.
#include "host_kernels.h"

#include <chrono>
#include <cstdio>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void measure(const char *name, const std::string &ir, std::size_t in_bytes, std::uint64_t n,
             std::uint64_t blocks, int threads, double elements) {
  fuse::test::run(fuse::HostKernel(ir, {}, threads, 1), nullptr, nullptr, 0, 0);
  auto start = Clock::now();
  fuse::HostKernel kernel(ir, {}, threads, 1);
  double compile = seconds_since(start);
  std::vector<char> in(in_bytes), out(in_bytes);
  double best = 1;
  for (int i = 0; i < 20; ++i) {
    start = Clock::now();
    fuse::test::run(kernel, in.data(), out.data(), n, blocks);
    best = std::min(best, seconds_since(start));
  }
  std::printf("%-12s compile %5.1f ms, %6.1f M elements/s, %6.1f M threads/s\n", name,
              compile * 1e3, elements / best / 1e6,
              static_cast<double>(blocks) * threads / best / 1e6);
}

}  // namespace

int main() {
  // Grids below the size at which a second CPU thread would start.
  measure("gelu bf16", fuse::test::kGelu, 480 * 128 * 16, 480 * 128, 480, 128, 480 * 128 * 8);
  measure("block sum", fuse::test::kBlockSum, 240 * 256 * 4, 0, 240, 256, 240 * 256);
}
