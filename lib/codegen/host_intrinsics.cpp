// What GPU intrinsics mean on the host: fields of the context, plain IR, calls of emulators, or
// requests to the executor. Every NVVM intrinsic that selectable.cpp lets through has its row here.
#include "codegen/float8.h"
#include "codegen/hooks.h"
#include "codegen/host_abi.h"
#include "codegen/host_lower.h"
#include "ir/format.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <cfloat>
#include <optional>

namespace fuse {

namespace {

using namespace llvm;

std::optional<Collective> collective_for(Intrinsic::ID id) {
  switch (id) {
    case Intrinsic::nvvm_barrier_cta_sync_aligned_all: return Collective::BlockBarrier;
    case Intrinsic::nvvm_bar_warp_sync: return Collective::WarpBarrier;
    case Intrinsic::nvvm_barrier_cluster_wait:
    case Intrinsic::nvvm_barrier_cluster_wait_aligned: return Collective::ClusterWait;
    case Intrinsic::nvvm_shfl_sync_up_i32:
    case Intrinsic::nvvm_shfl_sync_up_f32: return Collective::ShuffleUp;
    case Intrinsic::nvvm_shfl_sync_down_i32:
    case Intrinsic::nvvm_shfl_sync_down_f32: return Collective::ShuffleDown;
    case Intrinsic::nvvm_shfl_sync_bfly_i32:
    case Intrinsic::nvvm_shfl_sync_bfly_f32: return Collective::ShuffleXor;
    case Intrinsic::nvvm_shfl_sync_idx_i32:
    case Intrinsic::nvvm_shfl_sync_idx_f32: return Collective::ShuffleIndex;
    case Intrinsic::nvvm_vote_all_sync: return Collective::VoteAll;
    case Intrinsic::nvvm_vote_any_sync: return Collective::VoteAny;
    case Intrinsic::nvvm_vote_ballot_sync: return Collective::Ballot;
    default: return std::nullopt;
  }
}

/// Also where the call's type is no longer the function's: its pointers are flat already.
Function *callee_of(const CallInst &call) { return dyn_cast<Function>(call.getCalledOperand()); }

class Lowering {
 public:
  Lowering(CallInst &call, HostBody &body) : call_(call), b_(&call), body_(body) {}

  /// What the call becomes; null for a call that has no result or that stays.
  Value *collective(Collective collective, std::uint32_t site);
  Value *hook(Hook id);
  Value *bulk_copy();
  Value *permute_bytes();
  Value *pack_float8(DType to);
  Value *unpack_e4m3();
  Value *e4m3_to_half(Value *bits);
  Value *intrinsic(Intrinsic::ID id);
  bool stays() const { return stays_; }

 private:
  Value *operand(unsigned i) { return call_.getArgOperand(i); }
  Value *field(std::size_t offset) { return body_.block_field(b_, offset, b_.getInt32Ty()); }
  Value *flush(Value *x);
  Value *emulate(const char *name, Value *x);
  Value *emulate_flushed(const char *name) { return flush(emulate(name, flush(operand(0)))); }
  Value *saturated_fma();
  Value *reciprocal_root(Value *x);
  Value *square_root(Value *x) { return b_.CreateUnaryIntrinsic(Intrinsic::sqrt, x); }
  Value *map_to_rank();
  Value *arrive();
  Value *fence();
  Value *warp_lane();

  CallInst &call_;
  IRBuilder<> b_;
  HostBody &body_;
  bool stays_ = false;
};

Value *Lowering::collective(Collective collective, std::uint32_t site) {
  Type *word = b_.getInt32Ty();
  constexpr std::size_t kOffsets[] = {offsetof(WarpRequests, mask), offsetof(WarpRequests, value),
                                      offsetof(WarpRequests, argument),
                                      offsetof(WarpRequests, clamp)};
  for (unsigned i = 0; i < call_.arg_size(); ++i) {
    Value *value = operand(i);
    value = value->getType()->isIntegerTy() ? b_.CreateZExt(value, word)
                                            : b_.CreateBitCast(value, word);
    b_.CreateStore(value, body_.request_field(b_, kOffsets[i]));
  }
  b_.CreateStore(b_.getInt32(call_word(collective, site)), body_.request_field(b_, 0));
  body_.suspend(b_, &call_);
  if (call_.getType()->isVoidTy()) return nullptr;
  Value *result = b_.CreateLoad(word, body_.request_field(b_, offsetof(WarpRequests, value)));
  return call_.getType()->isIntegerTy() ? b_.CreateTrunc(result, call_.getType())
                                        : b_.CreateBitCast(result, call_.getType());
}

/// Hooks hide an operand, or move words to and from memory.
Value *Lowering::hook(Hook id) {
  const HookInfo &hook = info(id);
  if (id == Hook::bulk_copy) return bulk_copy();
  if (id == Hook::unpack_e4m3) return unpack_e4m3();
  if (hook.memory == HookMemory::Sync) return nullptr;
  if (hook.memory == HookMemory::None) return b_.CreateFreeze(operand(0));
  Type *word = b_.getInt32Ty();
  bool reads = hook.memory == HookMemory::Read;
  std::size_t words = reads ? hook.results.size() : hook.operands.size() - 1;
  Align alignment(4 * words);
  Value *result = reads && words > 1 ? PoisonValue::get(call_.getType()) : nullptr;
  for (unsigned i = 0; i < words; ++i) {
    Value *address = b_.CreateConstInBoundsGEP1_64(word, operand(0), i);
    if (!reads) {
      b_.CreateAlignedStore(operand(i + 1), address, commonAlignment(alignment, 4 * i));
      continue;
    }
    Value *value = b_.CreateAlignedLoad(word, address, commonAlignment(alignment, 4 * i));
    result = words > 1 ? b_.CreateInsertValue(result, value, i) : value;
  }
  return result;
}

/// The bytes are there at once: barriers that count them let everyone pass.
Value *Lowering::bulk_copy() {
  b_.CreateMemCpy(operand(0), Align(16), operand(1), Align(16), operand(2));
  return nullptr;
}

/// Denormals to zeros of their sign, as the .ftz forms do with operands and results.
Value *Lowering::flush(Value *x) {
  Value *tiny = b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(Intrinsic::fabs, x),
                                 ConstantFP::get(x->getType(), FLT_MIN));
  Value *zero = b_.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::getZero(x->getType()), x);
  return b_.CreateSelect(tiny, zero, x);
}

Value *Lowering::emulate(const char *name, Value *x) {
  Type *single = b_.getFloatTy();
  if (x->getType()->getScalarType() != single)
    fail(ErrorCode::Unsupported, "the host has no {} of this type; use f32", name);
  FunctionCallee callee =
      call_.getModule()->getOrInsertFunction(name, FunctionType::get(single, {single}, false));
  auto *function = cast<Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  auto *vector = dyn_cast<FixedVectorType>(x->getType());
  if (!vector) return b_.CreateCall(callee, x);
  Value *result = PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result =
        b_.CreateInsertElement(result, b_.CreateCall(callee, b_.CreateExtractElement(x, i)), i);
  return result;
}

Value *Lowering::saturated_fma() {
  Type *type = call_.getType();
  Value *sum = b_.CreateIntrinsic(type, Intrinsic::fma, {operand(0), operand(1), operand(2)});
  Value *above = b_.CreateBinaryIntrinsic(Intrinsic::maxnum, sum, ConstantFP::getZero(type));
  return b_.CreateBinaryIntrinsic(Intrinsic::minnum, above, ConstantFP::get(type, 1.0));
}

Value *Lowering::reciprocal_root(Value *x) {
  Value *root = square_root(b_.CreateFPExt(x, b_.getDoubleTy()));
  return b_.CreateFPTrunc(b_.CreateFDiv(ConstantFP::get(b_.getDoubleTy(), 1.0), root),
                          b_.getFloatTy());
}

/// All blocks of a cluster have their shared memory at equal distances, by rank.
Value *Lowering::map_to_rank() {
  Value *stride = body_.block_field(b_, offsetof(BlockContext, shared_stride), b_.getInt64Ty());
  Value *ranks = b_.CreateSub(operand(1), field(offsetof(BlockContext, rank)));
  Value *distance = b_.CreateMul(b_.CreateSExt(ranks, b_.getInt64Ty()), stride);
  return b_.CreateGEP(b_.getInt8Ty(), operand(0), distance);
}

/// Bytes of two words by the digits of a constant selector.
Value *Lowering::permute_bytes() {
  const auto *selector = dyn_cast<ConstantInt>(operand(2));
  if (!selector) fail(ErrorCode::Unsupported, "the host permutes bytes by constants only");
  Type *pair = FixedVectorType::get(b_.getInt32Ty(), 2);
  Value *words = b_.CreateInsertElement(PoisonValue::get(pair), operand(0), std::uint64_t{0});
  words = b_.CreateInsertElement(words, operand(1), std::uint64_t{1});
  SmallVector<int> mask;
  for (unsigned i = 0; i < 4; ++i)
    mask.push_back(static_cast<int>(selector->getZExtValue() >> (4 * i) & 7));
  Value *bytes = b_.CreateBitCast(words, FixedVectorType::get(b_.getInt8Ty(), 8));
  return b_.CreateBitCast(b_.CreateShuffleVector(bytes, mask), b_.getInt32Ty());
}

Value *Lowering::pack_float8(DType to) {
  Value *upper = b_.CreateZExt(emit_f32_to_f8_saturating(b_, operand(0), to), b_.getInt16Ty());
  Value *lower = b_.CreateZExt(emit_f32_to_f8_saturating(b_, operand(1), to), b_.getInt16Ty());
  return b_.CreateOr(b_.CreateShl(upper, 8), lower);
}

/// The bits of an f16 from those of an e4m3, in words: values below the least normal, by way of
/// f32.
Value *Lowering::e4m3_to_half(Value *bits) {
  Value *digits = b_.CreateAnd(bits, 0x7f);
  Value *tiny = b_.CreateFMul(b_.CreateUIToFP(digits, b_.getFloatTy()),
                              ConstantFP::get(b_.getFloatTy(), 0x1p-9));
  tiny = b_.CreateLShr(b_.CreateBitCast(tiny, b_.getInt32Ty()), 13);
  tiny = b_.CreateSub(tiny, b_.getInt32((127 - 15) << 10));
  Value *half = b_.CreateAdd(b_.CreateShl(digits, 7), b_.getInt32((15 - 7) << 10));
  half = b_.CreateSelect(b_.CreateICmpULT(digits, b_.getInt32(8)), tiny, half);
  half = b_.CreateSelect(b_.CreateICmpEQ(digits, b_.getInt32(0)), digits, half);
  half = b_.CreateSelect(b_.CreateICmpEQ(digits, b_.getInt32(0x7f)), b_.getInt32(0x7fff), half);
  return b_.CreateOr(half, b_.CreateShl(b_.CreateAnd(bits, 0x80), 8));
}

Value *Lowering::unpack_e4m3() {
  Value *pair = b_.CreateZExt(operand(0), b_.getInt32Ty());
  return b_.CreateOr(e4m3_to_half(pair), b_.CreateShl(e4m3_to_half(b_.CreateLShr(pair, 8)), 16));
}

Value *Lowering::arrive() {
  Value *address = body_.request_field(b_, offsetof(WarpRequests, arrivals));
  Value *count = b_.CreateLoad(b_.getInt32Ty(), address);
  b_.CreateStore(b_.CreateAdd(count, b_.getInt32(1)), address);
  return nullptr;
}

Value *Lowering::fence() {
  b_.CreateFence(AtomicOrdering::SequentiallyConsistent);
  return nullptr;
}

Value *Lowering::warp_lane() { return b_.CreateAnd(body_.thread(), kLanes - 1); }

Value *Lowering::intrinsic(Intrinsic::ID id) {
  switch (id) {
    case Intrinsic::nvvm_read_ptx_sreg_tid_x: return body_.thread();
    case Intrinsic::nvvm_read_ptx_sreg_laneid: return warp_lane();
    case Intrinsic::nvvm_read_ptx_sreg_ntid_x: return field(offsetof(BlockContext, threads));
    case Intrinsic::nvvm_read_ptx_sreg_ctaid_x: return field(offsetof(BlockContext, block));
    case Intrinsic::nvvm_read_ptx_sreg_nctaid_x: return field(offsetof(BlockContext, grid));
    case Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank: return field(offsetof(BlockContext, rank));
    case Intrinsic::nvvm_read_ptx_sreg_cluster_nctarank:
      return field(offsetof(BlockContext, cluster));

    case Intrinsic::nvvm_barrier_cluster_arrive:
    case Intrinsic::nvvm_barrier_cluster_arrive_aligned:
    case Intrinsic::nvvm_barrier_cluster_arrive_relaxed:
    case Intrinsic::nvvm_barrier_cluster_arrive_relaxed_aligned: return arrive();
    case Intrinsic::nvvm_mapa_shared_cluster: return map_to_rank();
    case Intrinsic::nvvm_prmt: return permute_bytes();
    case Intrinsic::nvvm_membar_cta:
    case Intrinsic::nvvm_membar_gl:
    case Intrinsic::nvvm_membar_sys: return fence();

    case Intrinsic::exp2:
    case Intrinsic::nvvm_ex2_approx: return emulate("fuse.host.ex2", operand(0));
    case Intrinsic::nvvm_ex2_approx_ftz: return emulate_flushed("fuse.host.ex2");
    case Intrinsic::nvvm_lg2_approx_f: return emulate("fuse.host.lg2", operand(0));
    case Intrinsic::nvvm_lg2_approx_ftz_f: return emulate_flushed("fuse.host.lg2");
    case Intrinsic::sin:
    case Intrinsic::nvvm_sin_approx_f: return emulate("fuse.host.sin", operand(0));
    case Intrinsic::nvvm_sin_approx_ftz_f: return emulate_flushed("fuse.host.sin");
    case Intrinsic::cos:
    case Intrinsic::nvvm_cos_approx_f: return emulate("fuse.host.cos", operand(0));
    case Intrinsic::nvvm_cos_approx_ftz_f: return emulate_flushed("fuse.host.cos");
    case Intrinsic::tanh: return emulate("fuse.host.tanh", operand(0));

    case Intrinsic::nvvm_ff_to_e4m3x2_rn: return pack_float8(DType::F8E4M3);
    case Intrinsic::nvvm_ff_to_e5m2x2_rn: return pack_float8(DType::F8E5M2);

    case Intrinsic::nvvm_fma_rn_sat_f: return saturated_fma();
    case Intrinsic::nvvm_div_full: return b_.CreateFDiv(operand(0), operand(1));
    case Intrinsic::nvvm_rcp_rn_f:
      return b_.CreateFDiv(ConstantFP::get(b_.getFloatTy(), 1.0), operand(0));
    case Intrinsic::nvvm_rcp_approx_ftz_f:
      return flush(b_.CreateFDiv(ConstantFP::get(b_.getFloatTy(), 1.0), flush(operand(0))));
    case Intrinsic::nvvm_rsqrt_approx_f: return reciprocal_root(operand(0));
    case Intrinsic::nvvm_rsqrt_approx_ftz_f: return flush(reciprocal_root(flush(operand(0))));
    case Intrinsic::nvvm_sqrt_rn_f:
    case Intrinsic::nvvm_sqrt_approx_f: return square_root(operand(0));
    case Intrinsic::nvvm_sqrt_approx_ftz_f: return flush(square_root(flush(operand(0))));
    default: break;
  }
  StringRef name = callee_of(call_)->getName();
  bool is_plain = name.starts_with("llvm.") && !name.starts_with("llvm.nvvm.");
  if (callee_of(call_)->isDeclaration() && !is_plain)
    fail(ErrorCode::Unsupported, "the host executor has no {}", name.str());
  stays_ = true;
  return nullptr;
}

void lower_call(CallInst &call, HostBody &body, std::uint32_t &site) {
  Function *callee = callee_of(call);
  if (!callee) fail(ErrorCode::Unsupported, "the host executor runs no inline assembly");
  Lowering lowering(call, body);
  Value *value = nullptr;
  if (std::optional<Hook> hook = hook_of(*callee))
    value = lowering.hook(*hook);
  else if (std::optional<Collective> collective = collective_for(callee->getIntrinsicID()))
    value = lowering.collective(*collective, ++site);
  else
    value = lowering.intrinsic(callee->getIntrinsicID());
  if (lowering.stays()) return;
  if (value) call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

bool is_arrival(Intrinsic::ID id) {
  return id == Intrinsic::nvvm_barrier_cluster_arrive ||
         id == Intrinsic::nvvm_barrier_cluster_arrive_aligned ||
         id == Intrinsic::nvvm_barrier_cluster_arrive_relaxed ||
         id == Intrinsic::nvvm_barrier_cluster_arrive_relaxed_aligned;
}

}  // namespace

bool has_collectives(const Function &function) {
  for (const Instruction &instruction : instructions(function))
    if (const auto *call = dyn_cast<IntrinsicInst>(&instruction))
      if (collective_for(call->getIntrinsicID()) || is_arrival(call->getIntrinsicID())) return true;
  return false;
}

void lower_intrinsics_for_host(Function &function, HostBody &body) {
  std::vector<CallInst *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallInst>(&instruction)) calls.push_back(call);
  std::uint32_t site = 0;
  for (CallInst *call : calls) lower_call(*call, body, site);
}

}  // namespace fuse
