// Layout of states in shared memory: components on 16-byte boundaries, so that neighbouring entries
// may be read together.
#include "codegen/state_array.h"

#include "ir/shared_memory.h"

namespace fuse {

StateArray::StateArray(Builder &builder, llvm::Value *region, std::vector<DType> dtypes,
                       std::size_t slots, std::int64_t entries)
    : b_(builder),
      region_(region),
      dtypes_(std::move(dtypes)),
      entries_(entries),
      starts_(state_starts(dtypes_, slots, entries)) {}

void StateArray::store(llvm::Value *region, const std::vector<State> &states, llvm::Value *entry) {
  for (std::size_t s = 0; s < states.size(); ++s)
    for (std::size_t c = 0; c < states[s].size(); ++c)
      if (!llvm::isa<llvm::Constant>(states[s][c]))
        b_.CreateStore(states[s][c], address(region, c, s, entry, 0));
}

State StateArray::load(llvm::Value *region, const State &own, std::size_t slot, llvm::Value *entry,
                       std::int64_t offset) {
  State state = own;
  for (std::size_t c = 0; c < state.size(); ++c)
    if (!llvm::isa<llvm::Constant>(own[c]))
      state[c] = b_.CreateLoad(own[c]->getType(), address(region, c, slot, entry, offset));
  return state;
}

llvm::Value *StateArray::address(llvm::Value *region, std::size_t component, std::size_t slot,
                                 llvm::Value *entry, std::int64_t offset) {
  auto size = static_cast<std::int64_t>(size_of(dtypes_[component]));
  std::int64_t constant =
      starts_[component] + (static_cast<std::int64_t>(slot) * entries_ + offset) * size;
  llvm::Value *base =
      b_.CreateGEP(memory_type_of(dtypes_[component], b_.getContext()), region, entry);
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<std::uint64_t>(constant));
}

}  // namespace fuse
