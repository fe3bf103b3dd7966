// Index polynomials: canonical form, division with and without ranges, bounds, and, on random
// expressions, that simplified and plain forms have equal values.
#include "ir/index.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

const Index i = Index::dim(0), j = Index::dim(1), k = Index::dim(2);
const Index N = Index::symbol("N"), M = Index::symbol("M");

std::string text(const Index &index) {
  return to_string(index, [](const Atom &a) {
    if (a.kind == Atom::Kind::Value) return "%" + std::to_string(a.id);
    return std::string(1, static_cast<char>('i' + a.id));
  });
}

Ranges ranges(Index ei, Index ej, Index ek = 1) {
  Ranges r;
  r.extent = [=](DimId d) -> std::optional<Index> { return d == 0 ? ei : d == 1 ? ej : ek; };
  r.symbol_min = [](const std::string &) { return INT64_C(1); };
  return r;
}

TEST(Index, CanonicalForm) {
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(j + i * 4097), "i*4097 + j");
  EXPECT_EQ(text((i * 512 + j) * 4096 + k), "i*2097152 + j*4096 + k");
  EXPECT_EQ(text(Index(3) - i * 2 + j - j), "-i*2 + 3");
  EXPECT_EQ(text((i + 1) * (N - 1)), "i*N - i + N - 1");
  EXPECT_EQ(text(Index(Dim(3) * Dim::symbol("N"))), "N*3");
  EXPECT_EQ(text(Index::value(7) * 128 + i), "i + %7*128");
  EXPECT_EQ(i * N + j, j + N * i);
  EXPECT_FALSE(i * N + j == j + N * i + 1);
}

TEST(Index, TextOfDivisions) {
  EXPECT_EQ(text(floordiv(i + 3, 4)), "(i + 3) / 4");
  EXPECT_EQ(text(mod(i, 8)), "i % 8");
  EXPECT_EQ(text(floordiv(i, N) * 5 + mod(i, N)), "(i / N)*5 + i % N");
  EXPECT_EQ(text(Index(0) - floordiv(i, 3)), "-(i / 3)");
  EXPECT_EQ(text(mod(floordiv(i, 3), 5)), "(i / 3) % 5");
  EXPECT_EQ(text(floordiv(i, N + 1)), "i / (N + 1)");
}

TEST(Index, DivisionOfConstantsFloors) {
  EXPECT_EQ(floordiv(-1, 8), Index(-1));
  EXPECT_EQ(floordiv(-9, 8), Index(-2));
  EXPECT_EQ(mod(-9, 8), Index(7));
  EXPECT_EQ(ceildiv(-9, 8), Index(-1));
  EXPECT_EQ(ceildiv(17, 8), Index(3));
  EXPECT_EQ(ceildiv(0, 8), Index(0));
}

TEST(Index, DivisionTakesOutMultiples) {
  EXPECT_EQ(floordiv(i * 8 + j, 4), i * 2 + floordiv(j, 4));
  EXPECT_EQ(mod(i * 8 + j, 4), mod(j, 4));
  EXPECT_EQ(floordiv(i * N + j, N), i + floordiv(j, N));
  EXPECT_EQ(floordiv(i * (N + 1) + j, N + 1), i + floordiv(j, N + 1));
  Index square = (i * (N + 2) + j) * (N + 2);
  EXPECT_EQ(floordiv(square + i, N + 2), i * (N + 2) + j + floordiv(i, N + 2));
  EXPECT_EQ(mod(square, N + 2), Index(0));
  EXPECT_EQ(floordiv(floordiv(i, 3), 5), floordiv(i, 15));
  EXPECT_EQ(mod(mod(i, 12), 4), mod(i, 4));
}

TEST(Index, DivisionUsesRanges) {
  Ranges r = ranges(N, 32, 4);
  EXPECT_EQ(floordiv(i * 32 + j, 32, r), i);
  EXPECT_EQ(mod(i * 32 + j, 32, r), j);
  EXPECT_EQ(floordiv(i * 32 + j, 64, r), floordiv(i, 2));
  EXPECT_EQ(mod(i * 4 + k, 8, r), mod(i, 2) * 4 + k);
  EXPECT_EQ(floordiv(j * N + i, N, r), j);
  EXPECT_EQ(mod(j * N + i, N, r), i);
  EXPECT_EQ(floordiv(j * N + i, N * M, r), floordiv(j, M));
  EXPECT_EQ(floordiv(Index(31) - j, 32, r), Index(0));
  EXPECT_EQ(text(floordiv(j + 1, 32, r)), "(j + 1) / 32");  // j = 31 gives 1: must stay
}

TEST(Index, BoundsAndMembership) {
  Ranges r = ranges(N, 4096, 8);
  EXPECT_TRUE(provably_in(i * 4096 + j, N * 4096, r));
  EXPECT_FALSE(provably_in(i * 4096 + j + 1, N * 4096, r));
  EXPECT_FALSE(provably_in(i * 4096 + j - 1, N * 4096, r));
  EXPECT_TRUE(provably_in(j * N + i, N * 4096, r));
  EXPECT_TRUE(provably_in(mod(i, M), M, r));
  EXPECT_TRUE(provably_in(floordiv(i, 4), N, r));
  EXPECT_FALSE(provably_in(Index::value(0), N, r));
  EXPECT_EQ(interval(j * 2 - k, r)->lo, -7);
  EXPECT_EQ(interval(j * 2 - k, r)->hi, 8190);
  EXPECT_FALSE(interval(i, r).has_value());
}

TEST(Index, Queries) {
  EXPECT_EQ(*(i * N * 2 + j).coefficient_of(0), N * 2);
  EXPECT_EQ(*(i + j).coefficient_of(2), Index(0));
  EXPECT_FALSE((i * j).coefficient_of(0).has_value());
  EXPECT_FALSE(floordiv(i, 2).coefficient_of(0).has_value());
  EXPECT_FALSE((i * Index::value(1)).coefficient_of(0).has_value());
  EXPECT_EQ((j + mod(i, 3)).dims(), (std::vector<DimId>{0, 1}));
  EXPECT_EQ(known_divisor(i * 12 + j * 8 + 4), 4);
  EXPECT_EQ(known_divisor(i * N + 32,
                          [](const Atom &a) { return a.kind == Atom::Kind::Symbol ? 16 : 1; }),
            16);
  EXPECT_EQ(known_divisor(0), 0);
}

TEST(Index, SubstituteSimplifies) {
  Index x = floordiv(i, 4) * 8 + mod(i, 4);
  Index y = substitute(
      x,
      [](const Atom &a) -> std::optional<Index> {
        if (a.kind == Atom::Kind::Dim && a.id == 0) return j * 4 + k;
        return std::nullopt;
      },
      ranges(1, 100, 4));
  EXPECT_EQ(y, j * 8 + k);
}

TEST(Index, WrapsWhereAskedTo) {
  auto least = [](const Atom &) { return INT64_MIN; };
  EXPECT_EQ(evaluate_wrapping(i - 1, least), INT64_MAX);
  EXPECT_EQ(evaluate_wrapping(i * 2, least), 0);
  EXPECT_THROW(evaluate(i - 1, least), Error);
}

TEST(Index, RefusesWhatItCannotHold) {
  EXPECT_THROW(Index(INT64_MAX) + 1, Error);
  EXPECT_THROW(i * INT64_MAX * 2, Error);
  EXPECT_THROW(floordiv(i, 0), Error);
  EXPECT_THROW(mod(i, -4), Error);
  Index deep = i;
  auto nest = [&] {
    for (int n = 0; n < 100; ++n) deep = floordiv(deep + 1, N + n) + j;
  };
  EXPECT_THROW(nest(), Error);
  Index wide = i + j + k + N + M;
  auto expand = [&] {
    for (int n = 0; n < 100; ++n) wide = wide * wide;
  };
  EXPECT_THROW(expand(), Error);
}

// A random expression and, beside it, its value computed step by step.
struct Sample {
  Index index;
  std::int64_t value;
};

TEST(Index, RandomExpressionsKeepTheirValue) {
  std::mt19937 random(1);
  auto below = [&](int n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 3000; ++round) {
    std::int64_t extent[3] = {1 + below(40), 1 + below(40), 1 + below(9)};
    std::int64_t n = 1 + below(7);
    Ranges r = ranges(extent[0], extent[1], extent[2]);
    auto draw = [&](DimId d) { return below(static_cast<int>(extent[d])); };
    std::int64_t at[3] = {draw(0), draw(1), draw(2)};
    auto leaf_value = [&](const Atom &a) { return a.kind == Atom::Kind::Dim ? at[a.id] : n; };
    std::vector<Sample> pool = {{i, at[0]}, {j, at[1]}, {k, at[2]}, {N, n}};
    for (int step = 0; step < 8; ++step) {
      Sample a = pool[random() % pool.size()], b = pool[random() % pool.size()];
      std::int64_t c = 1 + below(12), q = a.value / c, m = a.value % c;
      if (m < 0) --q, m += c;
      switch (random() % 6) {
        case 0: pool.push_back({a.index + b.index, a.value + b.value}); break;
        case 1: pool.push_back({a.index - b.index, a.value - b.value}); break;
        case 2: pool.push_back({a.index * c, a.value * c}); break;
        case 3: pool.push_back({a.index * N, a.value * n}); break;
        case 4: pool.push_back({floordiv(a.index, c, r), q}); break;
        case 5: pool.push_back({mod(a.index, c, r), m}); break;
      }
      const Sample &last = pool.back();
      ASSERT_EQ(evaluate(last.index, leaf_value), last.value) << text(last.index);
      if (std::optional<Interval> bounds = interval(last.index, r)) {
        ASSERT_LE(bounds->lo, last.value) << text(last.index);
        ASSERT_GE(bounds->hi, last.value) << text(last.index);
      }
    }
  }
}

}  // namespace
}  // namespace fuse
