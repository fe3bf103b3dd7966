// Scans over several blocks: their totals go through memory, and each block goes on from what the
// blocks before it come to.
#pragma once

#include "passes/schedule/body.h"
#include "passes/schedule/kernel_builder.h"
#include "passes/schedule/mapping.h"

namespace fuse {

/// What the blocks of a SplitScan leave to one another, in the two kernels of it.
class ScanStarts {
 public:
  /// `domain`: with_parts() of the mapping. The scans run in one direction.
  ScanStarts(const GraphData &graph, const Domain &domain, const Mapping &mapping,
             std::vector<NodeId> scans)
      : g_(graph), domain_(domain), mapping_(mapping), scans_(std::move(scans)) {}

  /// The end of the first kernel: stores the totals of its blocks, by scan; the last block scans
  /// them and stores where each block starts.
  void store(BuiltKernel &built, BodyBuilder &builder,
             const std::vector<std::vector<ValueId>> &totals, std::vector<Stmt> &body);

  /// The states that scan `n` of the second kernel starts from.
  std::vector<ValueId> load(BuiltKernel &built, BodyBuilder &builder, std::size_t n,
                            std::vector<Stmt> &body) const;

 private:
  std::string name_of(const char *what, std::size_t scan, std::size_t component) const;
  void choose_prefix(const Kernel &kernel);
  Index slot_of(const Index &part) const;
  Index num_slots() const;
  BufferId add_buffer(BuiltKernel &built, const std::string &name, DType dtype,
                      BufferRole role) const;
  ValueId load(BodyBuilder &builder, BufferId buffer, DType dtype, const Index &part,
               std::vector<Stmt> &body) const;
  Stmt store(BufferId buffer, ValueId value, const Index &part) const;
  Stmt last_block(BuiltKernel &built, std::vector<Stmt> body) const;

  const GraphData &g_;
  const Domain &domain_;
  const Mapping &mapping_;
  std::vector<NodeId> scans_;
  std::string prefix_;                      // of buffers
  std::vector<std::vector<DType>> states_;  // by scan
};

/// The mapping's dims behind those of the domain.
Domain with_parts(Domain domain, const Mapping &mapping);

/// Drops parameters that the body does not name, and ties the buffers of the second kernel that
/// hold what the first left to it.
void join_kernels(BuiltKernel &first, BuiltKernel second);

}  // namespace fuse
