// Grid axes that some store does not depend on, and divisors.
#include "passes/schedule/empty_axes.h"

#include "passes/size_class.h"

#include <algorithm>

namespace fuse {

namespace {

bool has_grid(const Axis &axis) {
  return std::any_of(axis.digits.begin(), axis.digits.end(),
                     [](const Digit &d) { return d.kind == DigitKind::Grid; });
}

class EmptyAxes {
 public:
  EmptyAxes(const Kernel &kernel, const std::vector<Symbol> &symbols)
      : kernel_(kernel), ranges_(ranges_of(symbols)) {}

  std::vector<Limit> limits() {
    for (const Layout &layout : kernel_.layouts)
      for (const Axis &axis : layout.axes) {
        // Positions on a flattened axis are divided by its inner extents.
        for (std::size_t i = 1; i < axis.dims.size(); ++i)
          require_elements(kernel_.dims[axis.dims[i]].extent);
        require_divisors(axis.align.base);
      }
    visit(kernel_.body, nullptr);
    return std::move(limits_);
  }

 private:
  const Kernel &kernel_;
  Ranges ranges_;
  std::vector<Limit> limits_;

  void visit(const std::vector<Stmt> &body, const Layout *layout) {
    for (const Stmt &s : body) {
      require_divisors(s.index);
      if (s.kind == StmtKind::Store && layout) require_blocks(s, *layout);
      visit(s.body, s.kind == StmtKind::In ? &kernel_.layouts[s.layout] : layout);
    }
  }

  void require_blocks(const Stmt &store, const Layout &layout) {
    std::vector<DimId> dims = dependence(kernel_, store);
    for (const Axis &axis : layout.axes)
      for (DimId d : axis.dims)
        if (has_grid(axis) && !std::binary_search(dims.begin(), dims.end(), d))
          require_elements(kernel_.dims[d].extent);
  }

  void require_divisors(const Index &index) {
    any_atom(index, [&](const Atom &atom) {
      if (atom.denominator) require_elements(*atom.denominator);
      return false;
    });
  }

  void require_elements(const Index &extent) {
    bool is_decided = extent.constant() || extent.uses(Atom::Kind::Dim);
    if (is_decided || is_nonnegative(extent - 1, ranges_)) return;
    Index value = Index(1) - extent;
    bool is_known = std::any_of(limits_.begin(), limits_.end(),
                                [&](const Limit &l) { return l.value == value; });
    if (!is_known) limits_.push_back({Limit::Kind::NotEmpty, value, 0, "an axis is empty"});
  }
};

}  // namespace

std::vector<Limit> limits_of_empty_axes(const Kernel &kernel, const std::vector<Symbol> &symbols) {
  return EmptyAxes(kernel, symbols).limits();
}

}  // namespace fuse
