// Emitted operations, run on the host executor, against their definition on bits (ir/scalar.h).
//
// 16-bit floats: every unary operation on all 65,536 inputs, within 1 ulp. f32 and f64: samples
// over all bit patterns; f32 within the max_ulp of ops.def.
#include "codegen/host.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "ir/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace fuse::test {
namespace {

std::string op_kernel(Op op, DType from, DType to, int operands, std::size_t count) {
  std::string f(to_string(from)), t(to_string(to)), n = std::to_string(count);
  std::string parameters, loads, names;
  for (int i = 0; i < operands; ++i) {
    std::string v = "x" + std::to_string(i);
    parameters += (i ? ", %" : "%") + v + ": " + f + "[" + n + "]";
    loads += "    %a" + std::to_string(i) + " = load %" + v + "[i]\n";
    names += (i ? ", %a" : " %a") + std::to_string(i);
  }
  return "kernel @op(" + parameters + ") -> (%y: " + t + "[" + n +
         "]) threads 128 cluster 1 index 32 {\n  dims i: " + n + "\n  layout L: i = grid " +
         std::to_string((count + 1023) / 1024) + " . thread 128 . reg 8\n  in L {\n" + loads +
         "    %r = " + std::string(info(op).text) + names + " : " + t +
         "\n    store %y[i], %r\n  }\n}\n";
}

/// Elements of the operation on arrays of bits.
std::vector<std::uint64_t> run(Op op, DType from, DType to,
                               const std::vector<std::vector<std::uint64_t>> &operands) {
  std::size_t count = operands[0].size();
  Kernel kernel = parse_kernel(op_kernel(op, from, to, static_cast<int>(operands.size()), count));
  verify(kernel);
  std::vector<std::vector<char>> memory;
  for (const auto &x : operands) {
    memory.emplace_back(count * size_of(from));
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(&memory.back()[i * size_of(from)], &x[i], size_of(from));
  }
  memory.emplace_back(count * size_of(to));
  std::vector<void *> pointers, arguments;
  for (auto &m : memory) pointers.push_back(m.data());
  for (auto &p : pointers) arguments.push_back(&p);
  HostLaunch launch;
  launch.grid = (count + 1023) / 1024;
  launch.arguments = arguments.data();
  HostKernel(kernel, Target::named("host")).launch(launch);
  std::vector<std::uint64_t> results(count);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(&results[i], &memory.back()[i * size_of(to)], size_of(to));
  return results;
}

/// Distance in representable numbers; 0 for two NaNs.
double distance(DType type, std::uint64_t a, std::uint64_t b) {
  if (!is_float(type)) return wrap_int(type, a) == wrap_int(type, b) ? 0 : INFINITY;
  double x = as_double({type, a}), y = as_double({type, b});
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? 0 : INFINITY;
  if (is_float16(type) && std::fabs(x - y) <= 0x1p-120) return 0;
  auto order = [&](std::uint64_t bits) {
    std::uint64_t sign = std::uint64_t{1} << (8 * size_of(type) - 1);
    auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return bits & sign ? -magnitude : magnitude;
  };
  return std::fabs(static_cast<double>(order(a) - order(b)));
}

void check(Op op, DType from, DType to, double bound,
           const std::vector<std::vector<std::uint64_t>> &operands) {
  std::vector<std::uint64_t> actual = run(op, from, to, operands);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    std::vector<Literal> x;
    for (const auto &o : operands)
      x.push_back({from, is_float(from) ? o[i] : wrap_int(from, o[i])});
    double d = distance(to, actual[i], apply(op, to, x));
    if (d > worst) worst = d, at = i;
  }
  std::vector<Literal> x;
  for (const auto &o : operands) x.push_back({from, o[at]});
  EXPECT_LE(worst, bound) << info(op).text << " " << to_string(from) << " of "
                          << (is_float(from) ? as_double(x[0]) : double(as_int(x[0]))) << ", "
                          << (x.size() > 1 && is_float(from) ? as_double(x[1]) : 0) << " gives "
                          << std::hex << actual[at] << ", expected " << apply(op, to, x);
}

std::vector<Op> ops_of(OpKind kind) {
  std::vector<Op> ops;
  for (int i = 0; i < kNumOps; ++i)
    if (info(static_cast<Op>(i)).kind == kind) ops.push_back(static_cast<Op>(i));
  return ops;
}

/// f64 results keep their digits up to a few units more than the f32 ones that they serve.
double bound_of(Op op, DType type) {
  if (info(op).is(Exact)) return 0;
  if (type == DType::F64) return 3 * info(op).max_ulp + 1;
  return is_float16(type) ? 1 : info(op).max_ulp;
}

std::vector<std::uint64_t> all_16() {
  std::vector<std::uint64_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i;
  return bits;
}

/// Patterns over the whole range, and special values.
std::vector<std::uint64_t> samples(DType type, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> bits;
  std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t r = random() & mask;
    if (is_float(type) && !is_float8(type) && i % 4 != 0)
      r = encode_float(type, (static_cast<double>(random() % 819201) - 1e6) * 1e-5);
    if (!is_float(type) && i % 4 == 0) r = (random() % 9 - 4) & mask;
    bits.push_back(is_bool(type) ? r & 1 : r);
  }
  return bits;
}

class OpsHost : public testing::TestWithParam<DType> {};

TEST_P(OpsHost, Unary) {
  DType type = GetParam();
  auto inputs = is_float16(type) ? all_16() : samples(type, 16384, 1);
  for (Op op : ops_of(OpKind::Unary)) {
    if (!accepts(info(op).types, type)) continue;
    // About their zeros at negative arguments these lose relative accuracy in f64.
    bool has_zeros = (op == Op::Lgamma || op == Op::Digamma) && type == DType::F64;
    auto x = inputs;
    for (std::uint64_t &bits : x)
      if (has_zeros) bits &= ~(std::uint64_t{1} << 63);
    check(op, type, type, bound_of(op, type), {x});
  }
}

TEST_P(OpsHost, BinaryAndCompare) {
  DType type = GetParam();
  std::vector<std::vector<std::uint64_t>> inputs = {samples(type, 8192, 2), samples(type, 8192, 3)};
  for (Op op : ops_of(OpKind::Binary))
    if (accepts(info(op).types, type)) check(op, type, type, bound_of(op, type), inputs);
  for (Op op : ops_of(OpKind::Compare))
    if (accepts(info(op).types, type)) check(op, type, DType::Bool, 0, inputs);
}

TEST_P(OpsHost, CastsAndTests) {
  DType type = GetParam();
  auto inputs = size_of(type) == 2 ? all_16() : samples(type, 8192, 4);
  for (int t = 0; t < kNumDTypes; ++t)
    for (Op op : {Op::Cast, Op::CastSat}) check(op, type, static_cast<DType>(t), 0, {inputs});
  for (Op op : ops_of(OpKind::Test)) check(op, type, DType::Bool, 0, {inputs});
}

TEST_P(OpsHost, Fma) {
  DType type = GetParam();
  if (!accepts(OpTypes::Float, type)) return;
  check(Op::Fma, type, type, 0,
        {samples(type, 8192, 5), samples(type, 8192, 6), samples(type, 8192, 7)});
}

std::vector<DType> all_dtypes() {
  std::vector<DType> types;
  for (int t = 0; t < kNumDTypes; ++t) types.push_back(static_cast<DType>(t));
  return types;
}

INSTANTIATE_TEST_SUITE_P(DTypes, OpsHost, testing::ValuesIn(all_dtypes()),
                         [](const auto &p) { return std::string(to_string(p.param)); });

}  // namespace
}  // namespace fuse::test
