// Scans of the evaluator: against plain loops in the dtype of accumulation, for every operation,
// dtype, axis and direction, and what errors they allow.
#include "ir/evaluate.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "ir/scalar.h"

#include <fuse/scans.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace fuse {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  Op op;
  DType type;
  ScanAttr attr;
};

Tensor sample(DType type, std::vector<std::int64_t> shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor x(type, std::move(shape));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    double number = std::uniform_real_distribution<double>(-2, 2)(random);
    if (is_float(type))
      x.set_bits(i, encode_float(type, number));
    else
      x.set_bits(i, is_bool(type) ? random() & 1 : wrap_int(type, random()));
  }
  return x;
}

/// One step in f32 or f64, or in the dtype itself: what a machine does, in the plainest order.
std::uint64_t step(Op op, DType type, std::uint64_t state, std::uint64_t element) {
  const Literal operands[] = {{type, state}, {type, element}};
  switch (op) {
    case Op::CumSum: return apply(Op::Add, type, operands);
    case Op::CumProd: return apply(Op::Mul, type, operands);
    case Op::CumMax: return apply(Op::Max, type, operands);
    case Op::CumMin: return apply(Op::Min, type, operands);
    default: break;
  }
  double a = as_double(operands[0]), b = as_double(operands[1]), m = std::fmax(a, b);
  if (std::isinf(m)) return encode_float(type, m);
  double sum = std::exp(a - m) + std::exp(b - m);
  return encode_float(type, encode_float(type, m) == 0 ? std::log(sum) : m + std::log(sum));
}

std::uint64_t start(Op op, DType type) {
  if (op == Op::CumProd) return is_float(type) ? encode_float(type, 1) : 1;
  if (op == Op::CumSum) return 0;
  bool least = op != Op::CumMin;
  if (type == DType::F8E4M3) return encode_float(type, least ? -448 : 448);
  if (is_float(type)) return encode_float(type, least ? -kInf : kInf);
  if (is_bool(type)) return least ? 0 : 1;
  bool is_signed = is_signed_int(type);
  int bits = static_cast<int>(8 * size_of(type)) - (is_signed ? 1 : 0);
  std::uint64_t largest = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return least ? (is_signed ? ~largest : 0) : largest;
}

Tensor by_loop(const Case &c, const Tensor &x) {
  Tensor y(c.type, x.shape);
  DType state_type = info(c.op).is(Exact) ? c.type : compute_type(c.type);
  std::int64_t rows = x.shape[0], columns = x.shape[1];
  std::int64_t lines = c.attr.axis == 0 ? columns : rows;
  std::int64_t length = c.attr.axis == 0 ? rows : columns;
  for (std::int64_t line = 0; line < lines; ++line) {
    std::uint64_t state = start(c.op, state_type);
    for (std::int64_t n = 0; n < length; ++n) {
      std::int64_t at = c.attr.reverse ? length - 1 - n : n;
      std::int64_t i = c.attr.axis == 0 ? at * columns + line : line * columns + at;
      std::uint64_t element = convert(Op::Cast, state_type, x.literal(i));
      std::uint64_t next = step(c.op, state_type, state, element);
      y.set_bits(i, convert(Op::Cast, c.type, {state_type, c.attr.exclusive ? state : next}));
      state = next;
    }
  }
  return y;
}

Expected scanned(const Case &c, const Tensor &x) {
  Graph g;
  Value in = g.input("x", c.type, {Dim(x.shape[0]), Dim(x.shape[1])});
  add_output(g.data(), "y", build_scan(g.data(), c.op, in.index(), c.attr));
  return evaluate(g.data(), std::vector<Tensor>{x}).outputs.at(0);
}

TEST(EvaluateScan, AgreesWithLoops) {
  int cases = 0;
  for (int o = 0; o < kNumOps; ++o) {
    Op op = static_cast<Op>(o);
    if (info(op).kind != OpKind::Scan) continue;
    for (int t = 0; t < kNumDTypes; ++t) {
      DType type = static_cast<DType>(t);
      if (!accepts(info(op).types, type)) continue;
      for (int n = 0; n < 8; ++n) {
        Case c{op, type, {n & 1, (n & 2) != 0, (n & 4) != 0}};
        Tensor x = sample(type, {7, 33}, unsigned(n));
        Comparison comparison = compare(scanned(c, x), by_loop(c, x));
        EXPECT_TRUE(comparison.passed()) << info(op).text << " of " << to_string(type) << " " << n
                                         << ": " << to_string(comparison);
        if (op != Op::CumProd) {
          EXPECT_EQ(comparison.uncertain, 0) << info(op).text;
        }
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 300);
}

TEST(EvaluateScan, AWrongElementIsFound) {
  Case c{Op::CumSum, DType::F32, {1, false, false}};
  Tensor x = sample(DType::F32, {3, 1000}, 9), y = by_loop(c, x);
  EXPECT_TRUE(compare(scanned(c, x), y).passed());
  y.set_bits(1500, encode_float(DType::F32, as_double(y.literal(1500)) + 0.05));
  EXPECT_EQ(compare(scanned(c, x), y).failures, 1);
  Case shifted{Op::CumSum, DType::F32, {1, true, false}};
  EXPECT_FALSE(compare(scanned(shifted, x), by_loop(c, x)).passed());
}

TEST(EvaluateScan, ErrorsGrowAlongTheAxis) {
  Tensor x = sample(DType::F32, {1, 500}, 3);
  for (Op op : {Op::CumSum, Op::LogCumSumExp}) {
    Expected y = scanned({op, DType::F32, {1, false, false}}, x);
    EXPECT_EQ(y.error[0], 0);
    EXPECT_GT(y.error[1], 0);
    EXPECT_GT(y.error[499], 20 * y.error[3]);
    EXPECT_LT(y.error[499], 2e-2);
  }
}

TEST(EvaluateScan, ErrorsOfElementsArePassedOn) {
  Graph g;
  Value x = sin(g.input("x", f32, {3}));
  g.output("sum", cumsum(x, 0));
  g.output("max", cummax(x, 0));
  g.output("log", logcumsumexp(x, 0));
  std::vector<Expected> y =
      evaluate(g.data(), std::vector<Tensor>{Tensor(f32, {3}, std::vector<double>{1, 0.5, 1.5})})
          .outputs;
  double own = y[1].error[0];
  EXPECT_GT(own, 0);
  EXPECT_EQ(y[1].error[1], own);      // the maximum stays the first
  EXPECT_GE(y[0].error[2], 2 * own);  // errors of sums add up
  EXPECT_GE(y[2].error[2], own);
}

TEST(EvaluateScan, ASpecialValueHoldsFromItsPlaceOn) {
  auto of = [](Op op, const std::vector<double> &values) {
    auto n = static_cast<std::int64_t>(values.size());
    return scanned({op, DType::F32, {1, false, false}}, Tensor(f32, {1, n}, values));
  };
  auto expect = [](const Expected &y, const std::vector<double> &values) {
    Tensor wanted(f32, y.shape, values);
    EXPECT_TRUE(compare(y, wanted).passed()) << to_string(compare(y, wanted));
  };
  expect(of(Op::CumMax, {1, kNan, 3}), {1, kNan, kNan});
  expect(of(Op::CumMin, {-0.0, 0.0, kInf}), {-0.0, -0.0, -0.0});
  expect(of(Op::CumSum, {1, kInf, 1, -kInf, 1}), {1, kInf, kInf, kNan, kNan});
  expect(of(Op::CumProd, {2, 0, kInf, 1}), {2, 0, kNan, kNan});
  expect(of(Op::LogCumSumExp, {-kInf, 1}), {-kInf, 1});
  expect(of(Op::LogCumSumExp, {kInf, kInf, 1}), {kInf, kInf, kInf});
  expect(of(Op::LogCumSumExp, {1, kNan, 2}), {1, kNan, kNan});
}

TEST(EvaluateScan, APartThatMayOverflowMakesTheRestUncertain) {
  Tensor x(f32, {1, 4}, std::vector<double>{-3e38, 3e38, 3e38, 1});
  Comparison c = compare(scanned({Op::CumSum, DType::F32, {1, false, false}}, x), x);
  EXPECT_EQ(c.uncertain, 2);
  // (3e38 + 3e38) - inf is NaN or -inf, by the order.
  Tensor y(f32, {1, 3}, std::vector<double>{3e38, 3e38, -kInf});
  c = compare(scanned({Op::CumSum, DType::F32, {1, false, false}}, y), y);
  EXPECT_EQ(c.uncertain, 1);
  Graph g;
  g.output("y", sum(g.input("x", f32, {1, 3}), {1}));
  EXPECT_TRUE(std::isinf(evaluate(g.data(), std::vector<Tensor>{y}).outputs[0].error[0]));
}

TEST(EvaluateScan, WhatIsUnknownStaysSoWhateverItsValueIs) {
  Graph g;
  Value x = log(sin(g.input("x", f32, {2})) - 1.0);  // of pi / 2, NaN or -inf
  g.output("prod", prod(x, {0}));
  g.output("cumprod", cumprod(x, 0));
  g.output("cumsum", cumsum(x, 0));
  g.output("logcumsumexp", logcumsumexp(x, 0));
  g.output("cummax", cummax(x, 0));
  g.output("max", reduce_max(x, {0}));
  Tensor in(f32, {2}, std::vector<double>{1.5707964, 1});
  for (const Expected &y : evaluate(g.data(), std::vector<Tensor>{in}).outputs)
    EXPECT_TRUE(std::isinf(y.error[0]));
}

TEST(EvaluateScan, EmptyAxesGiveNothing) {
  Expected y = scanned({Op::CumSum, DType::F32, {1, false, false}}, Tensor(f32, {3, 0}));
  EXPECT_EQ(y.size(), 0);
}

}  // namespace
}  // namespace fuse
