// Scans: one walk along the axis for each row, with the error of every element on the way.
//
// Sums, products and logarithms of sums bound the error of any order of combination: of k elements
// at most k - 1 roundings each. Maxima carry the hull of what their operands allow.
#include "ir/evaluate_ball.h"
#include "ir/op.h"
#include "ir/scalar.h"
#include "ir/scalar_math.h"

namespace fuse {

namespace {

// Roundings of one step of a running sum of exponentials: the exponential within 2 ulp (4 units),
// its argument once more for log2(e), the product and the sum.
constexpr double kStepUnits = 8;

/// Where rows start, and how far apart their elements are.
struct Rows {
  std::int64_t outer = 1, extent = 1, inner = 1;

  std::int64_t count() const { return outer * inner; }
  std::int64_t start(std::int64_t row) const { return row / inner * extent * inner + row % inner; }
};

Rows rows_of(const std::vector<std::int64_t> &shape, int axis) {
  Rows rows;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto a = static_cast<std::size_t>(axis);
    (i < a ? rows.outer : i == a ? rows.extent : rows.inner) *= shape[i];
  }
  return rows;
}

/// Calls begin() for each row, then put(i) and take(i) for its elements in the order of the scan:
/// take adds element i, put writes the state at i.
template <class Begin, class Take, class Put>
void for_each_row(const Rows &rows, const ScanAttr &attr, Begin begin, Take take, Put put) {
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    begin();
    for (std::int64_t n = 0; n < rows.extent; ++n) {
      std::int64_t at = attr.reverse ? rows.extent - 1 - n : n;
      std::int64_t i = rows.start(row) + at * rows.inner;
      if (attr.exclusive) put(i);
      take(i);
      if (!attr.exclusive) put(i);
    }
  }
}

/// A running sum. What no order of addition can change is exact.
template <class R>
class RunningSum {
 public:
  explicit RunningSum(DType dtype)
      : unit_(accumulation_unit(dtype)),
        largest_(largest_partial(dtype)),
        smallest_(decode_float(dtype, 1)) {}

  void add(Ball<R> x) {
    sum_ += x.v;
    magnitude_ += std::fabs(double(x.v)) + x.e;
    brought_ += x.e;
    range_.add(double(x.v), x.e);
    ++count_;
  }

  Ball<R> state() const {
    if (std::isinf(brought_) || range_.may_overflow(double(sum_), largest_))
      return {sum_, kUnknown};
    if (!std::isfinite(sum_)) return {sum_, 0};
    double own = count_ > 1 ? double(count_ + 1) * unit_ * magnitude_ : 0;
    // The identity 0 turns a sum of -0 into 0 where it takes part.
    if (own == 0 && sum_ == 0 && count_ > 0) own = smallest_;
    return {sum_, brought_ + own};
  }

 private:
  double unit_, largest_, smallest_;
  R sum_ = 0;
  double magnitude_ = 0, brought_ = 0;
  SumRange range_;
  std::int64_t count_ = 0;
};

template <class R>
class RunningProduct {
 public:
  explicit RunningProduct(DType dtype)
      : unit_(accumulation_unit(dtype)), range_(dtype == DType::F64 ? 1020 : 124) {}

  void add(Ball<R> x) {
    double magnitude = std::fabs(double(x.v));
    error_ = error_ * (magnitude + x.e) + std::fabs(double(product_)) * x.e;
    product_ *= x.v;
    unknown_ = unknown_ || std::isinf(x.e);
    if (count_++ > 0) error_ += std::fabs(double(product_)) * unit_;
    if (magnitude != 0 && std::isfinite(magnitude))
      (magnitude > 1 ? grown_ : shrunk_) += std::fabs(std::log2(magnitude));
  }

  /// Some order of multiplication may leave the range although the product does not.
  Ball<R> state() const {
    bool left = count_ > 1 && (grown_ > range_ || shrunk_ > range_);
    if (unknown_) return {product_, kUnknown};
    if (std::isnan(product_)) return {product_, std::isinf(error_) ? kUnknown : 0};
    return {product_, left || std::isnan(error_) ? kUnknown : error_};
  }

 private:
  double unit_, range_;
  R product_ = 1;
  double error_ = 0, grown_ = 0, shrunk_ = 0;
  bool unknown_ = false;
  std::int64_t count_ = 0;
};

/// log of a running sum of exponentials: maximum and sum relative to it. Errors of elements do not
/// grow; those of the sum are relative, and its logarithm and the last addition round once each.
template <class R>
class RunningLogSum {
 public:
  explicit RunningLogSum(DType dtype)
      : unit_(accumulation_unit(dtype)), smallest_(decode_float(dtype, 1)) {}

  void add(Ball<R> x) {
    brought_ = std::max(brought_, x.e);
    ++count_;
    if (x.v == -kInf) return;
    R larger = float_max(maximum_, x.v), smaller = std::fmin(maximum_, x.v);
    bool rises = x.v > maximum_;
    R factor = smaller == larger ? R(1) : std::exp(smaller - larger);
    sum_ = rises ? sum_ * factor + 1 : sum_ + factor;
    maximum_ = larger;
  }

  Ball<R> state() const {
    R value = maximum_ + std::log(sum_);
    if (maximum_ == -kInf) value = -kInf;
    if (!std::isfinite(value)) return {value, std::isinf(brought_) ? kUnknown : 0};
    double logarithm = std::fabs(double(std::log(sum_)));
    double relative = (kStepUnits * double(count_) + 4 * logarithm) * unit_;
    double own = relative + unit_ * (4 * logarithm + std::fabs(double(value)) + relative);
    if (count_ == 1)
      return {value, brought_ + (value == 0 ? smallest_ : 0)};  // a zero loses its sign
    return {value, brought_ + own};
  }

 private:
  static constexpr R kInf = std::numeric_limits<R>::infinity();
  double unit_, smallest_;
  R maximum_ = -kInf, sum_ = 0;
  double brought_ = 0;
  std::int64_t count_ = 0;
};

template <class R, class Running>
void scan_floats(Expected &out, const Expected &x, const ScanAttr &attr) {
  const Precision p(out.dtype);
  Running running(out.dtype);
  for_each_row(
      rows_of(out.shape, attr.axis), attr, [&] { running = Running(out.dtype); },
      [&](std::int64_t i) { running.add(ball_at<R>(x, i)); },
      [&](std::int64_t i) {
        Ball<R> y = running.state();
        bool is_exact = !std::isfinite(y.v) && !std::isinf(y.e);
        set_ball(out, i, is_exact ? Ball<R>{y.v, 0} : finish(p, y));
      });
}

/// The extreme value so far, and the hull of what the operands allow.
template <class R>
void scan_extreme(Expected &out, const Expected &x, const ScanAttr &attr, int sign) {
  // The least value of a dtype without infinities is its identity.
  R none =
      sign *
      double(as_double({out.dtype, identity(sign > 0 ? Monoid::Max : Monoid::Min, out.dtype)[0]}));
  R best = none, low = none, high = none;
  bool unknown = false;
  for_each_row(
      rows_of(out.shape, attr.axis), attr, [&] { best = low = high = none, unknown = false; },
      [&](std::int64_t i) {
        Ball<R> ball = ball_at<R>(x, i);
        ball.v *= sign;
        best = float_max(best, ball.v);
        unknown = unknown || (std::isnan(ball.v) && ball.e > 0);
        low = std::fmax(low, ball.v - R(ball.e));
        high = std::fmax(high, ball.v + R(ball.e));
      },
      [&](std::int64_t i) {
        double e = 0;
        if (!std::isnan(best) && low != high) e = double(std::max(high - best, best - low));
        set_ball(out, i, Ball<R>{best * sign, unknown || std::isnan(e) ? kUnknown : e});
      });
}

Monoid monoid_of(Op op) {
  return op == Op::CumSum    ? Monoid::Sum
         : op == Op::CumProd ? Monoid::Prod
         : op == Op::CumMax  ? Monoid::Max
                             : Monoid::Min;
}

void scan_bits(Op op, Expected &out, const Expected &x, const ScanAttr &attr) {
  Monoid monoid = monoid_of(op);
  MonoidState state{};
  bool is_unknown = false;
  for_each_row(
      rows_of(out.shape, attr.axis), attr,
      [&] {
        state = identity(monoid, out.dtype);
        is_unknown = false;
      },
      [&](std::int64_t i) {
        state = combine(monoid, out.dtype, state, {bits_at(x, i), 0, 0});
        is_unknown = is_unknown || error_at(x, i) != 0;
      },
      [&](std::int64_t i) {
        out.bits[static_cast<std::size_t>(i)] = state[0];
        if (is_unknown) out.error[static_cast<std::size_t>(i)] = kUnknown;
      });
}

template <class R>
void scan_floats(Op op, Expected &out, const Expected &x, const ScanAttr &attr) {
  if (op == Op::CumSum) return scan_floats<R, RunningSum<R>>(out, x, attr);
  if (op == Op::CumProd) return scan_floats<R, RunningProduct<R>>(out, x, attr);
  if (op == Op::LogCumSumExp) return scan_floats<R, RunningLogSum<R>>(out, x, attr);
  scan_extreme<R>(out, x, attr, op == Op::CumMax ? 1 : -1);
}

}  // namespace

Expected evaluate_scan(Op op, const Expected &x, const ScanAttr &attr) {
  bool rounds = is_float(x.dtype) && !info(op).is(Exact);
  Expected out = make_expected(x.dtype, x.shape, false, rounds || !x.error.empty());
  if (!is_float(x.dtype))
    scan_bits(op, out, x, attr);
  else if (x.dtype == DType::F64)
    scan_floats<long double>(op, out, x, attr);
  else
    scan_floats<double>(op, out, x, attr);
  return out;
}

}  // namespace fuse
