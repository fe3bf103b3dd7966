// Queries on domains.
#include "ir/domain.h"

#include <set>

namespace fuse {

Index extent_of(std::span<const KernelDim> dims, std::span<const DimId> ids) {
  std::vector<Index> extents;
  for (DimId d : ids) extents.push_back(dims[d].extent);
  return product(extents);
}

Ranges Domain::ranges() const {
  Ranges ranges;
  ranges.extent = [this](DimId d) -> std::optional<Index> { return dims[d].extent; };
  return ranges;
}

std::vector<DimId> Domain::dims_of(const std::vector<Index> &position) {
  std::set<DimId> dims;
  for (const Index &index : position)
    for (DimId d : index.dims()) dims.insert(d);
  return {dims.begin(), dims.end()};
}

std::vector<DimId> Domain::with_role(DimRole role) const {
  std::vector<DimId> result;
  for (DimId d = 0; d < dims.size(); ++d)
    if (roles[d] == role) result.push_back(d);
  return result;
}

}  // namespace fuse
