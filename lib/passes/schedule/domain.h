// The iteration domain of a planned kernel: its dims, and where each node stands in them.
#pragma once

#include "ir/kernel.h"
#include "ir/plan.h"
#include "passes/schedule/index_map.h"

#include <map>
#include <optional>
#include <vector>

namespace fuse {

struct Domain {
  std::vector<KernelDim> dims;
  std::vector<bool> reduced;      // by dim: folded by the kernel's reductions
  std::map<NodeId, Position> at;  // element of each placed node, over the dims

  /// Ranges of the dims, for simplification.
  Ranges ranges() const;
  /// The dims that a position uses, ascending.
  static std::vector<DimId> dims_of(const Position &position);
  std::vector<DimId> reduced_dims() const;
  bool is_reduced(DimId d) const { return reduced[d]; }
};

/// Places the nodes of a kernel over common dims: the axes of its largest operand of a reduction,
/// or of its largest stored value, split where reshapes ask for it. Every stored value and every
/// reduction is placed, and all reductions fold the same dims; nullopt where that cannot be, with
/// the reason.
std::optional<Domain> analyze_domain(const GraphData &graph, const PlannedKernel &kernel,
                                     const Bindings &sizes, std::string *reason = nullptr);

/// Elements of a shape, symbols without a value counting 1,024; for comparisons only.
double approximate_elements(const Shape &shape, const Bindings &sizes);

}  // namespace fuse
