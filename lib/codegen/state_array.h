// States of several slots in shared memory, for exchange between warps or blocks.
#pragma once

#include "codegen/monoid.h"

#include <cstdint>
#include <vector>

namespace fuse {

/// An array [component][slot][entry]. A component that is a constant is the same everywhere: it is
/// neither stored nor loaded.
class StateArray {
 public:
  StateArray(Builder &builder, llvm::Value *region, std::vector<DType> dtypes, std::size_t slots,
             std::int64_t entries);

  llvm::Value *region() const { return region_; }
  /// Into a region like this one.
  void store(llvm::Value *region, const std::vector<State> &states, llvm::Value *entry);
  /// The state of a slot at entry + offset of a region like this one; `own` tells the constants.
  State load(llvm::Value *region, const State &own, std::size_t slot, llvm::Value *entry,
             std::int64_t offset);

 private:
  llvm::Value *address(llvm::Value *region, std::size_t component, std::size_t slot,
                       llvm::Value *entry, std::int64_t offset);

  Builder &b_;
  llvm::Value *region_;
  std::vector<DType> dtypes_;
  std::int64_t entries_;
  std::vector<std::int64_t> starts_;  // by component, bytes
};

}  // namespace fuse
