// The iteration domain of a planned kernel: its dims, and where its values stand in them.
#pragma once

#include "ir/graph_data.h"
#include "ir/index.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace fuse {

/// An iteration dim: positions 0 .. extent-1; the extent uses constants and symbols only.
struct KernelDim {
  std::string name;
  Index extent;
};

/// Number of positions of these dims together.
Index extent_of(std::span<const KernelDim> dims, std::span<const DimId> ids);

/// What the reductions of a kernel do with a dim.
enum class DimRole : std::uint8_t {
  Kept,
  Row,     // folded; where results are read again along a dim, it is one of these
  Column,  // beside rows: folded by reductions whose results nobody reads along rows or columns
};

/// The operand of a reduction or scan: its element, one index per axis, and the dims folded,
/// ascending, or those of the scanned axis, outermost first.
struct Fold {
  std::vector<Index> operand;
  std::vector<DimId> dims;
};

struct Domain {
  std::vector<KernelDim> dims;
  std::vector<DimRole> roles;               // by dim
  std::map<NodeId, std::vector<Index>> at;  // element of each stored value, reduction and scan
  std::map<NodeId, Fold> folds;             // by reduction
  std::map<NodeId, Fold> scans;             // by scan; all have the same dims

  /// Ranges of the dims, for simplification.
  Ranges ranges() const;
  /// The dims that a position uses, ascending.
  static std::vector<DimId> dims_of(const std::vector<Index> &position);
  std::vector<DimId> with_role(DimRole role) const;
  bool is_folded(DimId d) const { return roles[d] != DimRole::Kept; }
  bool has_columns() const { return !with_role(DimRole::Column).empty(); }
  /// Whether a kernel that folds in loops has one over this dim.
  bool is_looped(DimId d) const {
    return roles[d] == (has_columns() ? DimRole::Column : DimRole::Row);
  }
};

}  // namespace fuse
