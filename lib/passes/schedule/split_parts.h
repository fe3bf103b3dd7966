// Folds whose states go through memory: blocks store their parts, the last block combines them.
#pragma once

#include "passes/schedule/body.h"
#include "passes/schedule/kernel_builder.h"
#include "passes/schedule/mapping.h"

#include <functional>

namespace fuse {

/// Result i of the monoid belongs to node i, or all of them to one node.
struct SplitFold {
  Monoid monoid = Monoid::Sum;
  std::vector<NodeId> nodes;
  std::vector<BufferId> buffers;  // its parts, one for each result of the monoid
};

/// Builds the end of a Split kernel, in one step or two.
class PartCombiner {
 public:
  /// Adds the mapping's dims and layouts to the kernel.
  PartCombiner(const Domain &domain, const Mapping &mapping, BuiltKernel &built,
               BodyBuilder &builder, std::vector<SplitFold> folds);

  /// After the loops: parts, and what the last block does with the results.
  void combine(std::vector<Stmt> &body, const std::function<void()> &store_results);

 private:
  const Domain &domain_;
  const Mapping &mapping_;
  BuiltKernel &built_;
  BodyBuilder &builder_;
  std::vector<SplitFold> folds_;

  /// The element of a part that a state belongs to, and the number of elements.
  struct Slot {
    Index offset, count;
    std::vector<DimId> dims;
  };
  Slot slot_of(const std::vector<DimId> &dims) const;
  BufferId add_workspace(const std::string &name, DType dtype, std::vector<Index> shape,
                         KernelArgument::Kind kind);
  void store_parts(const Index &number, const Index &parts, std::vector<Stmt> &body);
  void read_parts(const Index &number, DimId part, const char *loop, std::vector<Stmt> &body);
  void read_fold(const SplitFold &fold, const Index &number, DimId part, std::vector<Stmt> &body);
  void combine_groups(std::vector<Stmt> &body);
  void enter(LayoutId layout, std::vector<Stmt> &body);
  Stmt last_block(const Index &counter, const Index &counters, const Index &blocks, LayoutId layout,
                  std::vector<Stmt> body);
};

}  // namespace fuse
