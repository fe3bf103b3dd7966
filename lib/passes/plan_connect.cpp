// Union-find over the places of values in their set.
#include "passes/plan_connect.h"

#include <algorithm>
#include <numeric>

namespace fuse {

std::size_t Connectivity::root(std::size_t i) {
  while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
  return i;
}

/// Joins what an edge or a large operand connects; returns how many parts are left.
std::size_t Connectivity::join_all(std::span<const PlanId> values) {
  ++epoch_;
  parent_.resize(values.size());
  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    stamp_[values[i]] = epoch_;
    place_[values[i]] = i;
  }
  std::size_t parts = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const PlanEdge &e : p_.edges(values[i])) {
      if (stamp_[e.from] == epoch_) {
        std::size_t a = root(i), b = root(place_[e.from]);
        parts -= a != b;
        parent_[a] = b;
      } else if (p_.values[e.from].bytes >= kMinSharedBytes) {
        stamp_[e.from] = epoch_;
        place_[e.from] = i;
      }
    }
  }
  return parts;
}

std::vector<std::vector<PlanId>> Connectivity::parts(std::span<const PlanId> values) {
  std::vector<std::vector<PlanId>> parts(values.size());  // by root
  join_all(values);
  for (std::size_t i = 0; i < values.size(); ++i) parts[root(i)].push_back(values[i]);
  std::erase_if(parts, [](const auto &part) { return part.empty(); });
  return parts;
}

}  // namespace fuse
