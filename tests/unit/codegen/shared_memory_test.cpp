// What the emitter takes of shared memory is what the kernel tells, and fits.
#include "ir/shared_memory.h"

#include "codegen/codegen.h"
#include "passes/passes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace fuse {
namespace {

namespace fs = std::filesystem;

const Target kTarget = Target::named("h200");

/// Bytes of the arrays that PTX declares, at 16-byte boundaries.
std::int64_t declared_bytes(const std::string &ptx) {
  static const std::regex kArray(R"(\.shared \.align \d+ \.b8 [\w$.]+\[(\d+)\])");
  std::int64_t bytes = 0;
  for (std::sregex_iterator it(ptx.begin(), ptx.end(), kArray), end; it != end; ++it)
    bytes += (std::stoll((*it)[1]) + 15) / 16 * 16;
  return bytes;
}

void expect_told(const Kernel &kernel) {
  std::int64_t told = static_shared_bytes(kernel);
  EXPECT_LE(told, kStaticShared) << kernel.name;
  if (kernel.cluster > kTarget.max_cluster) return;
  EXPECT_EQ(declared_bytes(emit_ptx({&kernel}, kTarget)), told) << to_string(kernel);
}

/// Rows are folded and read again, and `columns` sums run over all of them.
Graph norm_backward(int columns) {
  Graph g("norm_backward");
  auto x = cast(g.input("x", bf16, {3136, 384}), f32),
       dy = cast(g.input("dy", bf16, {3136, 384}), f32);
  Value y = dy - x * broadcast(sum(dy * x, {1}, true), x.shape());
  g.output("y", cast(y, bf16));
  for (int i = 0; i < columns; ++i) {
    g.output("sum" + std::to_string(i), sum(y, {0}));
    y = y * x;
  }
  return g;
}

TEST(SharedMemory, LastBlocksUseTheRegionsBeforeThem) {
  Program program = lower(norm_backward(3), kTarget, {});
  ASSERT_EQ(program.kernels.size(), 1u);
  const Kernel &kernel = program.kernels[0];
  EXPECT_GE(kernel.threads, 256) << "the case is one of many threads";
  expect_told(kernel);
}

TEST(SharedMemory, ManyColumnsFit) {
  for (int columns : {1, 5, 9, 17})
    for (const Kernel &kernel : lower(norm_backward(columns), kTarget, {}).kernels)
      expect_told(kernel);
}

TEST(SharedMemory, ColumnsWithWideStatesFit) {
  Graph g("columns");
  auto x = g.input("x", f64, {4096, 1024});
  for (int i = 0; i < 12; ++i) {
    auto f = x * (1.0 + i);
    g.output("m" + std::to_string(i), argmax(f, 0));
    g.output("s" + std::to_string(i), sum(f * f, {0}));
  }
  for (const Kernel &kernel : lower(g, kTarget, {}).kernels) expect_told(kernel);
}

TEST(SharedMemory, KernelsByHand) {
  for (const auto &entry : fs::directory_iterator(fs::path(FUSE_SOURCE_DIR) / "tests/kernels")) {
    if (entry.path().extension() != ".kernel") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    expect_told(parse_kernel(text.str(), entry.path().string()));
  }
}

}  // namespace
}  // namespace fuse
