// Integer arithmetic that says when it does not fit.
#include "ir/exact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fuse;
using ::testing::StrEq;

namespace {

constexpr ExactArithmetic kExact{ErrorCode::Shape, "extent"};

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
    return error.what();
  }
  return "";
}

}  // namespace

TEST(ExactArithmetic, GivesWhatFitsIn64Bits) {
  EXPECT_EQ(kExact.add(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(kExact.add(INT64_MIN, INT64_MAX), -1);
  EXPECT_EQ(kExact.mul(INT64_C(1) << 31, INT64_C(1) << 31), INT64_C(1) << 62);
  EXPECT_EQ(kExact.mul(INT64_MIN, 1), INT64_MIN);
}

TEST(ExactArithmetic, NamesWhatDoesNot) {
  EXPECT_THAT(message_of([] { kExact.add(INT64_MAX, 1); }),
              StrEq("extent 9223372036854775807 + 1 exceeds 63 bits"));
  EXPECT_THAT(message_of([] { kExact.mul(INT64_C(1) << 32, INT64_C(1) << 31); }),
              StrEq("extent 4294967296 * 2147483648 exceeds 63 bits"));
  EXPECT_THAT(message_of([] { kExact.mul(INT64_MIN, -1); }),
              StrEq("extent -9223372036854775808 * -1 exceeds 63 bits"));
}

TEST(ExactQuotient, IsNoneWhereItWouldRoundOrTrap) {
  EXPECT_EQ(exact_quotient(12, -4), -3);
  EXPECT_EQ(exact_quotient(12, 5), std::nullopt);
  EXPECT_EQ(exact_quotient(12, 0), std::nullopt);
  EXPECT_EQ(exact_quotient(INT64_MIN, -1), std::nullopt);
}
