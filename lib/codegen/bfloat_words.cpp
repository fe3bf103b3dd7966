#include "codegen/bfloat_words.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/Local.h"

#include <array>
#include <map>
#include <vector>

namespace fuse {

namespace {

using namespace llvm;

bool is_widening(const Value *value) {
  const auto *cast = dyn_cast<FPExtInst>(value);
  return cast && cast->getSrcTy()->isBFloatTy() && cast->getDestTy()->isFloatTy();
}

/// Of one element, or of two.
bool is_rounding(const Instruction &instruction) {
  const auto *cast = dyn_cast<FPTruncInst>(&instruction);
  if (!cast || !cast->getSrcTy()->getScalarType()->isFloatTy() ||
      !cast->getDestTy()->getScalarType()->isBFloatTy())
    return false;
  const auto *vector = dyn_cast<FixedVectorType>(cast->getDestTy());
  return !vector || vector->getNumElements() == 2;
}

/// The number of the element that this picks from a vector; -1 for all else.
int picked_element(const Value *value) {
  const auto *pick = dyn_cast<ExtractElementInst>(value);
  const auto *number = pick ? dyn_cast<ConstantInt>(pick->getIndexOperand()) : nullptr;
  return number ? static_cast<int>(number->getZExtValue()) : -1;
}

bool is_only_widened(const Value &value) {
  return all_of(value.users(), [](const User *user) {
    return is_widening(user) || (picked_element(user) >= 0 && is_only_widened(*user));
  });
}

Value *pack(IRBuilder<> &b, Value *high, Value *low) {
  return b.CreateIntrinsic(Intrinsic::nvvm_ff2bf16x2_rn, {}, {high, low});
}

/// The rounded element, in f32, replaces what widens it.
void round_alone(Value &rounded, IRBuilder<> &b, Value *element) {
  Value *pair = pack(b, element, ConstantFP::getZero(b.getFloatTy()));
  Value *wide = b.CreateBitCast(pair, b.getFloatTy());
  for (User *user : make_early_inc_range(rounded.users()))
    if (is_widening(user)) user->replaceAllUsesWith(wide);
  if (!is_only_widened(rounded)) rounded.replaceAllUsesWith(b.CreateExtractElement(pair, 1));
}

void round_in_words(Instruction &rounding) {
  IRBuilder<> b(&rounding);
  Value *operand = rounding.getOperand(0);
  if (!rounding.getType()->isVectorTy()) {
    if (any_of(rounding.users(), is_widening)) round_alone(rounding, b, operand);
  } else if (is_only_widened(rounding)) {
    for (User *user : rounding.users())
      round_alone(*user, b, b.CreateExtractElement(operand, picked_element(user)));
  } else {
    Value *low = b.CreateExtractElement(operand, std::uint64_t{0});
    rounding.replaceAllUsesWith(pack(b, b.CreateExtractElement(operand, 1), low));
  }
}

class Widener {
 public:
  void widen(Instruction &widening) {
    int element = picked_element(widening.getOperand(0));
    if (element < 0) return;
    Value *vector = cast<ExtractElementInst>(widening.getOperand(0))->getVectorOperand();
    auto *type = dyn_cast<FixedVectorType>(vector->getType());
    auto *definition = dyn_cast<Instruction>(vector);
    if (!type || type->getNumElements() % 2 != 0 || !definition) return;
    Value *word = word_of(*definition, element / 2);
    IRBuilder<> b(&widening);
    Value *bits = element % 2 == 0 ? b.CreateShl(word, 16) : b.CreateAnd(word, 0xffff0000);
    widening.replaceAllUsesWith(b.CreateBitCast(bits, b.getFloatTy()));
  }

 private:
  std::map<std::pair<Instruction *, int>, Value *> words_;

  Value *word_of(Instruction &vector, int number) {
    Value *&word = words_[{&vector, number}];
    if (word) return word;
    IRBuilder<> b(vector.getParent(), *vector.getInsertionPointAfterDef());
    std::array<int, 2> elements = {2 * number, 2 * number + 1};
    return word = b.CreateBitCast(b.CreateShuffleVector(&vector, elements), b.getInt32Ty());
  }
};

template <class Predicate>
std::vector<Instruction *> instructions_that(Function &function, const Predicate &predicate) {
  std::vector<Instruction *> found;
  for (Instruction &instruction : instructions(function))
    if (predicate(instruction)) found.push_back(&instruction);
  return found;
}

void convert_in_words(Function &function) {
  SmallVector<WeakTrackingVH> dead;
  for (Instruction *rounding : instructions_that(function, is_rounding)) {
    round_in_words(*rounding);
    dead.emplace_back(rounding);
  }
  Widener widener;
  auto is_wide = [](const Instruction &i) { return is_widening(&i); };
  for (Instruction *widening : instructions_that(function, is_wide)) {
    if (!widening->use_empty()) widener.widen(*widening);
    dead.emplace_back(widening);
  }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
}

}  // namespace

void convert_bfloats_in_words(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration()) convert_in_words(function);
}

}  // namespace fuse
