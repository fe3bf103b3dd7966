// The closed queue, and the model against measured kernels of the H200.
#include "passes/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace fuse;

TEST(ClosedQueue, OneCustomerIsServedAShareOfTheTime) {
  EXPECT_DOUBLE_EQ(closed_queue_efficiency(1, 1.0, 3.0), 0.25);
  EXPECT_DOUBLE_EQ(closed_queue_efficiency(1, 1.0, 0.0), 1.0);
}

TEST(ClosedQueue, MoreCustomersFillTheServer) {
  double last = 0;
  for (int k = 1; k <= 16; ++k) {
    double e = closed_queue_efficiency(k, 1.0, 3.0);
    EXPECT_GT(e, last);
    EXPECT_LE(e, 1.0);
    last = e;
  }
  EXPECT_GT(last, 0.99);
}

TEST(ResidentBlocks, AreLimitedByRegistersAndThreads) {
  Target t = Target::named("h200");
  Work w;
  w.threads = 128;
  w.registers = 55;  // granted as 56
  EXPECT_EQ(resident_blocks(w, t), 9);
  w.registers = 16;
  EXPECT_EQ(resident_blocks(w, t), 16);
  w.threads = 1024;
  w.registers = 64;
  EXPECT_EQ(resident_blocks(w, t), 1);
}

struct Measured {
  double rows, columns;
  int cluster, threads;
  double registers, efficiency;  // of the copy bandwidth
};

// Softmax of bf16 rows kept in registers, L2 flushed, best of ten.
const std::vector<Measured> kSoftmax = {
    {32768, 4097, 1, 128, 55, 0.924},  {32768, 4097, 1, 192, 39, 0.919},
    {32768, 4097, 1, 64, 89, 0.882},   {8192, 32760, 1, 512, 80, 0.792},
    {8192, 32760, 1, 1024, 47, 0.768}, {8192, 32752, 2, 256, 85, 0.815},
    {8192, 32752, 2, 512, 53, 0.795},  {8192, 32736, 4, 256, 53, 0.802},
    {8192, 32736, 4, 128, 86, 0.826},
};

TEST(Predict, IsNearMeasuredRowKernels) {
  Target t = Target::named("h200");
  std::vector<double> errors;
  for (const Measured &m : kSoftmax) {
    Work w;
    w.hbm_bytes = 4 * m.rows * m.columns;
    w.blocks = m.rows * m.cluster;
    w.threads = m.threads;
    w.cluster = m.cluster;
    w.registers = m.registers;
    w.phases = 3;
    double measured = w.hbm_bytes / t.hbm_bytes / m.efficiency;
    errors.push_back(std::abs(predict(w, t).seconds / measured - 1));
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.09);
  EXPECT_LT(errors.back(), 0.2);
}

TEST(Predict, NamesTheBindingPipe) {
  Target t = Target::named("h200");
  double n = 16384.0 * 11008;
  Work w;
  w.hbm_bytes = 4 * n;
  w.blocks = n / 2048;
  EXPECT_EQ(predict(w, t).bound, Pipe::Hbm);
  w.ops.mufu = 6 * n;  // three sigmoids as exp2 and rcp: measured 62 % of the copy
  Cost c = predict(w, t);
  EXPECT_EQ(c.bound, Pipe::Mufu);
  EXPECT_NEAR(w.hbm_bytes / t.hbm_bytes / c.seconds, 0.62, 0.05);
  w.hbm_bytes = 1024;
  w.ops = {};
  w.blocks = 1;
  EXPECT_EQ(predict(w, t).bound, Pipe::Latency);
}

TEST(Predict, FewWarpsIssueLess) {
  Target t = Target::named("h200");
  Work w;
  w.blocks = 1e5;
  w.ops.fma = w.ops.integer = 1e11;
  auto seconds = [&](double registers) {
    w.registers = registers;
    Cost c = predict(w, t);
    EXPECT_EQ(c.bound, Pipe::Issue);
    return c.seconds;
  };
  // Warps of a scheduler: 16, 8, 4, 2. Measured shares: 0.83, 0.78, 0.63, 0.47.
  EXPECT_NEAR(seconds(32) / seconds(64), 0.78 / 0.87, 0.03);
  EXPECT_NEAR(seconds(32) / seconds(128), 0.63 / 0.87, 0.03);
  EXPECT_NEAR(seconds(32) / seconds(255), 0.47 / 0.87, 0.03);
}

TEST(OpCost, LongFunctionsTakeRegisters) {
  std::uint32_t both = long_function(Op::Sin, DType::F32) | long_function(Op::Atan, DType::BF16);
  EXPECT_EQ(function_registers(both), 2 * function_registers(long_function(Op::Sin, DType::F32)));
  EXPECT_EQ(long_function(Op::Tanh, DType::F32, true), 0u);
  EXPECT_EQ(long_function(Op::Mul, DType::F32), 0u);
}

TEST(OpCost, F64RunsOnItsOwnPipe) {
  EXPECT_EQ(op_cost(Op::Add, f64).f64, 1);
  EXPECT_EQ(op_cost(Op::Add, f64).fma, 0);
  EXPECT_EQ(op_cost(Op::Exp, f64).mufu, 0);
  EXPECT_GT(op_cost(Op::Exp, f64).f64, 10);
  EXPECT_EQ(op_cost(Op::Exp, f32).mufu, 1);
  EXPECT_EQ(op_cost(Op::Add, i32).integer, 1);
}

}  // namespace
