// Which values of a set hang together.
#pragma once

#include "passes/plan_graph.h"

namespace fuse {

/// Operands smaller than this do not make their readers neighbours.
inline constexpr double kMinSharedBytes = 64 << 10;

/// Kernels hang together through edges and shared operands of kMinSharedBytes: values that nothing
/// connects have no common positions. Its scratch memory makes a query linear in the values given.
class Connectivity {
 public:
  explicit Connectivity(const PlanGraph &graph)
      : p_(graph), stamp_(graph.values.size()), place_(graph.values.size()) {}

  /// Of values ascending.
  bool is_connected(std::span<const PlanId> values) { return join_all(values) <= 1; }

  /// The parts that hang together.
  std::vector<std::vector<PlanId>> parts(std::span<const PlanId> values);

 private:
  std::size_t join_all(std::span<const PlanId> values);
  std::size_t root(std::size_t i);

  const PlanGraph &p_;
  std::vector<std::uint32_t> stamp_;  // by value: epoch in which it has a place
  std::vector<std::size_t> place_;    // by value: in the set; of operands beside it, a reader's
  std::vector<std::size_t> parent_;   // by place
  std::uint32_t epoch_ = 0;
};

}  // namespace fuse
