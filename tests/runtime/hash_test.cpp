// SipHash-2-4-128 against the vectors of its authors: key 00..0f, messages 00 01 02 ...
#include "runtime/hash.h"

#include <gtest/gtest.h>

using fuse::Hash128;
using fuse::hash128;

namespace {

constexpr std::uint64_t kKey0 = 0x0706050403020100, kKey1 = 0x0f0e0d0c0b0a0908;

std::string message(int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}

}  // namespace

TEST(Hash, AgreesWithThePublishedVectors) {
  Hash128 empty = hash128("", kKey0, kKey1);
  EXPECT_EQ(empty.lo, 0xe6a825ba047f81a3u);
  EXPECT_EQ(empty.hi, 0x930255c71472f66du);
  Hash128 one = hash128(message(1), kKey0, kKey1);
  EXPECT_EQ(one.lo, 0x44af996bd8c187dau);
  EXPECT_EQ(one.hi, 0x45fc229b11597634u);
}

TEST(Hash, DependsOnEveryByteAndOnTheLength) {
  for (int n = 1; n < 40; ++n) {
    std::string text = message(n);
    for (char &c : text) {
      c ^= 1;
      EXPECT_NE(hash128(text), hash128(message(n)));
      c ^= 1;
    }
    EXPECT_NE(hash128(text + '\0'), hash128(text));
  }
}

TEST(Hash, PrintsThirtyTwoDigits) {
  EXPECT_EQ(to_string(Hash128{0x1, 0xab}), "00000000000000ab0000000000000001");
}
