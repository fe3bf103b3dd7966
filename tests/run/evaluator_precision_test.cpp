// The functions that the evaluator judges by, against quadruple precision: their own errors must
// vanish beside the bounds.
#include "ir/float_bits.h"
#include "ir/scalar_math.h"
#include "run/quad_functions.h"
#include "run/samples.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

std::vector<Op> inexact_ops(OpKind kind) {
  std::vector<Op> ops;
  for (int i = 0; i < kNumOps; ++i) {
    auto op = static_cast<Op>(i);
    if (info(op).kind == kind && info(op).max_ulp > 0) ops.push_back(op);
  }
  return ops;
}

/// Every `step`th tuple of the operands, computed in R, in units of the dtype.
template <class R>
void expect_precise(Op op, const std::vector<Tensor> &operands, std::int64_t step, double ulps) {
  DType type = operands[0].dtype;
  double worst = 0, at[2] = {};
  for (std::int64_t i = 0; i < operands[0].size(); i += step) {
    double x = as_double(operands[0].literal(i)), y = as_double(operands.back().literal(i));
    R actual = float_op<R>(op, x, y, 0);
    double error = error_in_ulps(op, type, x, quad_function(op, x, y), actual);
    if (error <= worst) continue;
    worst = error;
    at[0] = x, at[1] = y;
  }
  EXPECT_LE(worst, ulps) << info(op).text << " of " << to_string(type) << " at " << at[0] << ", "
                         << at[1];
}

class EvaluatorPrecision : public testing::TestWithParam<Op> {};

TEST_P(EvaluatorPrecision, IsFarBelowTheBounds) {
  std::size_t operands = info(GetParam()).kind == OpKind::Binary ? 2 : 1;
  auto sample = [&](DType type) {
    return operands == 2 ? special_products(type, 2) : std::vector<Tensor>{dense_sample(type)};
  };
  expect_precise<long double>(GetParam(), sample(DType::F64), 7, 0x1p-6);
  expect_precise<double>(GetParam(), sample(DType::F32), 11, 0x1p-20);
}

std::vector<Op> all_ops() {
  std::vector<Op> ops = inexact_ops(OpKind::Unary), binary = inexact_ops(OpKind::Binary);
  ops.insert(ops.end(), binary.begin(), binary.end());
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, EvaluatorPrecision, testing::ValuesIn(all_ops()),
                         [](const auto &test) { return std::string(fuse::info(test.param).name); });

}  // namespace
}  // namespace fuse
