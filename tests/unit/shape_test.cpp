// Extents as polynomials: canonical form, text, exact division, overflow.
#include <fuse/error.h>
#include <fuse/shape.h>

#include <gtest/gtest.h>

namespace {

using fuse::Dim;

const Dim kB = Dim::symbol("B"), kT = Dim::symbol("T");

TEST(Dim, EqualExtentsHaveOneForm) {
  EXPECT_EQ(kB * kT + 1, 1 + kT * kB);
  EXPECT_EQ((kB + 1) * (kB - 1), kB * kB - 1);
  EXPECT_EQ(kB - kB, Dim(0));
  EXPECT_NE(kB, kT);
}

TEST(Dim, PrintsTheConstantLast) {
  EXPECT_EQ(to_string(2 * kB * kT + 1), "2*B*T + 1");
  EXPECT_EQ(to_string(kB - 3), "B - 3");
  EXPECT_EQ(to_string(Dim(0)), "0");
}

TEST(Dim, DividesOnlyExactly) {
  Dim quotient;
  EXPECT_TRUE((6 * kB * kT).divide_exact(2 * kT, quotient));
  EXPECT_EQ(quotient, 3 * kB);
  EXPECT_FALSE((6 * kB + 1).divide_exact(2, quotient));
  EXPECT_FALSE(kB.divide_exact(kT, quotient));
  EXPECT_FALSE((INT64_MIN * kB).divide_exact(-1, quotient));
}

TEST(Dim, EvaluatesAndNamesTheMissingSymbol) {
  EXPECT_EQ((kB * kB + 2).evaluate({{"B", 5}}), 27);
  try {
    kT.evaluate({{"B", 5}});
    FAIL() << "no error";
  } catch (const fuse::Error &e) {
    EXPECT_NE(std::string(e.what()).find("symbol T"), std::string::npos) << e.what();
  }
}

TEST(Dim, OverflowIsAnError) {
  EXPECT_THROW(Dim(INT64_C(1) << 62) * 2, fuse::Error);
  EXPECT_THROW((kB * kB * kB).evaluate({{"B", INT64_C(1) << 40}}), fuse::Error);
}

}  // namespace
