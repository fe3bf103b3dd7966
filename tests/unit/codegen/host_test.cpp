// The host executor on kernels in LLVM IR text: results, orders, and errors of collectives.
#include "host_kernels.h"

#include <fuse/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace {

using fuse::Error;
using fuse::ErrorCode;
using fuse::HostKernel;
using fuse::test::kBlockSum;
using fuse::test::kDeclarations;
using fuse::test::kGelu;
using fuse::test::per_thread;
using fuse::test::run;
using ::testing::HasSubstr;

HostKernel compile(const std::string &ir, int threads, int cluster = 1) {
  fuse::Target target;
  return HostKernel(ir, target, threads, cluster);
}

std::uint16_t to_bf16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float from_bf16(std::uint16_t x) {
  std::uint32_t bits = std::uint32_t{x} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

TEST(HostLoop, GeluOfBf16WithTail) {
  HostKernel kernel = compile(kGelu, 128);
  constexpr std::size_t kVectors = 300;
  std::vector<std::uint16_t> in(kVectors * 8), out(in.size() + 8, 0xabcd);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = to_bf16(static_cast<float>(i % 97) / 8 - 6);
  run(kernel, in.data(), out.data(), kVectors, 3);
  for (std::size_t i = 0; i < in.size(); ++i) {
    float x = from_bf16(in[i]);
    EXPECT_NEAR(from_bf16(out[i]), x / (1 + std::exp2(-2.4544f * x)), 0.01 * std::fabs(x)) << x;
  }
  for (std::size_t i = in.size(); i < out.size(); ++i) EXPECT_EQ(out[i], 0xabcd);
}

TEST(HostLoop, LargeGridsRunOnSeveralThreadsAlike) {
  HostKernel kernel = compile(per_thread("i32", "i32", R"(
    %x = load i32, ptr addrspace(1) %p
    %r = mul i32 %x, 3
    store i32 %r, ptr addrspace(1) %q
  )"),
                              256);
  std::vector<std::int32_t> in(1 << 20), out(in.size());
  std::iota(in.begin(), in.end(), 0);
  run(kernel, in.data(), out.data(), in.size(), in.size() / 256);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] * 3);
}

TEST(HostBlock, SumByShufflesAndBarrier) {
  HostKernel kernel = compile(kBlockSum, 256);
  constexpr std::size_t kBlocks = 20;
  std::vector<float> in(kBlocks * 256), out(kBlocks);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 1000);
  for (std::uint64_t seed : {0, 1, 2, 3}) {
    std::fill(out.begin(), out.end(), -1.0f);
    run(kernel, in.data(), out.data(), 0, kBlocks, seed);
    for (std::size_t b = 0; b < kBlocks; ++b)
      EXPECT_EQ(out[b], std::accumulate(&in[b * 256], &in[b * 256] + 256, 0.0f)) << seed;
  }
}

/// A kernel of one block that computes i32 %r from i32 %tid, with all intrinsics at hand.
std::string one_block(const std::string &body, const std::string &globals = "") {
  return globals + R"(
define ptx_kernel void @collective(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
)" + body +
         R"(
  %i = zext i32 %tid to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %q
  ret void
}
)" + kDeclarations;
}

std::vector<std::uint32_t> run_block(const std::string &body, int threads,
                                     const std::string &globals = "", std::uint64_t seed = 0) {
  std::vector<std::uint32_t> out(threads, 0xdeadbeef);
  run(compile(one_block(body, globals), threads), nullptr, out.data(), 0, 1, seed);
  return out;
}

TEST(HostWarp, ShuffleUpAndDownStayInTheSegment) {
  auto up =
      run_block("%r = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %tid, i32 3, i32 6144)",
                32);  // segments of 8 lanes: (32 - 8) << 8
  auto down = run_block(
      "%r = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %tid, i32 3, i32 6175)", 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane % 8 >= 3 ? lane - 3 : lane);
    EXPECT_EQ(down[lane], lane % 8 < 5 ? lane + 3 : lane);
  }
}

TEST(HostWarp, ShuffleIndexAndXor) {
  auto index =
      run_block("%r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 5, i32 31)", 64);
  auto exchange =
      run_block("%r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 9, i32 31)", 64);
  for (std::uint32_t thread = 0; thread < 64; ++thread) {
    EXPECT_EQ(index[thread], thread / 32 * 32 + 5);
    EXPECT_EQ(exchange[thread], thread ^ 9);
  }
}

TEST(HostWarp, Votes) {
  auto ballot = run_block(R"(
    %odd = trunc i32 %tid to i1
    %r = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd))",
                          32);
  EXPECT_EQ(ballot[0], 0xaaaaaaaau);
  auto votes = run_block(R"(
    %low = icmp ult i32 %tid, 40
    %all = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %low)
    %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %low)
    %a = zext i1 %all to i32
    %b = select i1 %any, i32 2, i32 0
    %r = or i32 %a, %b)",
                         96);
  EXPECT_EQ(votes[0], 3u);
  EXPECT_EQ(votes[32], 2u);
  EXPECT_EQ(votes[64], 0u);
}

TEST(HostWarp, PartialMasksServeTheirLanesOnly) {
  auto out = run_block(R"(
    %low = icmp ult i32 %tid, 16
    br i1 %low, label %a, label %b
  a:
    %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 %tid, i32 1, i32 31)
    br label %join
  b:
    %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -65536, i32 %tid, i32 2, i32 31)
    br label %join
  join:
    %r = phi i32 [%x, %a], [%y, %b])",
                       32);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane < 16 ? lane ^ 1 : lane ^ 2);
}

TEST(HostWarp, TheTailWarpMayBeShort) {
  auto out =
      run_block("%r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 1, i32 31)", 40);
  for (std::uint32_t thread = 0; thread < 40; ++thread) EXPECT_EQ(out[thread], thread ^ 1);
}

TEST(HostBlock, BarriersInALoop) {
  // Each of 64 threads adds its neighbour's value 5 times, with two barriers a round.
  const std::string body = R"(
    %own = getelementptr i32, ptr addrspace(3) @cells, i32 %tid
    %next = add i32 %tid, 1
    %wrapped = and i32 %next, 63
    %other = getelementptr i32, ptr addrspace(3) @cells, i32 %wrapped
    br label %loop
  loop:
    %k = phi i32 [0, %entry], [%k1, %loop]
    %v = phi i32 [%tid, %entry], [%r, %loop]
    store i32 %v, ptr addrspace(3) %own
    call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
    %w = load i32, ptr addrspace(3) %other
    call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
    %r = add i32 %v, %w
    %k1 = add i32 %k, 1
    %more = icmp ult i32 %k1, 5
    br i1 %more, label %loop, label %end
  end:
)";
  const std::string cells = "@cells = internal addrspace(3) global [64 x i32] poison, align 4\n";
  std::vector<std::uint32_t> expected(64);
  std::iota(expected.begin(), expected.end(), 0);
  for (int k = 0; k < 5; ++k) {
    auto old = expected;
    for (int i = 0; i < 64; ++i) expected[i] = old[i] + old[(i + 1) % 64];
  }
  for (std::uint64_t seed : {0, 7, 8}) EXPECT_EQ(run_block(body, 64, cells, seed), expected);
}

TEST(HostBlock, AMissingBarrierShowsInARandomOrder) {
  const std::string body = R"(
    %own = getelementptr i32, ptr addrspace(3) @cells, i32 %tid
    store i32 %tid, ptr addrspace(3) %own
    call void @llvm.nvvm.bar.warp.sync(i32 -1)
    %wrapped = xor i32 %tid, 32
    %other = getelementptr i32, ptr addrspace(3) @cells, i32 %wrapped
    %r = load i32, ptr addrspace(3) %other)";
  const std::string cells = "@cells = internal addrspace(3) global [64 x i32] poison, align 4\n";
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    auto out = run_block(body, 64, cells, seed);
    for (std::uint32_t i = 0; i < 64; ++i) differs |= out[i] != (i ^ 32);
  }
  EXPECT_TRUE(differs);
}

std::string error_of(const std::string &body, int threads) {
  try {
    run_block(body, threads);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    return error.what();
  }
  return "no error";
}

TEST(HostErrors, DivergentBarrier) {
  EXPECT_THAT(error_of(R"(
    %low = icmp ult i32 %tid, 40
    br i1 %low, label %a, label %end
  a:
    call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
    br label %end
  end:
    %r = add i32 %tid, 0)",
                       64),
              HasSubstr("kernel collective: block 0, warp 1: divergent threads: 40 is at exit 0, "
                        "0 at block barrier 1"));
}

TEST(HostErrors, MismatchedBarriers) {
  EXPECT_THAT(error_of(R"(
    %low = icmp ult i32 %tid, 32
    %id = zext i1 %low to i32
    call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %id)
    %r = add i32 %tid, 0)",
                       64),
              HasSubstr("lane 0 is at barrier 0, others at barrier 1"));
}

TEST(HostErrors, MissingLaneOfAShuffle) {
  EXPECT_THAT(error_of(R"(
    %low = icmp ult i32 %tid, 31
    br i1 %low, label %a, label %end
  a:
    %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %tid, i32 1, i32 31)
    br label %end
  end:
    %r = phi i32 [%x, %a], [0, %entry])",
                       32),
              HasSubstr("divergent threads: 0 is at shuffle xor 1, 31 at exit 0"));
}

TEST(HostErrors, ShuffleFromALaneOutsideTheMask) {
  EXPECT_THAT(error_of(R"(
    %low = icmp ult i32 %tid, 16
    %mask = select i1 %low, i32 65535, i32 -65536
    %r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 %mask, i32 %tid, i32 16, i32 31))",
                       32),
              HasSubstr("shuffle xor of lane 0 reads lane 16, which does not take part"));
}

// Each thread writes its rank and index, and reads those of the next rank.
constexpr const char *kClusterExchange = R"(
@cells = internal addrspace(3) global [64 x i32] poison, align 4
define ptx_kernel void @exchange(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %own = getelementptr i32, ptr addrspace(3) @cells, i32 %tid
  %scaled = mul i32 %cta, 1000
  %value = add i32 %scaled, %tid
  store i32 %value, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  WAIT
  %next = add i32 %rank, 1
  %peer = and i32 %next, 3
  %remote = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %own, i32 %peer)
  %r = load i32, ptr addrspace(7) %remote
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %base = mul i32 %cta, 64
  %index = add i32 %base, %tid
  %i = zext i32 %index to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %q
  ret void
}
)";

std::string cluster_exchange(const std::string &wait) {
  std::string ir = std::string(kClusterExchange) + kDeclarations;
  return ir.replace(ir.find("WAIT"), 4, wait);
}

std::vector<std::uint32_t> expected_exchange(std::uint32_t blocks) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t block = 0; block < blocks; ++block)
    for (std::uint32_t thread = 0; thread < 64; ++thread)
      out.push_back((block / 4 * 4 + (block + 1) % 4) * 1000 + thread);
  return out;
}

TEST(HostCluster, BlocksReadTheMemoryOfTheirPeers) {
  HostKernel kernel =
      compile(cluster_exchange("call void @llvm.nvvm.barrier.cluster.wait.aligned()"), 64, 4);
  for (std::uint64_t seed : {0, 5, 6}) {
    std::vector<std::uint32_t> out(12 * 64);
    run(kernel, nullptr, out.data(), 0, 12, seed);
    EXPECT_EQ(out, expected_exchange(12));
  }
}

TEST(HostCluster, AMissingWaitIsAnError) {
  HostKernel kernel = compile(cluster_exchange(""), 64, 4);
  std::vector<std::uint32_t> out(4 * 64);
  try {
    run(kernel, nullptr, out.data(), 0, 4);
    ADD_FAILURE() << "ran";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("kernel exchange: block 0, warp 0: lane 0 has arrived 2 "
                                        "times at the cluster's barrier where 1 were waited for"));
  }
}

TEST(HostCluster, GridsOfWholeClustersOnly) {
  HostKernel kernel = compile(cluster_exchange(""), 64, 4);
  EXPECT_THROW(run(kernel, nullptr, nullptr, 0, 6), Error);
}

TEST(HostErrors, UnknownIntrinsic) {
  EXPECT_THROW(compile(R"(
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.smid()
  store i32 %t, ptr addrspace(1) %out
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.smid()
)",
                       32),
               Error);
}

}  // namespace
