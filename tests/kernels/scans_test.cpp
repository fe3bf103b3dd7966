// Scans on every kind of layout: the interpreter against plain loops, and the emitted code on the
// host executor, in two orders of threads, against the interpreter.
#include "codegen/host.h"
#include "ir/kernel_interpret.h"

#include <fuse/target.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fuse {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Two dims, of which r is scanned, and how they lie on the machine.
struct Case {
  const char *name;
  int threads;
  std::int64_t a, r;
  const char *layout;
  bool has_loop;
};

std::ostream &operator<<(std::ostream &out, const Case &c) { return out << c.name; }

struct Mode {
  const char *monoid;
  bool exclusive, reverse;
};

std::string text_of(const Case &c, const Mode &mode) {
  bool is_online = mode.monoid == std::string("online");
  std::string text = "kernel @k(%x: f32[" + std::to_string(c.a) + ", " + std::to_string(c.r) +
                     "]) -> (%y: f32[" + std::to_string(c.a) + ", " + std::to_string(c.r) +
                     "]) threads " + std::to_string(c.threads) + " cluster 1 index 64 {\n";
  text += "dims a: " + std::to_string(c.a) + ", r: " + std::to_string(c.r) +
          "\nlayout L: " + std::string(c.layout) + "\nin L {\n";
  if (c.has_loop) text += std::string("for k") + (mode.reverse ? " reverse" : "") + " {\n";
  std::string at = "[a*" + std::to_string(c.r) + " + r]";
  text += "%v = load %x" + at + "\n%one = const 1.0 : f32\n";
  text += std::string("%s") + (is_online ? ", %n" : "") + " = scan " + mode.monoid + "(%v" +
          (is_online ? ", %one" : "") + ") over r" + (mode.exclusive ? " exclusive" : "") +
          (mode.reverse ? " reverse" : "") + "\n";
  text += is_online ? "%l = log %n\n%t = add %l, %s\n" : "%t = add %s, %s\n";
  text += "store %y" + at + ", %t\n}\n}\n";
  return text + (c.has_loop ? "}\n" : "");
}

double element(std::int64_t i) { return 0.25 + static_cast<double>(i * 7919 % 97) / 64; }

struct Scalar {
  double identity;
  double (*combine)(double, double);
};

Scalar scalar_of(const std::string &monoid) {
  if (monoid == "sum") return {0, [](double a, double b) { return a + b; }};
  if (monoid == "prod") return {1, [](double a, double b) { return a * b; }};
  if (monoid == "max") return {-kInfinity, [](double a, double b) { return std::fmax(a, b); }};
  if (monoid == "min") return {kInfinity, [](double a, double b) { return std::fmin(a, b); }};
  return {-kInfinity, [](double a, double b) {
            double m = std::fmax(a, b);
            return m == -kInfinity ? m : m + std::log(std::exp(a - m) + std::exp(b - m));
          }};
}

std::vector<double> expected(const Case &c, const Mode &mode, const std::vector<float> &x) {
  Scalar s = scalar_of(mode.monoid);
  bool is_online = mode.monoid == std::string("online");
  std::vector<double> y(x.size());
  for (std::int64_t a = 0; a < c.a; ++a) {
    double running = s.identity;
    for (std::int64_t n = 0; n < c.r; ++n) {
      auto i = static_cast<std::size_t>(a * c.r + (mode.reverse ? c.r - 1 - n : n));
      double next = s.combine(running, x[i]), state = mode.exclusive ? running : next;
      y[i] = is_online ? state : state + state;
      running = next;
    }
  }
  return y;
}

std::vector<float> run_host(const Kernel &kernel, const HostKernel &compiled, std::vector<float> x,
                            std::uint64_t seed) {
  std::vector<float> y(x.size(), NAN);
  void *pointers[] = {x.data(), y.data()};
  void *arguments[] = {&pointers[0], &pointers[1]};
  HostLaunch launch;
  launch.grid = static_cast<std::uint64_t>(*grid_size(kernel).constant());
  launch.arguments = arguments;
  launch.shuffle_seed = seed;
  compiled.launch(launch);
  return y;
}

class Scans : public testing::TestWithParam<Case> {};

void expect_scan(const Case &c, const Mode &mode) {
  SCOPED_TRACE(text_of(c, mode));
  Kernel kernel = parse_kernel(text_of(c, mode));
  verify(kernel);
  EXPECT_EQ(to_string(parse_kernel(to_string(kernel))), to_string(kernel));
  auto size = static_cast<std::size_t>(c.a * c.r);
  std::vector<float> x(size), y(size, NAN);
  bool is_product = mode.monoid == std::string("prod");
  for (std::size_t i = 0; i < size; ++i)
    x[i] = static_cast<float>(is_product ? 1 + (element(std::int64_t(i)) - 1) / 64
                                         : element(std::int64_t(i)));
  interpret(kernel, {{{x.data(), c.a * c.r, 0}, {y.data(), c.a * c.r, 0}}, {}, 0});
  std::vector<double> wanted = expected(c, mode, x);
  HostKernel compiled(kernel, Target::named("host"));
  std::vector<float> first = run_host(kernel, compiled, x, 0);
  std::vector<float> second = run_host(kernel, compiled, x, 5);
  bool is_exact = mode.monoid != std::string("online");
  for (std::size_t i = 0; i < size; ++i) {
    bool is_near = wanted[i] == y[i] || std::fabs(wanted[i] - y[i]) <= 3e-5 * std::fabs(wanted[i]);
    ASSERT_TRUE(is_near) << i << ": " << y[i] << ", not " << wanted[i];
    ASSERT_EQ(first[i], second[i]) << i << ": depends on the order of threads";
    if (is_exact)
      ASSERT_EQ(first[i], y[i]) << i;
    else
      ASSERT_TRUE(first[i] == y[i] || std::fabs(first[i] - y[i]) <= 1e-5 * std::fabs(y[i])) << i;
  }
}

TEST_P(Scans, AgreeOnEveryMonoidAndDirection) {
  for (const char *monoid : {"sum", "prod", "max", "min", "online"})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        expect_scan(GetParam(), {monoid, exclusive, reverse});
        if (HasFatalFailure()) return;
      }
}

/// Two blocks scan their parts of a row, each from what the parts before it have added up to.
TEST(ScanParts, StartWhereThePartsBeforeEnd) {
  for (bool reverse : {false, true}) {
    std::string word = reverse ? " reverse" : "";
    Kernel kernel = parse_kernel(
        "kernel @k(%x: f32[500], %o: f32[2]) -> (%y: f32[500]) threads 64 cluster 1 index 64 {\n"
        "dims p: 2, r: 500\n"
        "layout L: r = grid 2 . loop:k 2 . thread 64 . reg 2; p = grid 2\n"
        "in L {\n%s = load %o[p]\nfor k" +
        word + " {\n%v = load %x[r]\n%c = scan sum(%v) over r from %s exclusive" + word +
        "\nstore %y[r], %c\n}\n}\n}\n");
    verify(kernel);
    std::vector<float> x(500), o(2), y(500, NAN), host(500, NAN), wanted(500);
    for (std::size_t i = 0; i < 500; ++i) x[i] = static_cast<float>(i % 7);
    o[reverse ? 1 : 0] = 3;
    float running = 3;
    for (std::size_t n = 0; n < 500; ++n) {
      std::size_t i = reverse ? 499 - n : n;
      if (n == (reverse ? 244u : 256u)) o[reverse ? 0 : 1] = running;
      wanted[i] = running;
      running += x[i];
    }
    interpret(kernel, {{{x.data(), 500, 0}, {o.data(), 2, 0}, {y.data(), 500, 0}}, {}, 0});
    EXPECT_EQ(y, wanted);
    void *pointers[] = {x.data(), o.data(), host.data()};
    void *arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
    HostLaunch launch;
    launch.grid = 2;
    launch.arguments = arguments;
    HostKernel(kernel, Target::named("host")).launch(launch);
    EXPECT_EQ(host, wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Scans,
    testing::Values(
        Case{"thread", 32, 33, 11, "a = grid 2 . thread 32; r = loop:k 3 . reg 4", true},
        Case{"warp", 64, 5, 150, "a = grid 3 . thread 2@32; r = thread 32 . reg 5", false},
        Case{"part_of_a_warp", 32, 6, 21, "a = grid 2 . thread 4@8; r = reg 2 . thread 8 . reg 2",
             false},
        Case{"block", 128, 2, 1401, "a = grid 2; r = reg 3 . thread 128 . vec 4", false},
        Case{"long_block", 1024, 1, 5 * 1024 - 3, "a = grid 1; r = reg 5 . thread 1024", false},
        Case{"odd_warps", 96, 2, 1001, "a = grid 2; r = loop:k 3 . reg 2 . thread 96 . reg 2",
             true},
        Case{"between_rows", 256, 8, 250,
             "a = thread 8; r = loop:k 4 . reg 2 . thread 32@8 . reg 2", true},
        Case{"whole_warps_apart", 256, 64, 40,
             "a = thread 64; r = loop:k 2 . reg 2 . thread 4@64 . reg 3", true},
        Case{"two_digits", 256, 3, 2000, "a = grid 3; r = reg 2 . thread 4@64 . thread 64 . reg 4",
             false},
        Case{"slots_beside", 64, 8, 300,
             "a = grid 2 . reg 2 . vec 2; r = loop:k 3 . thread 64 . reg 2", true},
        Case{"loops_around", 64, 9, 130, "a = loop:k 5 . thread 2@32; r = thread 32 . reg 5",
             true}),
    [](const testing::TestParamInfo<Case> &c) { return c.param.name; });

}  // namespace
}  // namespace fuse
