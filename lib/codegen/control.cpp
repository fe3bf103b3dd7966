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

}  // namespace fuse
