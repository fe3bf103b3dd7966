// Divisions by a reciprocal (`recip`), run on the host executor: bit for bit those of f32 division.
#include "codegen/host.h"
#include "ir/float_bits.h"
#include "ir/kernel.h"
#include "ir/literal_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace fuse::test {
namespace {

constexpr std::size_t kRow = 8;  // dividends that a thread divides by one divisor

std::string kernel_text(std::size_t rows, const std::string &divisor) {
  std::string n = std::to_string(rows);
  return "kernel @divide(%x: f32[" + n + ", 8], %s: f32[" + n + "]) -> (%y: f32[" + n +
         ", 8]) threads 128 cluster 1 index 32 {\n  dims i: " + n +
         ", j: 8\n  layout L: i = grid " + std::to_string((rows + 127) / 128) +
         " . thread 128; j = vec 8\n  in L {\n    %a = load %x[i*8 + j]\n    %b = " + divisor +
         "\n    %q = div %a, %b : f32 recip\n    store %y[i*8 + j], %q\n  }\n}\n";
}

std::vector<float> divide(const std::vector<float> &x, const std::vector<float> &s,
                          const std::string &divisor = "load %s[i]") {
  Kernel kernel = parse_kernel(kernel_text(s.size(), divisor));
  verify(kernel);
  std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
  const void *pointers[] = {x.data(), s.data(), y.data()};
  void *arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
  HostLaunch launch;
  launch.grid = (s.size() + 127) / 128;
  launch.arguments = arguments;
  HostKernel(kernel, Target::named("host")).launch(launch);
  return y;
}

void expect_quotients(const std::vector<float> &x, const std::vector<float> &s) {
  std::vector<float> y = divide(x, s);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float expected = x[i] / s[i / kRow];
    bool same = std::isnan(expected)
                    ? std::isnan(y[i])
                    : std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(y[i]);
    ASSERT_TRUE(same) << std::hexfloat << x[i] << " / " << s[i / kRow] << " gives " << y[i]
                      << ", not " << expected;
  }
}

/// Any bits, or those of numbers near 1.
std::vector<float> samples(std::size_t count, unsigned seed, bool moderate) {
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (float &v : x) {
    auto bits = static_cast<std::uint32_t>(random());
    if (moderate) bits = (bits & 0x807fffff) | (0x3f800000 + (bits >> 8 & 0xf800000) % 0x8000000);
    v = std::bit_cast<float>(bits);
  }
  return x;
}

TEST(Division, ModerateNumbers) {
  expect_quotients(samples(kRow * 40000, 1, true), samples(40000, 2, true));
}

TEST(Division, AnyBits) {
  expect_quotients(samples(kRow * 40000, 3, false), samples(40000, 4, false));
}

/// A row of moderate dividends by any divisor, and the other way round.
TEST(Division, OneSideOfAnyBits) {
  expect_quotients(samples(kRow * 20000, 5, true), samples(20000, 6, false));
  expect_quotients(samples(kRow * 20000, 7, false), samples(20000, 8, true));
}

float between_1_and_2(std::mt19937 &random) {
  return std::bit_cast<float>(0x3f800000 + static_cast<std::uint32_t>(random() % 0x800000));
}

/// Quotients next to the middle between two numbers: a = q s rounded, for all last bits of s.
TEST(Division, QuotientsNearTheMiddle) {
  std::mt19937 random(9);
  std::vector<float> x, s;
  for (int row = 0; row < 40000; ++row) {
    s.push_back(between_1_and_2(random));
    for (std::size_t j = 0; j < kRow; ++j) {
      double q = between_1_and_2(random) + 0x1p-24;
      float a = static_cast<float>(q * s.back());
      x.push_back(j % 2 ? a : std::nextafter(a, 0.0f));
    }
  }
  expect_quotients(x, s);
}

TEST(Division, SpecialValues) {
  float inf = std::numeric_limits<float>::infinity();
  std::vector<float> special = {0.0f,
                                -0.0f,
                                1.0f,
                                -1.0f,
                                inf,
                                -inf,
                                NAN,
                                0x1p-149f,
                                -0x1p-149f,
                                0x1p-126f,
                                0x1p-60f,
                                0x1p60f,
                                0x1.fffffep127f,
                                -0x1.fffffep127f,
                                3.0f,
                                0x1.fffffep0f};
  std::vector<float> x, s;
  for (float divisor : special)
    for (std::size_t first = 0; first < special.size(); first += kRow) {
      s.push_back(divisor);
      x.insert(x.end(), special.begin() + static_cast<std::ptrdiff_t>(first),
               special.begin() + static_cast<std::ptrdiff_t>(first + kRow));
    }
  // Each alone among ones too: the others do not decide for it.
  for (float divisor : special)
    for (float dividend : special) {
      s.push_back(divisor);
      x.insert(x.end(), kRow, 1.0f);
      x[x.size() - 3] = dividend;
    }
  expect_quotients(x, s);
}

TEST(Division, Literals) {
  std::vector<float> x = samples(kRow * 1000, 10, false);
  for (float divisor : {3.0f, 448.0f, 4097.0f, 0.1f, 0.5f, 1e-30f, 1e38f, -7.0f, 0.0f}) {
    std::vector<float> y =
        divide(x, std::vector<float>(1000),
               "const " + to_string(float_literal(DType::F32, divisor)) + " : f32");
    for (std::size_t i = 0; i < x.size(); ++i) {
      float expected = x[i] / divisor;
      ASSERT_TRUE(expected == y[i] || (std::isnan(expected) && std::isnan(y[i])))
          << std::hexfloat << x[i] << " / " << divisor << " gives " << y[i];
    }
  }
}

TEST(Division, OnlyDivOfF32HasTheForm) {
  std::string text = kernel_text(128, "load %s[i]");
  text.replace(text.find("div %a"), 3, "mul");
  Kernel kernel = parse_kernel(text);
  EXPECT_THROW(verify(kernel), Error);
}

}  // namespace
}  // namespace fuse::test
