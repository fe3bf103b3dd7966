#include "codegen/control.h"

namespace fuse {

Values emit_branch(Builder &b, Cond condition, const std::function<Values()> &then,
                   const std::function<Values()> &otherwise) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto *first = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto *second = llvm::BasicBlock::Create(b.getContext(), "else", function);
  auto *end = llvm::BasicBlock::Create(b.getContext(), "end", function);
  b.CreateCondBr(condition.value, first, second);
  auto fill = [&](llvm::BasicBlock *&block, const std::function<Values()> &body) {
    b.SetInsertPoint(block);
    Values values = body();
    b.CreateBr(end);
    block = b.GetInsertBlock();
    return values;
  };
  Values from_first = fill(first, then), from_second = fill(second, otherwise), results;
  b.SetInsertPoint(end);
  for (std::size_t i = 0; i < from_first.size(); ++i) {
    llvm::PHINode *value = b.CreatePHI(from_first[i]->getType(), 2);
    value->addIncoming(from_first[i], first);
    value->addIncoming(from_second[i], second);
    results.push_back(value);
  }
  return results;
}

Values emit_while(Builder &b, const Values &start,
                  const std::function<llvm::Value *(const Values &)> &more,
                  const std::function<Values(const Values &)> &step) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *before = b.GetInsertBlock();
  auto *header = llvm::BasicBlock::Create(b.getContext(), "while", function);
  auto *body = llvm::BasicBlock::Create(b.getContext(), "step", function);
  auto *exit = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateBr(header);
  b.SetInsertPoint(header);
  Values now;
  std::vector<llvm::PHINode *> phis;
  for (llvm::Value *v : start) {
    phis.push_back(b.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
    now.push_back(phis.back());
  }
  b.CreateCondBr(more(now), body, exit);
  b.SetInsertPoint(body);
  Values next = step(now);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(exit);
  return now;
}

namespace {

/// A loop's name is its own first operand.
void keep_rolled(llvm::Instruction *branch) {
  llvm::LLVMContext &context = branch->getContext();
  llvm::Metadata *disable =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode *loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace

Values emit_repeat(Builder &b, std::uint32_t count, const Values &start,
                   const std::function<Values(const Values &)> &step) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *before = b.GetInsertBlock();
  auto *turn = llvm::BasicBlock::Create(b.getContext(), "turn", function);
  auto *exit = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateBr(turn);
  b.SetInsertPoint(turn);
  llvm::PHINode *left = b.CreatePHI(b.getInt32Ty(), 2);
  left->addIncoming(b.getInt32(count), before);
  Values now;
  for (llvm::Value *v : start) {
    now.push_back(b.CreatePHI(v->getType(), 2));
    llvm::cast<llvm::PHINode>(now.back())->addIncoming(v, before);
  }
  Values next = step(now);
  llvm::BasicBlock *latch = b.GetInsertBlock();
  for (std::size_t i = 0; i < now.size(); ++i)
    llvm::cast<llvm::PHINode>(now[i])->addIncoming(next[i], latch);
  left->addIncoming(b.CreateSub(left, b.getInt32(1)), latch);
  keep_rolled(b.CreateCondBr(b.CreateIsNotNull(left->getIncomingValue(1)), turn, exit));
  b.SetInsertPoint(exit);
  return next;
}

}  // namespace fuse
