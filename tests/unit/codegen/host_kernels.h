// Kernels as LLVM IR text, for tests and measurements of the host executor.
#pragma once

#include "codegen/host.h"

#include <fuse/target.h>

#include <string>
#include <vector>

namespace fuse::test {

inline constexpr const char *kDeclarations = R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
declare float @llvm.nvvm.rcp.approx.ftz.f(float)
declare float @llvm.nvvm.rsqrt.approx.f(float)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
declare float @llvm.exp2.f32(float)
declare half @llvm.fma.f16(half, half, half)
declare bfloat @llvm.maximum.bf16(bfloat, bfloat)
)";

/// A kernel (ptr in, ptr out, i64 n) whose threads each apply `body` at %i = their global index;
/// %p and %q are the places of element %i in elements of the given types.
inline std::string per_thread(const std::string &in, const std::string &out,
                              const std::string &body) {
  return R"(
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %cta, %ntid
  %index = add i32 %base, %tid
  %i = zext i32 %index to i64
  %inside = icmp ult i64 %i, %n
  br i1 %inside, label %work, label %done
work:
  %p = getelementptr )" +
         in + R"(, ptr addrspace(1) %in, i64 %i
  %q = getelementptr )" +
         out + R"(, ptr addrspace(1) %out, i64 %i
)" + body +
         R"(
  br label %done
done:
  ret void
}
)" + kDeclarations;
}

/// gelu of 8 bf16 a thread: x * sigmoid(1.702 x).
inline const std::string kGelu = per_thread("<8 x bfloat>", "<8 x bfloat>", R"(
  %v = load <8 x bfloat>, ptr addrspace(1) %p, align 16
  %x = fpext <8 x bfloat> %v to <8 x float>
  %u = fmul <8 x float> %x, splat (float 0xC003A2B000000000)
  %e = call <8 x float> @llvm.exp2.v8f32(<8 x float> %u)
  %s = fadd <8 x float> %e, splat (float 1.0)
  %y = fdiv <8 x float> %x, %s
  %w = fptrunc <8 x float> %y to <8 x bfloat>
  store <8 x bfloat> %w, ptr addrspace(1) %q, align 16
)") + "declare <8 x float> @llvm.exp2.v8f32(<8 x float>)\n";

/// out[block] = sum of in[block * 256 + thread], by shuffles and one barrier; 256 threads.
inline const std::string kBlockSum = std::string(R"(
@warps = internal addrspace(3) global [8 x float] poison, align 4
define ptx_kernel void @block_sum(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %cta, 256
  %index = add i32 %base, %tid
  %i = zext i32 %index to i64
  %p = getelementptr float, ptr addrspace(1) %in, i64 %i
  %x = load float, ptr addrspace(1) %p, align 4
  %y1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x, i32 1, i32 31)
  %x1 = fadd float %x, %y1
  %y2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x1, i32 2, i32 31)
  %x2 = fadd float %x1, %y2
  %y3 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x2, i32 4, i32 31)
  %x3 = fadd float %x2, %y3
  %y4 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x3, i32 8, i32 31)
  %x4 = fadd float %x3, %y4
  %y5 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %x4, i32 16, i32 31)
  %x5 = fadd float %x4, %y5
  %warp = lshr i32 %tid, 5
  %slot = getelementptr [8 x float], ptr addrspace(3) @warps, i32 0, i32 %warp
  store float %x5, ptr addrspace(3) %slot, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %s0 = load float, ptr addrspace(3) @warps, align 4
  %s1 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 4), align 4
  %s2 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 8), align 4
  %s3 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 12), align 4
  %s4 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 16), align 4
  %s5 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 20), align 4
  %s6 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 24), align 4
  %s7 = load float, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @warps, i32 28), align 4
  %t0 = fadd float %s0, %s1
  %t1 = fadd float %s2, %s3
  %t2 = fadd float %s4, %s5
  %t3 = fadd float %s6, %s7
  %u0 = fadd float %t0, %t1
  %u1 = fadd float %t2, %t3
  %sum = fadd float %u0, %u1
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %store, label %done
store:
  %o = zext i32 %cta to i64
  %q = getelementptr float, ptr addrspace(1) %out, i64 %o
  store float %sum, ptr addrspace(1) %q, align 4
  br label %done
done:
  ret void
}
)") + kDeclarations;

/// Runs a kernel of (in, out) or (in, out, n).
inline void run(const HostKernel &kernel, const void *in, void *out, std::uint64_t n,
                std::uint64_t grid, std::uint64_t seed = 0) {
  void *arguments[] = {&in, &out, &n};
  HostLaunch launch;
  launch.grid = grid;
  launch.arguments = arguments;
  launch.shuffle_seed = seed;
  kernel.launch(launch);
}

}  // namespace fuse::test
