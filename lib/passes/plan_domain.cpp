// Atoms of the group's space become dims, in the order of the axes of a value that spans it.
#include "passes/plan_domain.h"

#include <algorithm>

namespace fuse {

namespace {

class DomainMaker {
 public:
  DomainMaker(const PlanGraph &graph, const Evaluation &evaluation)
      : p_(graph), e_(evaluation), dim_of_(graph.extents.size(), kNone) {}

  Domain make(std::span<const PlanId> values) {
    add_dims(*std::find_if(values.begin(), values.end(),
                           [&](PlanId v) { return p_.values[v].domain == e_.space; }));
    for (PlanId v : values) place(v);
    return std::move(domain_);
  }

 private:
  static constexpr DimId kNone = UINT32_MAX;

  const PlanGraph &p_;
  const Evaluation &e_;
  std::vector<DimId> dim_of_;  // by atom
  Domain domain_;

  const std::vector<AtomList> &axes_of(PlanId v) const {
    return p_.values[v].kind == ValueKind::Reduction ? p_.operand[v] : p_.axes[v];
  }

  DimRole role_of(AtomId atom) const {
    auto in = [&](const AtomList &atoms) {
      return std::binary_search(atoms.begin(), atoms.end(), atom);
    };
    return in(e_.folds.rows)      ? DimRole::Row
           : in(e_.folds.columns) ? DimRole::Column
                                  : DimRole::Kept;
  }

  void add_dims(PlanId v) {
    for (const AtomList &axis : axes_of(v)) {
      for (AtomId atom : axis) {
        dim_of_[atom] = static_cast<DimId>(domain_.dims.size());
        domain_.dims.push_back(
            {"d" + std::to_string(domain_.dims.size()), Index(p_.extents[atom])});
        domain_.roles.push_back(role_of(atom));
      }
    }
  }

  Index index_of(const AtomList &axis) const {
    Index index = 0;
    for (AtomId atom : axis) index = index * Index(p_.extents[atom]) + Index::dim(dim_of_[atom]);
    return index;
  }

  std::vector<Index> position(const std::vector<AtomList> &axes) const {
    std::vector<Index> result;
    for (const AtomList &axis : axes) result.push_back(index_of(axis));
    return result;
  }

  /// Values that are neither stored nor reductions may stand elsewhere: they follow their users.
  void place(PlanId v) {
    const PlanValue &value = p_.values[v];
    if (!p_.is_subset(value.domain, e_.space)) return;
    domain_.at[value.node] = position(p_.axes[v]);
    if (value.kind == ValueKind::Scan) {
      Fold &scan = domain_.scans[value.node];
      scan.operand = position(p_.axes[v]);
      for (AtomId atom : p_.axes[v][value.axis]) scan.dims.push_back(dim_of_[atom]);
    }
    if (value.kind != ValueKind::Reduction) return;
    Fold &fold = domain_.folds[value.node];
    fold.operand = position(p_.operand[v]);
    for (AtomId atom : p_.domains[value.folded].atoms) fold.dims.push_back(dim_of_[atom]);
    std::sort(fold.dims.begin(), fold.dims.end());
  }
};

}  // namespace

Domain make_domain(const PlanGraph &graph, std::span<const PlanId> values,
                   const Evaluation &evaluation) {
  return DomainMaker(graph, evaluation).make(values);
}

}  // namespace fuse
