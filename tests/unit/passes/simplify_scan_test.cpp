#include "expression.h"

#include <fuse/scans.h>

#include <gtest/gtest.h>

namespace fuse {
namespace {

constexpr ScanOptions kExclusive = {true, false}, kReverse = {false, true};

TEST(SimplifyScan, AxesOfExtentOne) {
  Shape shape = {4, 1};
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cumsum(x, 1); }, f32, shape), "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return logcumsumexp(x, -1); }, f32, shape),
            "x");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cumsum(x, 0); }, f32, shape),
            "cumsum{0}(x)");
  auto first = [&](auto scan, DType type) {
    return simplified([&](auto &, Value x, Value) { return scan(x, 1, kExclusive); }, type, shape);
  };
  EXPECT_EQ(first(cumsum, f32), "0");
  EXPECT_EQ(first(cumprod, i32), "1");
  EXPECT_EQ(first(cummax, f32), "-inf");
  EXPECT_EQ(first(cummin, i8), "127");
  EXPECT_EQ(first(logcumsumexp, bf16), "-inf");
}

TEST(SimplifyScan, FlipsTurnTheDirection) {
  Shape shape = {4, 6};
  auto flipped = [&](ScanOptions options, int by, int back) {
    return simplified(
        [&](auto &, Value x, Value) { return flip(cumsum(flip(x, {by}), 1, options), {back}); },
        f32, shape);
  };
  EXPECT_EQ(flipped({}, 1, 1), "cumsum{1 reverse}(x)");
  EXPECT_EQ(flipped(kReverse, 1, 1), "cumsum{1}(x)");
  EXPECT_EQ(flipped({true, false}, 1, 1), "cumsum{1 exclusive reverse}(x)");
  EXPECT_EQ(flipped({}, 0, 0), "flip{0}(cumsum{1}(flip{0}(x)))");
  EXPECT_EQ(flipped({}, 1, 0), "flip{0}(cumsum{1}(flip{1}(x)))");
  // What others read as it is stays.
  EXPECT_EQ(simplified(
                [](auto &, Value x, Value) {
                  Value s = cumsum(flip(x, {1}), 1);
                  return flip(s, {1}) + s;
                },
                f32, shape),
            "add(cumsum{1}(flip{1}(x)), flip{1}(cumsum{1}(flip{1}(x))))");
}

TEST(SimplifyScan, EqualRowsAreScannedOnce) {
  Shape shape = {6};
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cumsum(broadcast(x, {4, 6}), 1); }, f32,
                       shape),
            "broadcast[4, 6](cumsum{0}(x))");
  EXPECT_EQ(simplified([](auto &, Value x, Value) { return cumsum(broadcast(x, {4, 6}), 0); }, f32,
                       shape),
            "cumsum{0}(broadcast[4, 6](x))");
  EXPECT_EQ(
      simplified([](auto &, Value x, Value) { return cummax(broadcast(x, {4, 6}), 1); }, f32, {1}),
      "cummax{1}(broadcast[4, 6](x))");
}

}  // namespace
}  // namespace fuse
