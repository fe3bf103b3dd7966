// Reductions: each folded element gets what its result gets, times how the result depends on it.
#include "grad/rules.h"
#include "ir/build.h"

#include <fuse/builders.h>
#include <fuse/scans.h>

#include <algorithm>
#include <numeric>

namespace fuse {

namespace {

/// The cotangent of the result, once for each folded element.
Value repeated(Adjoint &a, Value dy) {
  const Shape &shape = a.operand(0).shape();
  Shape kept = shape;
  for (int axis : a.attr<AxesAttr>().axes) kept[axis] = 1;
  return broadcast(reshape(dy, kept), shape);
}

/// The folded axes as one: the axis itself, or several that are moved to the end and joined.
class Rows {
 public:
  Rows(const Shape &shape, const std::vector<int> &folded) {
    axis_ = folded[0];
    if (folded.size() == 1) return;
    for (int i = 0; i < static_cast<int>(shape.size()); ++i)
      if (!std::binary_search(folded.begin(), folded.end(), i)) order_.push_back(i);
    axis_ = static_cast<int>(order_.size());
    order_.insert(order_.end(), folded.begin(), folded.end());
    for (int i : order_) moved_.push_back(shape[i]);
    joined_.assign(moved_.begin(), moved_.begin() + axis_);
    joined_.push_back(num_elements(Shape(moved_.begin() + axis_, moved_.end())));
  }

  int axis() const { return axis_; }
  Value join(Value v) const { return order_.empty() ? v : reshape(transpose(v, order_), joined_); }
  Value split(Value v) const {
    if (order_.empty()) return v;
    std::vector<int> inverse(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) inverse[order_[i]] = static_cast<int>(i);
    return transpose(reshape(v, moved_), inverse);
  }

 private:
  int axis_;
  std::vector<int> order_;  // empty: one axis, where it is
  Shape moved_, joined_;
};

/// Of equal extremes the first gets all, in the order of argmax.
void reduce_extreme(Adjoint &a, Value (*position)(Operand, int, bool)) {
  Value x = a.operand(0);
  Rows rows(x.shape(), a.attr<AxesAttr>().axes);
  Value row = rows.join(x), dy = rows.join(repeated(a, a.cotangent()));
  Value place = a.graph().value(build_iota(a.graph(), DType::I64, row.shape(), rows.axis()));
  Value is_chosen = eq(place, position(row, rows.axis(), true));
  a.add_chosen(0, rows.split(select(is_chosen, dy, 0)), Dead::Functions);
}

}  // namespace

void sum_rule(Adjoint &a) { a.add(0, repeated(a, a.cotangent())); }

/// The product of all others: of those before times those behind, so that zeros do no harm.
void prod_rule(Adjoint &a) {
  Rows rows(a.operand(0).shape(), a.attr<AxesAttr>().axes);
  Value row = rows.join(a.x());
  Value before = cumprod(row, rows.axis(), {.exclusive = true});
  Value behind = cumprod(row, rows.axis(), {.exclusive = true, .reverse = true});
  a.add(0, a.times(repeated(a, a.dy()), rows.split(before * behind)));
}

void reduce_max_rule(Adjoint &a) { reduce_extreme(a, argmax); }
void reduce_min_rule(Adjoint &a) { reduce_extreme(a, argmin); }

}  // namespace fuse
