// 16-bit floats and hardware approximations on the host, bit by bit.
#include "host_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace {

using fuse::HostKernel;
using fuse::test::per_thread;
using fuse::test::run;

/// Applies a kernel body to elements of `in`, each `width` values of type In, giving one Out each.
template <class Out, class In>
std::vector<Out> apply(const std::string &in_type, const std::string &out_type,
                       const std::string &body, const std::vector<In> &in, std::size_t width = 1) {
  HostKernel kernel(per_thread(in_type, out_type, body), {}, 128, 1);
  std::vector<Out> out(in.size() / width);
  run(kernel, in.data(), out.data(), out.size(), (out.size() + 127) / 128);
  return out;
}

/// A 16-bit format: value = significand * 2^(exponent - bias), by definition and not by tricks.
struct Format {
  const char *type;
  int exponent_bits;
  int mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  double value(std::uint16_t bits) const {
    int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    int mantissa = bits & ((1 << mantissa_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
      return mantissa ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias() - mantissa_bits);
  }

  /// The nearest value to a finite long double, ties to even, by bisection over all magnitudes.
  std::uint16_t nearest(long double x) const {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const long double magnitude = std::fabs(x);
    int low = 0, high = ((1 << exponent_bits) - 1) << mantissa_bits;  // infinity
    while (high - low > 1) {
      int middle = (low + high) / 2;
      (value(static_cast<std::uint16_t>(middle)) <= magnitude ? low : high) = middle;
    }
    // Infinity stands for the value that would follow the largest one.
    long double below = value(static_cast<std::uint16_t>(low));
    long double above = high == ((1 << exponent_bits) - 1) << mantissa_bits
                            ? std::ldexp(1.0L, bias() + 1)
                            : value(static_cast<std::uint16_t>(high));
    long double middle = (below + above) / 2;
    bool up = magnitude > middle || (magnitude == middle && (low & 1));
    return static_cast<std::uint16_t>((up ? high : low) | sign);
  }
};

constexpr Format kHalf{"half", 5, 10};
constexpr Format kBFloat{"bfloat", 8, 7};

std::vector<std::uint16_t> all_16_bits() {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

class Floats : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, Floats, ::testing::Values(kHalf, kBFloat),
                         [](const auto &info) { return std::string(info.param.type); });

std::string unary(const Format &format, const std::string &in, const std::string &expression,
                  const std::string &out) {
  return "%x = load " + (in.empty() ? format.type : in) +
         ", ptr addrspace(1) %p\n  %r = " + expression + "\n  store " +
         (out.empty() ? format.type : out) + " %r, ptr addrspace(1) %q\n";
}

TEST_P(Floats, ExtendToF32IsExact) {
  const Format format = GetParam();
  std::string type = format.type;
  auto in = all_16_bits();
  auto out =
      apply<float>(type, "float", unary(format, "", "fpext " + type + " %x to float", "float"), in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    double expected = format.value(in[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(out[i])) << i;
    else
      ASSERT_TRUE(out[i] == expected && std::signbit(out[i]) == std::signbit(expected)) << i;
  }
}

/// Every value of the format, every midpoint, and the f32 neighbours of both.
std::vector<float> around_all(const Format &format) {
  std::vector<float> values;
  for (std::uint16_t bits : all_16_bits()) {
    float value = static_cast<float>(format.value(bits));
    float next = static_cast<float>(format.value(static_cast<std::uint16_t>(bits + 1)));
    if (!std::isfinite(value) || !std::isfinite(next)) continue;
    for (float x : {value, static_cast<float>((double{value} + next) / 2)})
      for (float y : {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)})
        values.push_back(y);
  }
  return values;
}

TEST_P(Floats, TruncateFromF32RoundsToNearestEven) {
  const Format format = GetParam();
  std::string type = format.type;
  std::vector<float> in = around_all(format);
  in.insert(in.end(), {65519.0f, 65520.0f, 3.4e38f, -3.4e38f, 1e-45f, -1e-45f});
  auto out = apply<std::uint16_t>("float", type,
                                  unary(format, "float", "fptrunc float %x to " + type, ""), in);
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(out[i], format.nearest(in[i])) << in[i] << " " << i;
}

TEST_P(Floats, TruncateOfSpecialValues) {
  const Format format = GetParam();
  std::string type = format.type;
  std::vector<float> in{INFINITY, -INFINITY, NAN, -NAN, std::bit_cast<float>(0x7f800001u)};
  auto out = apply<std::uint16_t>("float", type,
                                  unary(format, "float", "fptrunc float %x to " + type, ""), in);
  EXPECT_EQ(format.value(out[0]), INFINITY);
  EXPECT_EQ(format.value(out[1]), -INFINITY);
  for (int i = 2; i < 5; ++i) EXPECT_TRUE(std::isnan(format.value(out[i])));
}

TEST_P(Floats, TruncateFromF64RoundsOnce) {
  const Format format = GetParam();
  std::string type = format.type;
  std::vector<double> in;
  for (float x : around_all(format))
    for (double y :
         {double{x}, std::nextafter(double{x}, 1e300), std::nextafter(double{x}, -1e300)})
      in.push_back(y);
  auto out = apply<std::uint16_t>("double", type,
                                  unary(format, "double", "fptrunc double %x to " + type, ""), in);
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], format.nearest(in[i])) << in[i];
}

TEST_P(Floats, ConvertFromI64RoundsOnce) {
  const Format format = GetParam();
  std::string type = format.type;
  std::vector<std::int64_t> in{0, 1, -1, 257, 65519, 65520, INT64_MAX, INT64_MIN};
  for (int shift = 0; shift < 60; ++shift)
    for (std::int64_t top : {257, 2049, 259, -257, -2051})
      for (std::int64_t low : {-1, 0, 1})
        if (shift < 50) in.push_back((top << shift) + low);
  auto out =
      apply<std::uint16_t>("i64", type, unary(format, "i64", "sitofp i64 %x to " + type, ""), in);
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(out[i], format.nearest(static_cast<long double>(in[i]))) << in[i];
}

TEST_P(Floats, ArithmeticRoundsOnce) {
  const Format format = GetParam();
  std::string type = format.type;
  auto in = all_16_bits();
  auto out =
      apply<std::uint16_t>(type, type, unary(format, "", "fmul " + type + " %x, %x", ""), in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    long double x = format.value(in[i]);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(format.value(out[i])));
    } else if (std::isfinite(x)) {
      ASSERT_EQ(out[i], format.nearest(x * x)) << i;
    }
  }
}

std::vector<std::uint16_t> fma_of_half(const std::vector<std::uint16_t> &triples) {
  return apply<std::uint16_t>("[3 x half]", "half", R"(
    %a = load half, ptr addrspace(1) %p
    %pb = getelementptr half, ptr addrspace(1) %p, i64 1
    %b = load half, ptr addrspace(1) %pb
    %pc = getelementptr half, ptr addrspace(1) %p, i64 2
    %c = load half, ptr addrspace(1) %pc
    %r = call half @llvm.fma.f16(half %a, half %b, half %c)
    store half %r, ptr addrspace(1) %q
  )",
                              triples, 3);
}

TEST(HostMath, FusedMultiplyAddOfHalfRoundsOnce) {
  std::vector<std::uint16_t> in;
  for (std::uint32_t k = 0; k < 40000; ++k)
    for (std::uint32_t factor : {40503u, 30011u, 52817u})
      in.push_back(static_cast<std::uint16_t>(k * factor >> 3));
  auto out = fma_of_half(in);
  int checked = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    long double a = kHalf.value(in[3 * i]), b = kHalf.value(in[3 * i + 1]);
    long double c = kHalf.value(in[3 * i + 2]), sum = a * b + c;
    // Only where the sum is exact in 64 bits, as it mostly is: then there is one rounding here too.
    if (!std::isfinite(sum) || sum == 0 || sum - a * b != c || sum - c != a * b) continue;
    ASSERT_EQ(out[i], kHalf.nearest(sum)) << a << " " << b << " " << c;
    ++checked;
  }
  EXPECT_GT(checked, 20000);
}

TEST(HostMath, FusedMultiplyAddBreaksATieByTheAddend) {
  // 3 * 683 = 2049 is half way between 2048 and 2050; an addend of 2^-24 is lost in f32.
  std::vector<std::uint16_t> in;
  for (std::uint16_t addend : {0x0000, 0x0001, 0x8001})
    in.insert(in.end(), {kHalf.nearest(3.0L), kHalf.nearest(683.0L), addend});
  auto out = fma_of_half(in);
  EXPECT_EQ(kHalf.value(out[0]), 2048);  // tie to even
  EXPECT_EQ(kHalf.value(out[1]), 2050);  // just above the tie
  EXPECT_EQ(kHalf.value(out[2]), 2048);  // just below
}

TEST(HostMath, MaximumOfBFloatKeepsNaN) {
  std::vector<std::uint16_t> in{0x7fc0, 0x3f80, 0xbf80};
  auto out = apply<std::uint16_t>("bfloat", "bfloat", R"(
    %x = load bfloat, ptr addrspace(1) %p
    %r = call bfloat @llvm.maximum.bf16(bfloat %x, bfloat 0.0)
    store bfloat %r, ptr addrspace(1) %q
  )",
                                  in);
  EXPECT_TRUE(std::isnan(kBFloat.value(out[0])));
  EXPECT_EQ(out[1], 0x3f80);
  EXPECT_EQ(out[2], 0);
}

std::vector<float> f32_samples() {
  std::vector<float> samples{0.0f, -0.0f, INFINITY, NAN, 1e-40f, -1e-40f, 1.0f};
  for (int e = -140; e < 128; ++e)
    for (float m : {1.0f, 1.1f, 1.7f}) samples.push_back(std::ldexp(m, e));
  return samples;
}

void expect_unary(const std::string &expression, float (*expected)(float)) {
  auto in = f32_samples();
  auto out = apply<float>("float", "float",
                          "%x = load float, ptr addrspace(1) %p\n%r = " + expression +
                              "\nstore float %r, ptr addrspace(1) %q\n",
                          in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    float value = expected(in[i]);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(out[i])) << in[i];
    else
      EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(value)) << in[i];
  }
}

float flush(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

TEST(HostMath, ApproximationsAreRoundedOnce) {
  expect_unary("call float @llvm.exp2.f32(float %x)",
               [](float x) { return static_cast<float>(std::exp2(double{x})); });
  expect_unary("call float @llvm.nvvm.ex2.approx.ftz.f32(float %x)",
               [](float x) { return flush(static_cast<float>(std::exp2(double{flush(x)}))); });
  expect_unary("call float @llvm.nvvm.rcp.approx.ftz.f(float %x)",
               [](float x) { return flush(1.0f / flush(x)); });
  expect_unary("call float @llvm.nvvm.rsqrt.approx.f(float %x)",
               [](float x) { return static_cast<float>(1.0 / std::sqrt(double{x})); });
}

}  // namespace
