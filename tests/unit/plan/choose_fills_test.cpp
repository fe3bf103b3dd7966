// What loads give where nothing is read, and which reductions then need no tests.
#include "passes/schedule/choose_fills.h"

#include "ir/invalid_values.h"

#include <gtest/gtest.h>

#include <limits>

namespace fuse {
namespace {

/// The first statement of a kind in the only layout.
const Stmt &find(const Kernel &kernel, StmtKind kind) {
  for (const Stmt &s : kernel.body.at(0).body)
    if (s.kind == kind) return s;
  throw std::runtime_error("no such statement");
}

Kernel kernel_of(const std::string &dtype, const std::string &body) {
  Kernel kernel = parse_kernel("kernel @k(%x: " + dtype + "[B, 100]) -> (%y: " + dtype +
                               "[B]) threads 32 cluster 1 index 64 {\n"
                               "  dims i: B, r: 100\n"
                               "  layout L: i = grid B; r = reg 2 . thread 32 . vec 2\n"
                               "  in L {\n    %a = load %x[i*100 + r]\n" +
                               body + "  }\n}\n");
  choose_fills(kernel);
  return kernel;
}

/// Whether the reduction needs no tests along r.
bool is_neutral(const std::string &dtype, const std::string &body) {
  Kernel kernel = kernel_of(dtype, body);
  return InvalidValues(kernel).is_neutral(find(kernel, StmtKind::Reduce), 1);
}

TEST(ChooseFills, SumsTakeZero) {
  Kernel kernel = kernel_of("f32", "%s = reduce sum(%a) over r\nstore %y[i], %s\n");
  InvalidValues values(kernel);
  EXPECT_EQ(find(kernel, StmtKind::Load).fill, 0U);
  EXPECT_TRUE(values.is_neutral(find(kernel, StmtKind::Reduce), 1));
  EXPECT_TRUE(is_neutral("f32", "%q = mul %a, %a : f32\n%s = reduce sum(%q) over r\n"));
  EXPECT_TRUE(is_neutral("f32", "%q = neg %a : f32\n%s = reduce sum(%q) over r\n"));
}

TEST(ChooseFills, MaximaTakeTheLeastValue) {
  Kernel kernel = kernel_of("f32", "%s = reduce max(%a) over r\nstore %y[i], %s\n");
  InvalidValues values(kernel);
  EXPECT_EQ(find(kernel, StmtKind::Load).fill, 0xff800000U);  // -inf
  EXPECT_TRUE(values.is_neutral(find(kernel, StmtKind::Reduce), 1));
  EXPECT_TRUE(is_neutral("bf16", "%f = cast %a : f32\n%s = reduce max(%f) over r\n"));
  EXPECT_TRUE(is_neutral("i32", "%s = reduce max(%a) over r\n"));
  EXPECT_TRUE(is_neutral("u8", "%s = reduce min(%a) over r\n"));
  EXPECT_TRUE(is_neutral("f32", "%n = neg %a : f32\n%s = reduce min(%n) over r\n"));
  EXPECT_TRUE(is_neutral("f64", "%s = reduce prod(%a) over r\n"));
}

TEST(ChooseFills, OnlineNeedsAFiniteWeight) {
  EXPECT_TRUE(is_neutral("f32", "%w = const 1.0 : f32\n%m, %s = reduce online(%a, %w) over r\n"));
  EXPECT_FALSE(
      is_neutral("f32", "%w = const 0x7f800000 : f32\n%m, %s = reduce online(%a, %w) over r\n"));
  EXPECT_FALSE(is_neutral("f32", "%m, %s = reduce online(%a, %a) over r\n"));
}

TEST(ChooseFills, TestsStayWhereTheValueIsAnother) {
  EXPECT_FALSE(is_neutral("f32",
                          "%q = exp %a : f32\n%one = const 1.0 : f32\n"
                          "%p = add %q, %one : f32\n%s = reduce sum(%p) over r\n"));
  EXPECT_FALSE(is_neutral("f32",
                          "%n = index r : i64\n%f = cast %n : f32\n"
                          "%p = add %a, %f : f32\n%s = reduce sum(%p) over r\n"));
  EXPECT_FALSE(is_neutral("f32", "%mu, %m2, %n = reduce welford(%a) over r\n"));
  EXPECT_FALSE(is_neutral("f32", "%n = index r : i64\n%s, %j = reduce argmax(%a, %n) over r\n"));
}

/// A load that does not depend on the folded dim reads there, whatever the position.
TEST(ChooseFills, ABroadcastIsReadAtInvalidPositionsToo) {
  EXPECT_FALSE(is_neutral("f32",
                          "%b = load %x[i*100]\n%n = index r : i64\n"
                          "%z = mul %n, %n : i64\n%f = cast %z : f32\n"
                          "%q = mul %b, %f : f32\n%s = reduce sum(%q) over r\n"));
}

/// A guard that is false gives 0 at valid positions, so such loads keep 0.
TEST(ChooseFills, GuardedLoadsKeepZero) {
  Kernel kernel = kernel_of("f32",
                            "%n = index r : i64\n%l = const 7 : i64\n%g = lt %n, %l : bool\n"
                            "%b = load %x[i*100 + r] if %g\n%s = reduce max(%b) over r\n");
  InvalidValues values(kernel);
  for (const Stmt &s : kernel.body[0].body)
    if (s.kind == StmtKind::Load && s.guard != kNone) {
      EXPECT_EQ(s.fill, 0U);
    }
  EXPECT_FALSE(values.is_neutral(find(kernel, StmtKind::Reduce), 1));
}

}  // namespace
}  // namespace fuse
