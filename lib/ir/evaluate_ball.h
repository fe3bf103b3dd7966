// Ball: a number and the absolute error allowed around it, and how operations carry it on.
#pragma once

#include "ir/evaluate.h"
#include "ir/float_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace fuse {

inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// R is double, or long double where an f64 takes part. An error of kUnknown: any value may come.
template <class R>
struct Ball {
  R v = 0;
  double e = 0;
};

/// Spacing and range of a float dtype, and the error of the operations that give it.
struct Precision {
  explicit Precision(DType type)
      : dtype(type),
        largest(largest_finite(type)),
        smallest(decode_float(type, 1)),
        relative(epsilon(type)) {}

  DType dtype;
  double largest, smallest, relative;

  /// Distance of neighbours at a magnitude.
  double ulp(double magnitude) const {
    auto exponent = std::bit_cast<std::uint64_t>(magnitude) & 0x7ff0000000000000u;
    return std::max(std::bit_cast<double>(exponent) * relative, smallest);
  }
  bool is_16_bit() const { return is_float16(dtype); }

 private:
  static double epsilon(DType type) {
    double one_up = decode_float(type, encode_float(type, 1.0) + 1);
    return one_up - 1;
  }
};

/// Bound of one rounding of a result to the dtype; of 16-bit types after one to f32.
inline double rounding_error(const Precision &p, double magnitude) {
  return p.ulp(magnitude) * (p.is_16_bit() ? 0.5 + 0x1p-12 : 0.5);
}

/// Bound of an inexact function of max_ulp in the dtype.
inline double function_error(const Precision &p, int max_ulp, double magnitude) {
  if (p.is_16_bit()) return p.ulp(magnitude) + 0x1p-120;
  return max_ulp * p.ulp(magnitude);
}

/// Turns an inexact value near or beyond the largest number into infinity or doubt.
template <class R>
Ball<R> settle(const Precision &p, Ball<R> x) {
  if (!std::isfinite(x.e)) return {x.v, kUnknown};
  if (!std::isfinite(x.v)) return {x.v, 0};
  R magnitude = std::fabs(x.v);
  if (magnitude + x.e < p.largest) return x;
  double beyond = p.largest + p.ulp(p.largest) / 2;
  if (magnitude - x.e > beyond) return {std::copysign(std::numeric_limits<R>::infinity(), x.v), 0};
  return {x.v, kUnknown};
}

template <class R>
R value_at(const Expected &x, std::size_t i) {
  if constexpr (sizeof(R) > sizeof(double))
    if (!x.low.empty() && x.low[i] != 0) return R(x.value[i]) + x.low[i];
  return x.value[i];
}

template <class R>
Ball<R> ball_at(const Expected &x, std::int64_t index) {
  std::size_t i = x.splat ? 0 : static_cast<std::size_t>(index);
  return {value_at<R>(x, i), x.error.empty() ? 0 : x.error[i]};
}

template <class R>
void set_ball(Expected &x, std::int64_t index, Ball<R> ball) {
  auto i = static_cast<std::size_t>(index);
  x.value[i] = static_cast<double>(ball.v);
  if constexpr (sizeof(R) > sizeof(double))
    if (!x.low.empty()) x.low[i] = std::isfinite(ball.v) ? double(ball.v - x.value[i]) : 0;
  if (!x.error.empty()) x.error[i] = ball.e;
}

inline std::uint64_t bits_at(const Expected &x, std::int64_t index) {
  return x.bits[x.splat ? 0 : static_cast<std::size_t>(index)];
}

inline double error_at(const Expected &x, std::int64_t index) {
  return x.error.empty() ? 0 : x.error[x.splat ? 0 : static_cast<std::size_t>(index)];
}

/// Room for the elements; errors and low parts only where they can differ from 0.
Expected make_expected(DType dtype, std::vector<std::int64_t> shape, bool splat, bool inexact);

/// The value of a float operation and the error that its operands' errors give it, before its own
/// rounding.
Ball<double> propagate(Op op, const Ball<double> *x);
Ball<long double> propagate(Op op, const Ball<long double> *x);

/// Each evaluates one node of its kind. `depth` bounds the rounding tree of sums (evaluate.h).
Expected evaluate_elementwise(Op op, DType dtype, std::span<const Expected *const> operands);
Expected evaluate_convert(Op op, DType dtype, const Expected &x);
Expected evaluate_view(const GraphData &graph, NodeId id, std::vector<std::int64_t> shape,
                       std::span<const Expected *const> operands, const Bindings &symbols);
Expected evaluate_reduce(Op op, const Expected &x, const std::vector<int> &axes,
                         std::vector<std::int64_t> shape, int extra_depth);
Expected evaluate_scan(Op op, const Expected &x, const ScanAttr &attr);

/// Of what reductions and scans accumulate, f32 for narrow floats: one unit of error, the largest
/// number, and the rounding to a 16-bit dtype at the end.
inline double accumulation_unit(DType dtype) { return dtype == DType::F64 ? 0x1p-53 : 0x1p-24; }
inline double largest_partial(DType dtype) {
  return largest_finite(dtype == DType::F64 ? DType::F64 : DType::F32);
}

/// Of the finite elements of a sum: what those of each sign come to.
struct SumRange {
  double positive = 0, negative = 0;

  void add(double v, double e) {
    if (!std::isfinite(v)) return;
    positive += std::max(0.0, v + e);
    negative += std::max(0.0, e - v);
  }

  /// Whether some order of addition leaves the range although the sum does not, or leaves it at the
  /// other end than an infinite element.
  bool may_overflow(double sum, double largest) const {
    if (std::isnan(sum)) return false;
    if (std::isinf(sum)) return (sum > 0 ? negative : positive) > largest;
    double greater = std::max(positive, negative), lesser = std::min(positive, negative);
    return greater > largest && lesser > 1e-9 * greater;
  }
};

template <class R>
Ball<R> finish(const Precision &p, Ball<R> y) {
  if (!p.is_16_bit() || !std::isfinite(y.v)) return settle(p, y);
  if (y.e == 0) return {R(round_float(p.dtype, double(y.v))), 0};
  y.e += rounding_error(p, std::fabs(double(y.v)) + y.e);
  return settle(p, y);
}

}  // namespace fuse
