// Random words: Philox4x32-10, a call for the words of neighbours that share one.
#include "codegen/emitter.h"
#include "ir/philox.h"

#include <array>

namespace fuse {

namespace {

using Words = std::array<llvm::Value *, kPhiloxWords>;

struct Halves {
  llvm::Value *low, *high;
};

Halves split(Builder &b, llvm::Value *x) {
  llvm::Type *word = b.getInt32Ty();
  return {b.CreateTrunc(x, word), b.CreateTrunc(b.CreateLShr(x, 32), word)};
}

Halves multiply(Builder &b, llvm::Value *x, std::uint32_t by) {
  llvm::Type *wide = b.getInt64Ty();
  return split(b, b.CreateMul(b.CreateZExt(x, wide), llvm::ConstantInt::get(wide, by)));
}

Words emit_philox(Builder &b, Words c, Halves key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    Halves p = multiply(b, c[0], kPhiloxMultipliers[0]),
           q = multiply(b, c[2], kPhiloxMultipliers[1]);
    c = {b.CreateXor(b.CreateXor(q.high, c[1]), key.low), q.low,
         b.CreateXor(b.CreateXor(p.high, c[3]), key.high), p.low};
    key = {b.CreateAdd(key.low, b.getInt32(kPhiloxKeySteps[0])),
           b.CreateAdd(key.high, b.getInt32(kPhiloxKeySteps[1]))};
  }
  return c;
}

llvm::Value *bit_of(Builder &b, llvm::Value *element, std::uint64_t bit) {
  llvm::Type *type = element->getType();
  return b.CreateICmpNE(b.CreateAnd(element, llvm::ConstantInt::get(type, bit)),
                        llvm::ConstantInt::get(type, 0));
}

/// Of the four words those from `element` on, from a multiple of `count`.
Words pick(Builder &b, Words words, llvm::Value *element, int count) {
  if (count <= 2) {
    llvm::Value *upper = bit_of(b, element, 2);
    words = {b.CreateSelect(upper, words[2], words[0]), b.CreateSelect(upper, words[3], words[1])};
  }
  if (count == 1) words[0] = b.CreateSelect(bit_of(b, element, 1), words[1], words[0]);
  return words;
}

}  // namespace

/// The words that share a call with the slot, in the slots of the result.
void Emitter::emit_random_call(const Stmt &stmt, const Index &placed, const Assignment &slot,
                               DimId vec) {
  Assignment first = slot;
  if (vec != kNone) first = advance(first, vec, -(*value_of(slot, vec) % stmt.vector));
  unsigned bits = fits_32(placed) ? 32 : 64;
  llvm::Value *element = materialize(emit_offset(placed, first, bits), bits);
  llvm::Value *block = b_.CreateZExt(b_.CreateLShr(element, 2), b_.getInt64Ty());
  Halves counter = split(b_, block), stream = split(b_, b_.getInt64(stmt.stream));
  Halves key = split(b_, value_at(stmt.operands[0], first));
  Words words = emit_philox(b_, {counter.low, counter.high, stream.low, stream.high}, key);
  words = pick(b_, words, element, stmt.vector);
  SlotSpace space = slots_of(stmt.results[0]);
  for (int i = 0; i < stmt.vector; ++i)
    values_[stmt.results[0]][space.slot_at(advance(first, vec, i))] =
        words[static_cast<std::size_t>(i)];
}

/// A call gives the words of neighbours too, which wait for their turn.
Values Emitter::random_words(const Stmt &stmt, std::span<const Assignment> slots) {
  ValueId result = stmt.results[0];
  Index placed = map_.place(stmt.index, layout_);
  DimId vec = kNone;
  if (stmt.vector > 1) {
    const std::vector<DimId> &dims = kernel_.values[result].dims;
    vec = map_.axis(layout_, map_.vector_axis(layout_, stmt.index, stmt.vector, dims)).vec;
  }
  SlotSpace space = slots_of(result);
  Values words;
  for (const Assignment &slot : slots) {
    std::size_t at = space.slot_at(slot);
    if (!values_[result][at]) emit_random_call(stmt, placed, slot, vec);
    words.push_back(values_[result][at]);
  }
  return words;
}

}  // namespace fuse
