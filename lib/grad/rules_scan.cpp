// Scans: an element gets what the results that it is combined into get.
#include "grad/rules.h"
#include "ir/build.h"

#include <fuse/builders.h>
#include <fuse/scans.h>

#include <limits>

namespace fuse {

namespace {

/// From the other end.
ScanOptions backwards(const ScanAttr &attr) {
  ScanOptions options;
  options.exclusive = attr.exclusive;
  options.reverse = !attr.reverse;
  return options;
}

/// The axis between what is before and behind it, its first element where the scan begins.
class Line {
 public:
  explicit Line(Adjoint &a) : shape_(a.shape()), attr_(a.attr<ScanAttr>()) {
    auto axis = shape_.begin() + attr_.axis;
    flat_ = {num_elements(Shape(shape_.begin(), axis)), *axis,
             num_elements(Shape(axis + 1, shape_.end()))};
  }
  Value of(Value v) const {
    v = reshape(v, flat_);
    return attr_.reverse ? flip(v, {1}) : v;
  }
  Value back(Value v) const { return reshape(attr_.reverse ? flip(v, {1}) : v, shape_); }

  /// Positions on the axis; and, of pairs of positions, the first or the second.
  Value positions(GraphData &g) const { return g.value(build_iota(g, DType::I64, flat_, 1)); }

 private:
  Shape shape_, flat_;
  ScanAttr attr_;
};

/// [outer, n, inner] as a function of the result of the pair (element, result), or of the element.
Value by_result(Value v) { return unsqueeze(v, 1); }
Value by_element(Value v) { return unsqueeze(v, 2); }

/// Where the extreme of each prefix stands: at the last element that exceeded all before it, as the
/// first NaN does.
Value extreme_positions(GraphData &g, const Line &line, Value x, bool is_max, bool exclusive) {
  Value least = is_max ? cummax(x, 1, {.exclusive = true}) : cummin(x, 1, {.exclusive = true});
  Value is_record = is_max ? gt(x, least) : lt(x, least);
  is_record = is_record | (isnan(x) & logical_not(isnan(least)));
  ScanOptions options;
  options.exclusive = exclusive;
  return cummax(select(is_record, line.positions(g), 0), 1, options);
}

/// Each element adds up the results that it is the extreme of; of equal ones the first.
void extreme_rule(Adjoint &a, bool is_max) {
  GraphData &g = a.graph();
  Line line(a);
  Value from =
      extreme_positions(g, line, line.of(a.operand(0)), is_max, a.attr<ScanAttr>().exclusive);
  Value is_from = eq(by_result(from), by_element(line.positions(g)));
  Value dx = sum(select(is_from, by_result(line.of(a.dy())), 0.0), {2});
  a.add_chosen(0, line.back(dx), Dead::Functions);
}

}  // namespace

void cumsum_rule(Adjoint &a) {
  const ScanAttr &attr = a.attr<ScanAttr>();
  a.add(0, cumsum(a.dy(), attr.axis, backwards(attr)));
}

/// Each element gets what its results get, times their products of the others: of all pairs, since
/// a division of the results would lose products that underflow or overflow with the element.
void cumprod_rule(Adjoint &a) {
  const ScanAttr &attr = a.attr<ScanAttr>();
  Line line(a);
  Value place = line.positions(a.graph());
  Value element = by_element(place), result = by_result(place);
  Value others = select(eq(element, result), 1.0, by_result(line.of(a.x())));
  Value products = cumprod(others, 2, {.exclusive = attr.exclusive});
  Value parts = a.times(by_result(line.of(a.dy())), products);
  Value is_part = attr.exclusive ? lt(element, result) : le(element, result);
  a.add(0, line.back(sum(select(is_part, parts, 0.0), {2})));
}

void cummax_rule(Adjoint &a) { extreme_rule(a, true); }
void cummin_rule(Adjoint &a) { extreme_rule(a, false); }

/// Weights e^(x - y) of all pairs: a running sum of them would overflow where y falls far below
/// its last value. Elements of -inf have no weight.
void logcumsumexp_rule(Adjoint &a) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  GraphData &g = a.graph();
  Line line(a);
  Value x = line.of(a.x()), y = line.of(a.y()), place = line.positions(g);
  Value element = by_element(place), result = by_result(place);
  Value is_part = a.attr<ScanAttr>().exclusive ? lt(element, result) : le(element, result);
  Value counts = is_part & ne(by_element(x), -kInf);
  Value weight = exp(select(counts, by_element(x) - by_result(y), -kInf));
  a.add(0, line.back(sum(a.times(by_result(line.of(a.dy())), weight), {2})));
}

}  // namespace fuse
