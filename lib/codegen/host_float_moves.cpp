// Moves of 16-bit floats become moves of integers.
//
// Types, not values, change: every instruction that hands a half or bfloat on is built again over
// i16. Blocks are visited so that definitions come before uses, phis excepted, which are filled at
// the end.
#include "codegen/host_floats.h"

#include "ir/format.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/Instructions.h"

#include <vector>

namespace fuse {

namespace {

using namespace llvm;

class MoveRewriter {
 public:
  explicit MoveRewriter(Function &function) : function_(function) {}

  void run() {
    take_arguments_as_integers();
    ReversePostOrderTraversal<Function *> order(&function_);
    for (BasicBlock *block : order)
      for (Instruction &instruction : *block) rewrite(instruction);
    for (const auto &[phi, integer] : phis_)
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        integer->addIncoming(bits(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
    for (auto it = dead_.rbegin(); it != dead_.rend(); ++it) {
      (*it)->replaceAllUsesWith(PoisonValue::get((*it)->getType()));
      (*it)->eraseFromParent();
    }
  }

 private:
  Function &function_;
  DenseMap<Value *, Value *> bits_;
  std::vector<std::pair<PHINode *, PHINode *>> phis_;
  std::vector<Instruction *> dead_;

  /// The function's own type no longer fits: its caller makes another of the arguments' types.
  void take_arguments_as_integers() {
    for (Argument &argument : function_.args()) {
      if (!is_16bit(argument.getType())) continue;
      argument.mutateType(integer_type(argument.getType()));
      bits_[&argument] = &argument;
    }
  }

  Type *integer_type(Type *type) const {
    auto *i16 = Type::getInt16Ty(function_.getContext());
    auto *vector = dyn_cast<VectorType>(type);
    return vector ? static_cast<Type *>(VectorType::get(i16, vector->getElementCount())) : i16;
  }

  /// The integer that stands for a 16-bit float.
  Value *bits(Value *value) {
    auto known = bits_.find(value);
    if (known != bits_.end()) return known->second;
    auto *constant = dyn_cast<Constant>(value);
    FUSE_CHECK(constant, "a 16-bit float comes from no move");
    return ConstantExpr::getBitCast(constant, integer_type(value->getType()));
  }

  void rewrite(Instruction &instruction) {
    IRBuilder<> b(&instruction);
    Value *replacement = nullptr;
    if (is_16bit(instruction.getType())) {
      replacement = move(b, instruction);
      bits_[&instruction] = replacement;
      dead_.push_back(&instruction);
      return;
    }
    if (auto *store = dyn_cast<StoreInst>(&instruction)) {
      if (is_16bit(store->getValueOperand()->getType()))
        store->setOperand(0, bits(store->getValueOperand()));
      return;
    }
    auto *cast = dyn_cast<BitCastInst>(&instruction);
    if (!cast || !is_16bit(cast->getSrcTy())) return;
    replacement = b.CreateBitCast(bits(cast->getOperand(0)), cast->getType());
    cast->replaceAllUsesWith(replacement);
    dead_.push_back(cast);
  }

  Value *move(IRBuilder<> &b, Instruction &instruction) {
    Type *type = integer_type(instruction.getType());
    if (auto *load = dyn_cast<LoadInst>(&instruction)) return integer_load(b, *load, type);
    if (auto *phi = dyn_cast<PHINode>(&instruction)) {
      phis_.emplace_back(phi, b.CreatePHI(type, phi->getNumIncomingValues()));
      return phis_.back().second;
    }
    if (auto *select = dyn_cast<SelectInst>(&instruction))
      return b.CreateSelect(select->getCondition(), bits(select->getTrueValue()),
                            bits(select->getFalseValue()));
    if (auto *extract = dyn_cast<ExtractElementInst>(&instruction))
      return b.CreateExtractElement(bits(extract->getVectorOperand()), extract->getIndexOperand());
    if (auto *insert = dyn_cast<InsertElementInst>(&instruction))
      return b.CreateInsertElement(bits(insert->getOperand(0)), bits(insert->getOperand(1)),
                                   insert->getOperand(2));
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction))
      return b.CreateShuffleVector(bits(shuffle->getOperand(0)), bits(shuffle->getOperand(1)),
                                   shuffle->getShuffleMask());
    if (auto *freeze = dyn_cast<FreezeInst>(&instruction))
      return b.CreateFreeze(bits(freeze->getOperand(0)));
    auto *cast = dyn_cast<BitCastInst>(&instruction);
    FUSE_CHECK(cast, "{} hands on a 16-bit float", instruction.getOpcodeName());
    Value *source = cast->getOperand(0);
    return b.CreateBitCast(is_16bit(source->getType()) ? bits(source) : source, type);
  }

  static Value *integer_load(IRBuilder<> &b, LoadInst &load, Type *type) {
    LoadInst *integer =
        b.CreateAlignedLoad(type, load.getPointerOperand(), load.getAlign(), load.isVolatile());
    integer->setOrdering(load.getOrdering());
    return integer;
  }
};

}  // namespace

void move_16bit_floats_as_integers(Function &function) { MoveRewriter(function).run(); }

}  // namespace fuse
