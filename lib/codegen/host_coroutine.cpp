// The state of a thread in a host function: fields, suspension, the end.
//
// A coroutine has the switched-resume form of LLVM: its frame is the executor's, it is never
// destroyed, and it ends by returning after it has written Collective::Done.
#include "codegen/host_abi.h"
#include "codegen/host_lower.h"

#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace fuse {

using namespace llvm;

HostBody::HostBody(Function &body, bool suspends)
    : body_(body), suspends_(suspends), block_(body.getArg(0)), thread_(body.getArg(1)) {
  if (suspends_) call_ = body.getArg(2);
}

Value *HostBody::block_field(IRBuilder<> &b, std::size_t offset, Type *type) {
  auto *load = b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), block_, offset));
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(b.getContext(), {}));
  return load;
}

Value *HostBody::request_field(IRBuilder<> &b, std::size_t offset) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), call_, offset);
}

/// Asked for the size of a frame, the function returns before it touches one.
void HostBody::return_without_frame(IRBuilder<> &b, Value *frame) {
  Value *size = b.CreateIntrinsic(b.getInt64Ty(), Intrinsic::coro_size, ArrayRef<Value *>{});
  b.CreateStore(size, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), block_,
                                                   offsetof(BlockContext, frame_bytes)));
  BasicBlock *start = b.GetInsertBlock();
  BasicBlock *rest = SplitBlock(start, b.GetInsertPoint());
  BasicBlock *no_frame = BasicBlock::Create(b.getContext(), "no_frame", &body_);
  start->getTerminator()->eraseFromParent();
  b.SetInsertPoint(no_frame);
  b.CreateRet(ConstantPointerNull::get(b.getPtrTy()));
  b.SetInsertPoint(start);
  b.CreateCondBr(b.CreateIsNull(frame), no_frame, rest);
  b.SetInsertPoint(rest, rest->getFirstInsertionPt());
}

void HostBody::begin_coroutine(IRBuilder<> &b) {
  LLVMContext &context = b.getContext();
  body_.setPresplitCoroutine();
  Value *frame = body_.getArg(3);
  Value *null = ConstantPointerNull::get(b.getPtrTy());
  Value *id =
      b.CreateIntrinsic(Intrinsic::coro_id, {}, {b.getInt32(kFrameAlign), null, null, null});
  return_without_frame(b, frame);
  Value *handle = b.CreateIntrinsic(Intrinsic::coro_begin, {}, {id, frame});

  end_ = BasicBlock::Create(context, "end", &body_);
  IRBuilder<> e(end_);
  e.CreateIntrinsic(Intrinsic::coro_end, {},
                    {handle, e.getFalse(), ConstantTokenNone::get(context)});
  e.CreateRet(handle);
}

void HostBody::suspend(IRBuilder<> &b, Instruction *at) {
  BasicBlock *before = at->getParent();
  BasicBlock *resumed = SplitBlock(before, at);
  before->getTerminator()->eraseFromParent();
  b.SetInsertPoint(before);
  Value *how = b.CreateIntrinsic(Intrinsic::coro_suspend, {},
                                 {ConstantTokenNone::get(b.getContext()), b.getFalse()});
  SwitchInst *next = b.CreateSwitch(how, end_, 2);
  next->addCase(b.getInt8(0), resumed);
  next->addCase(b.getInt8(1), end_);
  b.SetInsertPoint(at);
}

void HostBody::finish_returns() {
  if (!suspends_) return;
  for (BasicBlock &block : body_) {
    auto *ret = dyn_cast<ReturnInst>(block.getTerminator());
    if (!ret || ret->getReturnValue()) continue;
    IRBuilder<> b(ret);
    b.CreateStore(b.getInt32(call_word(Collective::Done, 0)), call_);
    b.CreateBr(end_);
    ret->eraseFromParent();
  }
}

}  // namespace fuse
