// What NVPTX can select: the intrinsics that may reach code generation.
//
// Anything else ends in a fatal error deep inside LLVM, so it is named here instead. The host
// executor (host_intrinsics.cpp) gives every NVVM intrinsic of this list a meaning on the CPU.
#include "codegen/diagnostics.h"

#include "ir/format.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <algorithm>

namespace fuse {

namespace {

using namespace llvm;

/// Selectable for every type that the emitter uses.
constexpr Intrinsic::ID kAlways[] = {
    Intrinsic::abs,
    Intrinsic::assume,
    Intrinsic::bitreverse,
    Intrinsic::bswap,
    Intrinsic::ceil,
    Intrinsic::copysign,
    Intrinsic::ctlz,
    Intrinsic::ctpop,
    Intrinsic::cttz,
    Intrinsic::fabs,
    Intrinsic::floor,
    Intrinsic::fma,
    Intrinsic::fmuladd,
    Intrinsic::fptosi_sat,
    Intrinsic::fptoui_sat,
    Intrinsic::fshl,
    Intrinsic::fshr,
    Intrinsic::is_fpclass,
    Intrinsic::ldexp,
    Intrinsic::lifetime_end,
    Intrinsic::lifetime_start,
    Intrinsic::maximum,
    Intrinsic::maximumnum,
    Intrinsic::maxnum,
    Intrinsic::minimum,
    Intrinsic::minimumnum,
    Intrinsic::minnum,
    Intrinsic::nearbyint,
    Intrinsic::rint,
    Intrinsic::round,
    Intrinsic::roundeven,
    Intrinsic::sadd_sat,
    Intrinsic::sadd_with_overflow,
    Intrinsic::scmp,
    Intrinsic::smax,
    Intrinsic::smin,
    Intrinsic::smul_with_overflow,
    Intrinsic::sqrt,
    Intrinsic::ssub_sat,
    Intrinsic::ssub_with_overflow,
    Intrinsic::trunc,
    Intrinsic::uadd_sat,
    Intrinsic::uadd_with_overflow,
    Intrinsic::ucmp,
    Intrinsic::umax,
    Intrinsic::umin,
    Intrinsic::umul_with_overflow,
    Intrinsic::usub_sat,
    Intrinsic::usub_with_overflow,

    Intrinsic::nvvm_bar_warp_sync,
    Intrinsic::nvvm_barrier_cluster_arrive,
    Intrinsic::nvvm_barrier_cluster_arrive_aligned,
    Intrinsic::nvvm_barrier_cluster_arrive_relaxed,
    Intrinsic::nvvm_barrier_cluster_arrive_relaxed_aligned,
    Intrinsic::nvvm_barrier_cluster_wait,
    Intrinsic::nvvm_barrier_cluster_wait_aligned,
    Intrinsic::nvvm_barrier_cta_sync_aligned_all,
    Intrinsic::nvvm_cos_approx_f,
    Intrinsic::nvvm_cos_approx_ftz_f,
    Intrinsic::nvvm_div_full,
    Intrinsic::nvvm_ex2_approx,
    Intrinsic::nvvm_ex2_approx_ftz,
    Intrinsic::nvvm_ff_to_e4m3x2_rn,
    Intrinsic::nvvm_ff_to_e5m2x2_rn,
    Intrinsic::nvvm_fma_rn_sat_f,
    Intrinsic::nvvm_lg2_approx_f,
    Intrinsic::nvvm_lg2_approx_ftz_f,
    Intrinsic::nvvm_mapa_shared_cluster,
    Intrinsic::nvvm_membar_cta,
    Intrinsic::nvvm_membar_gl,
    Intrinsic::nvvm_membar_sys,
    Intrinsic::nvvm_prmt,
    Intrinsic::nvvm_rcp_approx_ftz_f,
    Intrinsic::nvvm_rcp_rn_f,
    Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank,
    Intrinsic::nvvm_read_ptx_sreg_cluster_nctarank,
    Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
    Intrinsic::nvvm_read_ptx_sreg_laneid,
    Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
    Intrinsic::nvvm_read_ptx_sreg_ntid_x,
    Intrinsic::nvvm_read_ptx_sreg_tid_x,
    Intrinsic::nvvm_rsqrt_approx_f,
    Intrinsic::nvvm_rsqrt_approx_ftz_f,
    Intrinsic::nvvm_shfl_sync_bfly_f32,
    Intrinsic::nvvm_shfl_sync_bfly_i32,
    Intrinsic::nvvm_shfl_sync_down_f32,
    Intrinsic::nvvm_shfl_sync_down_i32,
    Intrinsic::nvvm_shfl_sync_idx_f32,
    Intrinsic::nvvm_shfl_sync_idx_i32,
    Intrinsic::nvvm_shfl_sync_up_f32,
    Intrinsic::nvvm_shfl_sync_up_i32,
    Intrinsic::nvvm_sin_approx_f,
    Intrinsic::nvvm_sin_approx_ftz_f,
    Intrinsic::nvvm_sqrt_approx_f,
    Intrinsic::nvvm_sqrt_approx_ftz_f,
    Intrinsic::nvvm_sqrt_rn_f,
    Intrinsic::nvvm_vote_all_sync,
    Intrinsic::nvvm_vote_any_sync,
    Intrinsic::nvvm_vote_ballot_sync,
};

/// Selectable in f32 and narrower, sin, cos and tanh only as the hardware's approximations.
bool selectable_math(const CallInst &call) {
  Type *type = call.getType()->getScalarType();
  if (type->isDoubleTy()) return false;
  return call.getIntrinsicID() == Intrinsic::exp2 || call.hasApproxFunc();
}

bool selectable(const CallInst &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee) return call.isInlineAsm();
  if (!callee->isIntrinsic()) return !callee->isDeclaration();
  Intrinsic::ID id = callee->getIntrinsicID();
  switch (id) {
    case Intrinsic::exp2:
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::tanh: return selectable_math(call);
    default: return std::find(std::begin(kAlways), std::end(kAlways), id) != std::end(kAlways);
  }
}

}  // namespace

void check_selectable(const Module &module) {
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block) {
        const auto *call = dyn_cast<CallInst>(&instruction);
        if (!call || selectable(*call)) continue;
        const Function *callee = call->getCalledFunction();
        fail(ErrorCode::Internal,
             "kernel {}: no PTX for a call of {}; this is a bug in fuse, please report it",
             function.getName().str(), callee ? callee->getName().str() : "a pointer");
      }
}

}  // namespace fuse
