// Reductions: one pass over the operand in its order, into accumulators of the result's elements.
//
// Sums and products bound the error of any tree of at most log2(n) + extra levels; maxima carry
// the hull of what their operands allow; an arg-reduction with a rival within its error is unknown.
#include "ir/evaluate_ball.h"
#include "ir/format.h"
#include "ir/op.h"
#include "ir/scalar.h"
#include "ir/scalar_math.h"

namespace fuse {

namespace {

using Extents = std::vector<std::int64_t>;

/// Where the elements of the operand go, and how many meet in one.
struct Folding {
  Extents extents, steps;   // per axis: extent, step of the result's index (0: folded)
  std::int64_t count = 1;   // elements folded into one
  std::int64_t inner = 1;   // arg-reductions: elements between neighbours of the folded axis
  std::int64_t extent = 1;  // and its extent
};

Folding folding_of(const Extents &shape, const std::vector<int> &axes) {
  Folding f{shape, Extents(shape.size(), 0), 1, 1, 1};
  std::int64_t step = 1, inner = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    bool folded = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (folded) {
      f.count *= shape[i];
      f.inner = inner;
      f.extent = shape[i];
    } else {
      f.steps[i] = step;
      step *= shape[i];
    }
    inner *= shape[i];
  }
  return f;
}

/// Calls body(result index, operand index) in the operand's order.
template <class Body>
void for_each(const Folding &f, Body body) {
  std::int64_t total = count_elements(f.extents), result = 0;
  Extents position(f.extents.size(), 0);
  for (std::int64_t i = 0; i < total; ++i) {
    body(result, i);
    for (std::size_t axis = position.size(); axis-- > 0;) {
      result += f.steps[axis];
      if (++position[axis] < f.extents[axis]) break;
      result -= f.steps[axis] * f.extents[axis];
      position[axis] = 0;
    }
  }
}

template <class R>
void reduce_sum(Expected &out, const Expected &x, const Folding &f, int extra_depth) {
  std::size_t n = out.stored();
  std::vector<R> sum(n, 0);
  std::vector<double> magnitude(n, 0), brought(n, 0);
  std::vector<SumRange> range(n);
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    Ball<R> ball = ball_at<R>(x, i);
    sum[r] += ball.v;
    magnitude[r] += std::fabs(double(ball.v)) + ball.e;
    brought[r] += ball.e;
    range[r].add(double(ball.v), ball.e);
  });
  const Precision p(out.dtype);
  double depth =
      std::min(double(f.count - 1),
               std::ceil(std::log2(double(std::max<std::int64_t>(f.count, 1)))) + extra_depth);
  double unit = accumulation_unit(out.dtype);
  for (std::size_t r = 0; r < n; ++r) {
    double own = f.count > 1 ? (depth + 2) * unit * magnitude[r] : 0;
    // The identity 0 turns a sum of -0 into 0 where it takes part.
    if (own == 0 && sum[r] == 0 && f.count > 0) own = decode_float(out.dtype, 1);
    bool leaves = range[r].may_overflow(double(sum[r]), largest_partial(out.dtype));
    Ball<R> y{sum[r], leaves ? kUnknown : brought[r] + own};
    set_ball(out, r, finish(p, std::isfinite(sum[r]) || std::isinf(y.e) ? y : Ball<R>{y.v, 0}));
  }
}

template <class R>
void reduce_product(Expected &out, const Expected &x, const Folding &f) {
  std::size_t n = out.stored();
  std::vector<R> product(n, 1);
  std::vector<double> error(n, 0), grown(n, 0), shrunk(n, 0);
  std::vector<bool> unknown(n, false);
  double unit = accumulation_unit(out.dtype);
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    Ball<R> ball = ball_at<R>(x, i);
    double magnitude = std::fabs(double(ball.v));
    error[r] = error[r] * (magnitude + ball.e) + std::fabs(double(product[r])) * ball.e;
    product[r] *= ball.v;
    if (std::isinf(ball.e)) unknown[r] = true;
    error[r] += std::fabs(double(product[r])) * unit * (f.count > 1);
    if (magnitude != 0 && std::isfinite(magnitude))
      (magnitude > 1 ? grown : shrunk)[r] += std::fabs(std::log2(magnitude));
  });
  const Precision p(out.dtype);
  // Some order of multiplication may leave the range although the product does not.
  double range = out.dtype == DType::F64 ? 1020 : 124;
  for (std::size_t r = 0; r < n; ++r) {
    bool left = f.count > 1 && (grown[r] > range || shrunk[r] > range);
    double e = std::isnan(product[r]) && !std::isinf(error[r]) ? 0 : error[r];
    if (unknown[r] || (left && !std::isnan(product[r]))) e = kUnknown;
    set_ball(out, r, finish(p, Ball<R>{product[r], std::isnan(e) ? kUnknown : e}));
  }
}

template <class R>
void reduce_extreme(Expected &out, const Expected &x, const Folding &f, int sign) {
  constexpr R kInf = std::numeric_limits<R>::infinity();
  std::size_t n = out.stored();
  std::vector<R> best(n, -kInf), low(n, -kInf), high(n, -kInf);
  std::vector<bool> unknown(n, false);
  bool inexact = !x.error.empty();
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    Ball<R> ball = ball_at<R>(x, i);
    ball.v *= sign;
    best[r] = float_max(best[r], ball.v);
    if (!inexact) return;
    if (std::isnan(ball.v) && ball.e > 0) unknown[r] = true;
    low[r] = std::fmax(low[r], ball.v - ball.e);
    high[r] = std::fmax(high[r], ball.v + ball.e);
  });
  for (std::size_t r = 0; r < n; ++r) {
    double e = 0;
    if (inexact && !std::isnan(best[r]) && low[r] != high[r])
      e = double(std::max(high[r] - best[r], best[r] - low[r]));
    set_ball(out, r, Ball<R>{best[r] * sign, unknown[r] || std::isnan(e) ? kUnknown : e});
  }
}

void reduce_bits(Op op, Expected &out, const Expected &x, const Folding &f) {
  DType type = out.dtype;
  Monoid monoid = op == Op::Sum         ? Monoid::Sum
                  : op == Op::Prod      ? Monoid::Prod
                  : op == Op::ReduceMax ? Monoid::Max
                  : op == Op::ReduceMin ? Monoid::Min
                  : op == Op::Any       ? Monoid::Any
                                        : Monoid::All;
  std::fill(out.bits.begin(), out.bits.end(), identity(monoid, type)[0]);
  std::vector<bool> settled(out.stored(), false);
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    std::uint64_t element = bits_at(x, i);
    out.bits[r] = combine(monoid, type, {out.bits[r], 0, 0}, {element, 0, 0})[0];
    if (error_at(x, i) != 0)
      out.error[r] = kUnknown;
    else if ((op == Op::Any && element) || (op == Op::All && !element))
      settled[r] = true;
  });
  for (std::size_t r = 0; r < out.error.size(); ++r) {
    if (!settled[r]) continue;
    out.error[r] = 0;
    out.bits[r] = op == Op::Any;
  }
}

/// Arg-reductions see integers as bits and floats as balls; both compare through lift and combine.
std::uint64_t state_bits(const Expected &x, std::int64_t i) {
  if (!is_float(x.dtype)) return bits_at(x, i);
  return encode_float(x.dtype, x.value[x.splat ? 0 : i]);
}

void find_positions(Op op, Expected &out, const Expected &x, const Folding &f) {
  Monoid monoid = op == Op::ArgMax ? Monoid::ArgMax : Monoid::ArgMin;
  std::vector<MonoidState> best(out.stored(), identity(monoid, x.dtype));
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    auto position = std::uint64_t(i / f.inner % f.extent);
    best[r] = combine(monoid, x.dtype, best[r], {state_bits(x, i), position, 0});
  });
  for (std::size_t r = 0; r < best.size(); ++r) out.bits[r] = best[r][1];
}

/// An element that could reach the winner, or be as good where it comes first, makes it unknown.
void doubt_positions(Op op, Expected &out, const Expected &x, const Folding &f) {
  double sign = op == Op::ArgMax ? 1 : -1;
  std::vector<double> reach(out.stored(), -kUnknown);  // lowest value that the winner may have
  std::vector<bool> exact(out.stored(), true), nan(out.stored(), false);
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    if (out.bits[r] != std::uint64_t(i / f.inner % f.extent)) return;
    double value = is_float(x.dtype) ? ball_at<double>(x, i).v : 0;
    nan[r] = std::isnan(value);
    exact[r] = error_at(x, i) == 0;
    reach[r] = sign * value - error_at(x, i);
  });
  for_each(f, [&](std::int64_t r, std::int64_t i) {
    double e = error_at(x, i);
    if (nan[r] || out.bits[r] == std::uint64_t(i / f.inner % f.extent)) return;
    if (e == 0 && exact[r]) return;
    double value = is_float(x.dtype) ? ball_at<double>(x, i).v : 0;
    if (!(sign * value + e < reach[r])) out.error[r] = kUnknown;
  });
}

template <class R>
void reduce_floats(Op op, Expected &out, const Expected &x, const Folding &f, int extra_depth) {
  if (op == Op::Sum) return reduce_sum<R>(out, x, f, extra_depth);
  if (op == Op::Prod) return reduce_product<R>(out, x, f);
  reduce_extreme<R>(out, x, f, op == Op::ReduceMax ? 1 : -1);
}

}  // namespace

Expected evaluate_reduce(Op op, const Expected &x, const std::vector<int> &axes, Extents shape,
                         int extra_depth) {
  Folding f = folding_of(x.shape, axes);
  bool is_arg = op == Op::ArgMax || op == Op::ArgMin;
  if (f.count == 0 && (is_arg || op == Op::ReduceMax || op == Op::ReduceMin))
    fail(ErrorCode::Shape, "{}: an axis is empty", info(op).text);
  bool rounds = is_float(x.dtype) && (op == Op::Sum || op == Op::Prod);
  Expected out = make_expected(is_arg ? DType::I64 : x.dtype, std::move(shape), false,
                               rounds || !x.error.empty());
  if (is_arg) {
    find_positions(op, out, x, f);
    if (!x.error.empty()) doubt_positions(op, out, x, f);
  } else if (!is_float(x.dtype)) {
    reduce_bits(op, out, x, f);
  } else if (x.dtype == DType::F64) {
    reduce_floats<long double>(op, out, x, f, extra_depth);
  } else {
    reduce_floats<double>(op, out, x, f, extra_depth);
  }
  return out;
}

}  // namespace fuse
