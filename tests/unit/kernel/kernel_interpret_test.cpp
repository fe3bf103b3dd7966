// What the interpreter checks, one broken schedule each, and what it counts.
#include "ir/kernel_interpret.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <numeric>

namespace fuse {
namespace {

/// Runs a kernel over %x: f32[64] = 0, 1, .. and %y: f32[64] (output), %p: f32[64] (workspace).
struct Launch {
  std::vector<float> x = std::vector<float>(64), y = x, p = x;
  std::vector<std::uint32_t> counter = {0};
  std::vector<AccessStats> stats;

  std::string run(const std::string &rest, std::int64_t phase = 0, std::uint64_t seed = 0) {
    std::iota(x.begin(), x.end(), 0.0f);
    std::string settings = rest.find("cta") == std::string::npos ? "cluster 1" : "cluster 2";
    Kernel k = parse_kernel(
        "kernel @k(%x: f32[64] align 16) -> (%y: f32[64] align 16) workspace (%p: f32[64] "
        "coherent, %c: u32[1] coherent) threads 32 " +
        settings + " index 32 {\n" + rest + "}\n");
    verify(k);
    try {
      stats = interpret(
          k, {{{x.data(), 64, phase}, {y.data(), 64, 0}, {p.data(), 64, 0}, {counter.data(), 1, 0}},
              {{"N", 64}},
              seed});
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), ErrorCode::Internal);
      return e.what();
    }
    return "";
  }
};

const std::string kVec = "dims i: 64\nlayout L: i = thread 16 . vec 4\nin L {\n";

TEST(KernelInterpret, Copies) {
  Launch r;
  EXPECT_EQ(r.run(kVec + "%a = load.4 %x[i]\nstore.4 %y[i], %a\n}\n"), "");
  EXPECT_EQ(r.y, r.x);
  ASSERT_EQ(r.stats.size(), 2u);
  // 32 threads, of which the upper 16 are copies: they load, but do not store.
  EXPECT_EQ(r.stats[0].vector_accesses, 32);
  EXPECT_EQ(r.stats[1].vector_accesses, 16);
  EXPECT_EQ(r.stats[1].sectors, 8);
  EXPECT_EQ(r.stats[1].ideal_sectors, 8);
}

TEST(KernelInterpret, CountsSectors) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 8\nlayout L: i = thread 8\nin L {\n%a = load %x[i*8]\n}\n"), "");
  EXPECT_EQ(r.stats[0].element_accesses, 32);
  EXPECT_EQ(r.stats[0].sectors, 8);
  EXPECT_EQ(r.stats[0].ideal_sectors, 1);
}

TEST(KernelInterpret, Bounds) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 65\nlayout L: i = reg 3 . thread 32\nin L {\n%a = load %x[i]\n}\n"),
            "kernel k: load %a: thread 0 of block 0: offset 64 is outside the 64 elements of %x");
  EXPECT_EQ(r.run("dims i: 64\nlayout L: i = reg 2 . thread 32\nin L {\n%a = load %x[i - 1]\n}\n"),
            "kernel k: load %a: thread 0 of block 0: offset -1 is outside the 64 elements of %x");
}

TEST(KernelInterpret, Vectors) {
  Launch r;
  EXPECT_EQ(r.run(kVec + "%a = load.4 %x[i]\n}\n", 2),
            "kernel k: load %a: thread 0 of block 0: a vector of 4 at offset 0 is not aligned");
  EXPECT_EQ(r.run(kVec + "%a = load.4 %x[i*2 - i / 2*2 - i % 2]\n}\n"), "");
  EXPECT_EQ(r.run(kVec + "%a = load.4 %x[i % 6]\n}\n"),
            "kernel k: load %a: thread 1 of block 0: offsets 4 and 0 of a vector are not "
            "consecutive");
  EXPECT_EQ(r.run(kVec + "%j = index i\n%n = const 6 : i64\n%t = lt %j, %n\n"
                         "%a = load.4 %x[i] if %t\n}\n"),
            "kernel k: load %a: thread 1 of block 0: the guard differs between the elements of a "
            "vector");
}

TEST(KernelInterpret, AlignedAxisStartsAtABoundary) {
  Launch r;
  std::string text =
      "dims i: 61\nlayout L: i = thread 16 . vec 4 align %x[1]\nin L {\n"
      "%a = load.4 %x[i + 1]\nstore %y[i], %a\n}\n";
  EXPECT_EQ(r.run(text, 2), "");
  for (std::size_t i = 0; i < 61; ++i) EXPECT_EQ(r.y[i], static_cast<float>(i + 1));
  EXPECT_EQ(r.stats[0].element_accesses, 2 * 1);  // phase 3: one element before the boundary
}

TEST(KernelInterpret, Races) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 64\nlayout L: i = reg 2 . thread 32\nin L {\n%a = load %x[i]\n"
                  "store %y[i / 2], %a\n}\n"),
            "kernel k: store: thread 1 of block 0: %y[0] is stored, but thread 0 of block 0 stored "
            "another value");
  EXPECT_EQ(r.run("dims i: 64\nlayout L: i = reg 2 . thread 32\nin L {\n%a = load %x[i]\n"
                  "store %p[i], %a\n%b = load %p[i]\n%c = load %p[63 - i]\n}\n"),
            "kernel k: load %c: thread 0 of block 0: %p[63] is read, but thread 31 of block 0 "
            "writes it");
}

TEST(KernelInterpret, Moves) {
  const std::string layouts =
      "dims i: 64\nlayout A: i = reg 2 . thread 32\nlayout B: i = thread 32 . reg 2\nin A {\n"
      "%a = load %x[i]\n";
  Launch r;
  EXPECT_EQ(r.run(layouts + "%t = move.1.1 %a to B via shared[i]\n}\nin B {\nstore %y[i], %t\n}\n"),
            "");
  EXPECT_EQ(r.y, r.x);
  EXPECT_EQ(r.stats[1].ideal_bank_cycles, 4);
  EXPECT_EQ(r.stats[1].bank_cycles, 2 + 4);  // reading with stride 2: two-way conflicts
  EXPECT_EQ(r.run(layouts + "%t = move.1.1 %a to B via shared[i / 2]\n}\n"),
            "kernel k: move %t: thread 1 of block 0: shared offset 0 holds two positions");
  EXPECT_EQ(r.run("dims i: 64\nlayout A: i = grid 2 . thread 32\nlayout B: i = thread 32 . reg 2\n"
                  "in A {\n%a = load %x[i]\n%t = move.1.1 %a to B via shared[i]\n}\n"),
            "kernel k: move %t: thread 16 of block 0: shared offset 32 is read, but this block did "
            "not write its position there");
}

TEST(KernelInterpret, LastBlockRunsOnceInAnyOrder) {
  const std::string text =
      "dims g: N, i: 1, j: 64\nlayout L: g = grid N; i = reg 1\nlayout F: j = reg 2 . thread 32\n"
      "in L {\n%a = load %x[g]\nstore %p[g], %a\n}\n"
      "in F {\nlast_block %c[0] of N {\n%b = load %p[j]\n%s = reduce sum(%b) over j\n"
      "store %y[0], %s\n}\n}\n";
  for (std::uint64_t seed : {0, 1, 2}) {
    Launch r;
    EXPECT_EQ(r.run(text, 0, seed), "");
    EXPECT_EQ(r.y[0], 63 * 32);
    EXPECT_EQ(r.counter[0], 0u);
  }
}

TEST(KernelInterpret, LastBlockCountsTheBlocksThatArrive) {
  auto text = [](const std::string &blocks, const std::string &count) {
    return "dims g: " + blocks + "\nlayout L: g = grid " + blocks +
           "\nin L {\nlast_block %c[0] of " + count + " {\n}\n}\n";
  };
  Launch r;
  EXPECT_EQ(r.run(text("63", "N")), "kernel k: last_block %c[0]: 63 blocks arrive, it counts 64");
  r.counter = {0};
  EXPECT_EQ(r.run(text("65", "N")),
            "kernel k: last_block %c[0]: more blocks arrive than the 64 that it counts");
  r.counter = {2};
  EXPECT_EQ(r.run(text("64", "N")), "kernel k: last_block %c[0]: it is 2 before block 0 arrives");
}

TEST(KernelInterpret, LastBlockReadsWhatWasStoredBefore) {
  auto text = [](const std::string &store, const std::string &after = "") {
    return "dims g: 4, i: 4\nlayout L: g = grid 4\nlayout F: i = reg 4\nin L {\n%a = load %x[g]\n" +
           store + "}\nin F {\nlast_block %c[0] of 4 {\n%b = load %p[i]\n}\n}\n" + after;
  };
  Launch r;
  EXPECT_EQ(r.run(text("store %p[g], %a\n")), "");
  EXPECT_EQ(r.run(text("store %p[g*2], %a\n")),
            "kernel k: load %b: thread 0 of block 3: %p[1] is read, but no thread has stored it");
  r.counter = {0};
  EXPECT_EQ(r.run(text("", "in L {\nstore %p[g], %a\n}\n")),
            "kernel k: load %b: thread 0 of block 3: %p[0] is read, but thread 0 of block 0 writes "
            "it and has not arrived since");
}

TEST(KernelInterpret, EveryBlockStoresThePartThatItsThreadsShare) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 64, s: 2, j: 2\nlayout L: i = grid 2 . thread 32; s = grid 2\n"
                  "layout F: j = reg 2\nin L {\n%a = load %x[i]\n%m = reduce max(%a) over i\n"
                  "store %p[s], %m\n}\nin F {\nlast_block %c[0] of 2 {\n%b = load %p[j]\n"
                  "%s = reduce sum(%b) over j\nstore %y[0], %s\n}\n}\n"),
            "");
  EXPECT_EQ(r.y[0], 31 + 63);
}

TEST(KernelInterpret, ReductionsOverLoopsAndClusters) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 50\nlayout L: i = cta 2 . loop:k 2 . thread 4@8 . reg 4\nin L {\n"
                  "for k {\n%a = load %x[i]\n%s = reduce sum(%a) over i\n"
                  "%m = reduce max(%a) over i\n}\n%t = add %s, %m\nstore %y[3], %t\n}\n"),
            "");
  EXPECT_EQ(r.y[3], 49 * 25 + 49);
}

TEST(KernelInterpret, BlocksOfAReductionStoreTheirParts) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 64, g: 2\nlayout L: i = grid 2 . thread 32; g = grid 2\nin L {\n"
                  "%a = load %x[i]\n%s = reduce sum(%a) over i\nstore %p[g], %s\n}\n"),
            "");
  EXPECT_EQ(r.p[0], 31 * 16);
  EXPECT_EQ(r.p[1], 31 * 16 + 32 * 32);
  EXPECT_EQ(r.stats[1].element_accesses, 2);
}

TEST(KernelInterpret, LoopWithoutIterationsGivesTheIdentity) {
  Launch r;
  r.y[0] = 7;
  EXPECT_EQ(r.run("dims i: 0\nlayout L: i = loop:k 0 . thread 32\nin L {\nfor k {\n"
                  "%a = load %x[i]\n%s = reduce sum(%a) over i\n}\nstore %y[0], %s\n}\n"),
            "");
  EXPECT_EQ(r.y[0], 0);
}

TEST(KernelInterpret, ScansInclusiveAndExclusive) {
  Launch r;
  EXPECT_EQ(r.run("dims i: 50\nlayout L: i = loop:k 2 . thread 16@2 . reg 2\nin L {\nfor k {\n"
                  "%a = load %x[i]\n%s = scan sum(%a) over i\n"
                  "%e = scan sum(%a) over i exclusive\n%d = sub %s, %e\nstore %y[i], %s\n"
                  "store %p[i], %d\n}\n}\n"),
            "");
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(r.y[i], static_cast<float>(i * (i + 1) / 2));
    EXPECT_EQ(r.p[i], static_cast<float>(i));
  }
}

TEST(KernelInterpret, RefusesALaunchThatDoesNotFit) {
  Kernel k = parse_kernel("kernel @k(%x: f32[N]) -> () threads 32 cluster 1 index 32 {\n}\n");
  float x[2] = {};
  EXPECT_THROW(interpret(k, {{}, {{"N", 2}}, 0}), Error);
  EXPECT_THROW(interpret(k, {{{x, 2, 0}}, {}, 0}), Error);
  EXPECT_THROW(interpret(k, {{{x, 2, 0}}, {{"N", 3}}, 0}), Error);
  EXPECT_NO_THROW(interpret(k, {{{x, 2, 0}}, {{"N", 2}}, 0}));
}

TEST(KernelInterpret, InstancesHaveMemoryAndSizesOfTheirOwn) {
  Kernel k = parse_kernel(
      "kernel @k(%x: f32[n] each, %s: f32[1]) -> (%y: f32[n] each) threads 32 cluster 1 index 32 "
      "{\n"
      "  instances 3 n: 2, 0, N\n  dims i: n\n  layout L: i = grid ceil(n / 32) . thread 32\n"
      "  in L {\n    %a = load %x[i]\n    %b = load %s[0]\n    %c = mul %a, %b\n"
      "    store %y[i], %c\n  }\n}\n");
  float x0[2] = {1, 2}, x2[40] = {}, s[1] = {3}, y0[2] = {}, y2[40] = {};
  x2[39] = 5;
  auto run = [&](std::int64_t n, std::uint64_t seed) {
    return interpret(k, {{{x0, 2, 0},
                          {nullptr, 0, 0},
                          {x2, 40, 0},
                          {s, 1, 0},
                          {y0, 2, 0},
                          {nullptr, 0, 0},
                          {y2, 40, 0}},
                         {{"N", n}},
                         seed});
  };
  EXPECT_EQ(run(40, 0)[0].element_accesses, 42);
  EXPECT_EQ(run(40, 5)[0].element_accesses, 42);
  EXPECT_EQ(y0[1], 6);
  EXPECT_EQ(y2[39], 15);
  try {
    run(41, 0);
    FAIL() << "memory that is too small";
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(), "instance 2: kernel k: %x needs 41 elements, 40 are given");
  }
  EXPECT_THROW(interpret(k, {{{x0, 2, 0}, {s, 1, 0}, {y0, 2, 0}}, {{"N", 1}}, 0}), Error);
}

}  // namespace
}  // namespace fuse
