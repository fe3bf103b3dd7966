// Shuffles of values of any type, in words of 32 bits.
#include "codegen/warp.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace fuse {

namespace {

llvm::Intrinsic::ID intrinsic_of(Shuffle mode, bool is_float) {
  switch (mode) {
    case Shuffle::Butterfly:
      return is_float ? llvm::Intrinsic::nvvm_shfl_sync_bfly_f32
                      : llvm::Intrinsic::nvvm_shfl_sync_bfly_i32;
    case Shuffle::Up:
      return is_float ? llvm::Intrinsic::nvvm_shfl_sync_up_f32
                      : llvm::Intrinsic::nvvm_shfl_sync_up_i32;
    case Shuffle::Index:
      return is_float ? llvm::Intrinsic::nvvm_shfl_sync_idx_f32
                      : llvm::Intrinsic::nvvm_shfl_sync_idx_i32;
  }
  return {};
}

llvm::Value *shuffle_word(Builder &b, Shuffle mode, llvm::Value *word, llvm::Value *lane,
                          std::uint32_t members) {
  llvm::Value *clamp = b.getInt32(mode == Shuffle::Up ? 0 : 31);
  return b.CreateIntrinsic(word->getType(), intrinsic_of(mode, word->getType()->isFloatTy()),
                           {b.getInt32(members), word, lane, clamp});
}

llvm::Value *shuffle_value(Builder &b, Shuffle mode, llvm::Value *value, llvm::Value *lane,
                           std::uint32_t members) {
  if (llvm::isa<llvm::Constant>(value)) return value;
  llvm::Type *type = value->getType();
  if (type->isFloatTy() || type->isIntegerTy(32))
    return shuffle_word(b, mode, value, lane, members);
  unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Type *integer = b.getIntNTy(bits), *i32 = b.getInt32Ty();
  llvm::Value *word = b.CreateBitCast(value, integer);
  llvm::Value *low = shuffle_word(b, mode, b.CreateZExtOrTrunc(word, i32), lane, members);
  llvm::Value *moved = b.CreateZExtOrTrunc(low, integer);
  if (bits == 64) {
    llvm::Value *upper = b.CreateTrunc(b.CreateLShr(word, 32), i32);
    llvm::Value *high = shuffle_word(b, mode, upper, lane, members);
    moved = b.CreateOr(moved, b.CreateShl(b.CreateZExt(high, integer), 32));
  }
  return b.CreateBitCast(moved, type);
}

}  // namespace

State shuffle(Builder &b, Shuffle mode, const State &state, llvm::Value *lane,
              std::uint32_t members) {
  State moved;
  for (llvm::Value *component : state)
    moved.push_back(shuffle_value(b, mode, component, lane, members));
  return moved;
}

State select_state(Builder &b, llvm::Value *condition, const State &yes, const State &no) {
  State state;
  for (std::size_t c = 0; c < yes.size(); ++c)
    state.push_back(b.CreateSelect(condition, yes[c], no[c]));
  return state;
}

}  // namespace fuse
