// The judgement: actual elements against values and allowed errors.
#include "ir/evaluate.h"
#include "ir/evaluate_ball.h"
#include "ir/format.h"

namespace fuse {

namespace {

struct Verdict {
  bool passed;
  double expected, actual, bound, ratio;
};

bool same_float(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

Verdict judge_float(const Expected &x, std::int64_t i, double actual) {
  Ball<long double> ball = ball_at<long double>(x, i);
  auto expected = static_cast<double>(ball.v);
  if (ball.e == 0) return {same_float(expected, actual), expected, actual, 0, 0};
  if (std::isinf(ball.e)) return {true, expected, actual, ball.e, 0};
  auto distance = static_cast<double>(std::fabs(ball.v - actual));
  return {distance <= ball.e, expected, actual, ball.e, distance / ball.e};
}

Verdict judge_int(const Expected &x, std::int64_t i, std::uint64_t actual) {
  std::uint64_t expected = bits_at(x, i);
  double bound = error_at(x, i);
  double a = as_double({x.dtype, expected}), b = as_double({x.dtype, actual});
  bool passed = expected == actual || (bound > 0 && std::fabs(a - b) <= bound);
  return {passed, a, b, bound, bound > 0 ? std::fabs(a - b) / bound : 0};
}

Verdict judge(const Expected &expected, const Tensor &actual, std::int64_t i) {
  return is_float(expected.dtype)
             ? judge_float(expected, i, decode_float(actual.dtype, actual.bits(i)))
             : judge_int(expected, i, actual.bits(i));
}

void require_alike(const Expected &expected, const Tensor &actual) {
  if (expected.dtype != actual.dtype || expected.shape != actual.shape)
    fail(ErrorCode::InvalidArgument, "compare: {} of {} elements against {} of {}",
         to_string(expected.dtype), expected.size(), to_string(actual.dtype), actual.size());
}

/// Position of a number among those of its dtype; both zeros stand at 0.
std::int64_t position(const Literal &literal) {
  if (!is_float(literal.dtype)) return static_cast<std::int64_t>(literal.bits);
  std::uint64_t sign = std::uint64_t{1} << (8 * size_of(literal.dtype) - 1);
  auto magnitude = static_cast<std::int64_t>(literal.bits & ~sign);
  return literal.bits & sign ? -magnitude : magnitude;
}

std::optional<std::uint64_t> ulps_between(const Literal &a, const Literal &b) {
  if (is_float(a.dtype) && (std::isnan(as_double(a)) || std::isnan(as_double(b)))) return {};
  auto x = static_cast<std::uint64_t>(position(a)), y = static_cast<std::uint64_t>(position(b));
  bool in_order = a.dtype == DType::U64 ? x < y : position(a) < position(b);
  return in_order ? y - x : x - y;
}

}  // namespace

std::vector<Mismatch> mismatches(const Expected &expected, const Tensor &actual,
                                 std::size_t limit) {
  require_alike(expected, actual);
  std::vector<Mismatch> found;
  for (std::int64_t i = 0; i < expected.size() && found.size() < limit; ++i) {
    Verdict v = judge(expected, actual, i);
    if (v.passed) continue;
    std::uint64_t bits =
        is_float(expected.dtype) ? encode_float(expected.dtype, v.expected) : bits_at(expected, i);
    Literal right{expected.dtype, bits}, wrong = actual.literal(i);
    found.push_back({i, right, wrong, v.bound, ulps_between(right, wrong)});
  }
  return found;
}

Comparison compare(const Expected &expected, const Tensor &actual) {
  require_alike(expected, actual);
  Comparison result;
  result.elements = expected.size();
  for (std::int64_t i = 0; i < result.elements; ++i) {
    Verdict v = judge(expected, actual, i);
    result.uncertain += std::isinf(v.bound);
    if (v.ratio > result.worst_ratio) result.worst_ratio = v.ratio;
    if (v.passed || result.failures++ > 0) continue;
    result.first = i;
    result.expected = v.expected;
    result.actual = v.actual;
    result.bound = v.bound;
  }
  return result;
}

std::string to_string(const Comparison &c) {
  std::string text;
  if (c.passed()) {
    append(text, "all {} elements agree", c.elements);
  } else {
    append(text, "{} of {} elements differ; first at {}: {}, not {}", c.failures, c.elements,
           c.first, without_nan_sign(c.actual), without_nan_sign(c.expected));
    if (c.bound > 0) append(text, " +- {}", c.bound);
  }
  if (c.worst_ratio > 0) append(text, "; worst error {:.3g} times its bound", c.worst_ratio);
  return text;
}

}  // namespace fuse
