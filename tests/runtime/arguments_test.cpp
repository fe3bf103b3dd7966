// Facts of arguments: alignment, strides, scalars, overlap.
#include "runtime/overlap.h"

#include "expect_error.h"

#include <cmath>
#include <random>
#include <set>

using namespace fuse;

namespace {

Argument argument(const std::string &name, DType dtype = DType::F32, int rank = 2) {
  return {name, dtype, Shape(static_cast<std::size_t>(rank), Dim(1))};
}

const void *at(std::uintptr_t address) { return reinterpret_cast<const void *>(address); }

ArgumentFacts span(std::uintptr_t address, std::int64_t bytes) {
  ArgumentFacts facts;
  facts.data = at(address);
  facts.bytes = bytes;
  return facts;
}

}  // namespace

TEST(Arguments, AlignmentIsAtMostSixteen) {
  EXPECT_EQ(alignment_of(nullptr), 16);
  EXPECT_EQ(alignment_of(at(0x1000)), 16);
  EXPECT_EQ(alignment_of(at(0x1008)), 8);
  EXPECT_EQ(alignment_of(at(0x1001)), 1);
}

TEST(Arguments, StridesOfUnitAxesDoNotMatter) {
  const std::int64_t extents[] = {1, 5}, strides[] = {99, 1};
  ArgumentFacts facts = describe(argument("x"), false, extents, strides, 16);
  EXPECT_FALSE(facts.kind.strided);
  EXPECT_EQ(facts.bytes, 20);
}

TEST(Arguments, PaddedRowsAreStrided) {
  const std::int64_t extents[] = {3, 5}, strides[] = {8, 1};
  ArgumentFacts facts = describe(argument("x"), true, extents, strides, 8);
  EXPECT_TRUE(facts.kind.strided);
  EXPECT_EQ(facts.kind.alignment, 8);
  EXPECT_EQ(facts.strides[0], 8);
  EXPECT_EQ(facts.bytes, 84);  // from the first element to the last
}

TEST(Arguments, NothingIsStridedWhereThereAreNoElements) {
  const std::int64_t extents[] = {0, 5}, strides[] = {77, 3};
  EXPECT_FALSE(describe(argument("x"), true, extents, strides, 16).kind.strided);
}

TEST(Arguments, OutputsMayNotRepeatAnElement) {
  const std::int64_t extents[] = {3, 5}, strides[] = {0, 1};
  EXPECT_TRUE(describe(argument("x"), false, extents, strides, 16).kind.strided);
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { describe(argument("y"), true, extents, strides, 16); }),
            "output y has stride 0 on axis 0 of 3 elements");
}

TEST(Arguments, OutputsMayNotOverlapThemselves) {
  const std::int64_t extents[] = {2, 33}, overlapping[] = {32, 1}, apart[] = {1, 2};
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { describe(argument("y"), true, extents, overlapping, 16); }),
            "output y overlaps itself: stride 32 on axis 0 is within 33 elements of other axes");
  EXPECT_TRUE(describe(argument("x"), false, extents, overlapping, 16).kind.strided);
  EXPECT_TRUE(describe(argument("y"), true, extents, apart, 16).kind.strided);
}

TEST(Arguments, StridesStayWithin63Bits) {
  const std::int64_t extents[] = {3, 5};
  for (std::int64_t stride : {INT64_MAX, INT64_MIN, INT64_MAX / 4}) {
    const std::int64_t strides[] = {stride, 1};
    error_of(ErrorCode::Shape, [&] { describe(argument("x"), false, extents, strides, 16); });
  }
}

TEST(Arguments, TensorsThatAreShiftedAlikeAreFound) {
  auto at = [](std::uintptr_t address) {
    ArgumentFacts facts;
    facts.data = reinterpret_cast<const void *>(address);
    facts.kind.alignment = alignment_of(facts.data);
    return facts;
  };
  // By one element each: of 2 bytes, 4 bytes; by three, and by none.
  ArgumentFacts facts[] = {at(0x102), at(0x204), at(0x306), at(0x400), {}};
  const int sizes[] = {2, 4, 2, 2, 4};
  find_shifted(facts, sizes, 5);
  EXPECT_TRUE(facts[0].kind.shifted);
  EXPECT_TRUE(facts[1].kind.shifted);
  EXPECT_FALSE(facts[2].kind.shifted);
  EXPECT_FALSE(facts[3].kind.shifted);
  EXPECT_FALSE(facts[4].kind.shifted);
  // One alone has nobody to agree with.
  ArgumentFacts alone[] = {at(0x102), at(0x400)};
  find_shifted(alone, sizes, 2);
  EXPECT_FALSE(alone[0].kind.shifted);
  EXPECT_EQ(alone[0].kind.alignment, 2);
}

TEST(Arguments, ScalarsTakeTheDtypeOfTheArgument) {
  EXPECT_EQ(scalar_bits(argument("s", DType::F32, 0), 1.0), 0x3f800000u);
  EXPECT_EQ(scalar_bits(argument("s", DType::F32, 0), 1), 0x3f800000u);
  EXPECT_EQ(scalar_bits(argument("s", DType::BF16, 0), 1.0f), 0x3f80u);
  EXPECT_EQ(scalar_bits(argument("s", DType::I32, 0), -1) & 0xffffffff, 0xffffffffu);
  EXPECT_EQ(scalar_bits(argument("s", DType::I64, 0), 3.0), 3u);
  EXPECT_EQ(scalar_bits(argument("s", DType::Bool, 0), true), 1u);
  EXPECT_EQ(scalar_bits(argument("s", DType::U64, 0), ~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(scalar_bits(argument("s", DType::U64, 0), 0x1p63), std::uint64_t{1} << 63);
  EXPECT_EQ(scalar_bits(argument("s", DType::F32, 0), std::uint64_t{1} << 63), 0x5f000000u);
  EXPECT_EQ(scalar_bits(argument("s", DType::F16, 0), 65519.0), 0x7bffu);
  EXPECT_EQ(scalar_bits(argument("s", DType::F32, 0), INFINITY), 0x7f800000u);
}

TEST(Arguments, ScalarsThatDoNotFitAreRefused) {
  auto message = [](DType dtype, const Arg &value) {
    return error_of(ErrorCode::DType, [&] { scalar_bits(argument("s", dtype, 0), value); });
  };
  EXPECT_EQ(message(DType::I8, 128), "s is a scalar of i8, which does not hold 128");
  EXPECT_EQ(message(DType::U8, -1), "s is a scalar of u8, which does not hold -1");
  EXPECT_EQ(message(DType::U64, -1), "s is a scalar of u64, which does not hold -1");
  EXPECT_EQ(message(DType::Bool, 2), "s is a scalar of bool, which does not hold 2");
  EXPECT_EQ(message(DType::I32, 0.5), "s is a scalar of i32: 0.5 is not an integer of 64 bits");
  EXPECT_EQ(message(DType::I64, 1e30), "s is a scalar of i64: 1e+30 is not an integer of 64 bits");
  EXPECT_EQ(message(DType::I64, std::uint64_t{1} << 63),
            "s is a scalar of i64, which does not hold 9223372036854775808");
  EXPECT_EQ(message(DType::F32, 1e300), "s is a scalar of f32, which does not hold 1e+300");
  EXPECT_EQ(message(DType::F16, 65520), "s is a scalar of f16, which does not hold 65520");
}

TEST(Arguments, OutputsMayNotOverlapAnything) {
  std::vector<Argument> inputs = {argument("a"), argument("b")}, outputs = {argument("y")};
  std::vector<SharedMemory> in_place;
  auto check = [&](std::vector<ArgumentFacts> facts) {
    check_overlap(inputs, outputs, in_place, facts.data());
  };
  EXPECT_NO_THROW(check({span(100, 50), span(100, 50), span(150, 50)}));  // inputs may be one
  EXPECT_NO_THROW(check({span(100, 50), span(200, 0), span(200, 50)}));   // empty
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { check({span(100, 50), span(300, 50), span(149, 10)}); }),
            "a and y overlap in memory: outputs need memory of their own");
  // The longer input hides behind a shorter one that starts later.
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { check({span(100, 500), span(200, 10), span(400, 10)}); }),
            "a and y overlap in memory: outputs need memory of their own");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { check({span(100, 8), span(210, 50), span(200, 20)}); }),
            "b and y overlap in memory: outputs need memory of their own");
  // A declared pair may be one block of memory, not two that overlap.
  in_place = {{0, 0}};
  EXPECT_NO_THROW(check({span(100, 50), span(300, 50), span(100, 50)}));
  error_of(ErrorCode::InvalidArgument,
           [&] { check({span(100, 50), span(300, 50), span(108, 50)}); });
  error_of(ErrorCode::InvalidArgument,
           [&] { check({span(100, 50), span(100, 50), span(100, 50)}); });
}

namespace {

/// A tensor of f32 at an element of a buffer.
ArgumentFacts view(std::int64_t first, std::vector<std::int64_t> extents,
                   std::vector<std::int64_t> strides) {
  int rank = static_cast<int>(extents.size());
  ArgumentFacts facts =
      describe(argument("v", DType::F32, rank), false, extents.data(), strides.data(), 4);
  facts.data = at(0x10000 + static_cast<std::uintptr_t>(4 * first));
  return facts;
}

std::set<std::int64_t> elements(std::int64_t first, const std::vector<std::int64_t> &extents,
                                const std::vector<std::int64_t> &strides) {
  std::set<std::int64_t> all = {first};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::set<std::int64_t> next;
    for (std::int64_t i = 0; i < extents[d]; ++i)
      for (std::int64_t e : all) next.insert(e + i * strides[d]);
    all = std::move(next);
  }
  return all;
}

}  // namespace

TEST(Arguments, TensorsThatInterleaveAreToldApart) {
  EXPECT_TRUE(are_apart(view(0, {50}, {2}), view(1, {50}, {2})));    // x[0::2], x[1::2]
  EXPECT_FALSE(are_apart(view(0, {50}, {2}), view(2, {50}, {2})));   // x[0::2], x[2::2]
  EXPECT_TRUE(are_apart(view(98, {50}, {-2}), view(1, {50}, {2})));  // x[::-2], x[1::2]
  EXPECT_FALSE(are_apart(view(0, {50}, {2}), view(1, {33}, {3})));
  EXPECT_TRUE(
      are_apart(view(0, {8, 64}, {128, 1}), view(64, {8, 64}, {128, 1})));  // halves of rows
  EXPECT_FALSE(are_apart(view(0, {8, 65}, {128, 1}), view(64, {8, 64}, {128, 1})));  // and one more
  EXPECT_TRUE(
      are_apart(view(0, {4, 64}, {256, 1}), view(128, {4, 128}, {256, 1})));  // rows by turns
  EXPECT_TRUE(are_apart(view(0, {8, 2, 32}, {128, 64, 2}), view(33, {8, 2, 32}, {128, 64, 2})));
  EXPECT_TRUE(are_apart(view(0, {8, 64}, {128, 1}), view(64, {64}, {1})));  // a row's other half
  EXPECT_FALSE(are_apart(view(0, {8, 64}, {128, 1}), view(64, {65}, {1})));
  EXPECT_TRUE(are_apart(view(0, {8}, {1}), view(8, {8}, {1})));
  EXPECT_TRUE(are_apart(view(0, {8, 8}, {0, 1}), view(8, {8}, {1})));  // broadcast
}

TEST(Arguments, WhatIsToldApartSharesNoElement) {
  std::mt19937 random(11);
  int apart = 0, disjoint = 0;
  for (int i = 0; i < 3000; ++i) {
    std::int64_t first[2];
    std::vector<std::int64_t> extents[2], strides[2];
    for (int t : {0, 1}) {
      first[t] = random() % 24;
      for (int d = 0; d < 3; ++d) {
        extents[t].push_back(1 + random() % 3);
        strides[t].push_back(static_cast<std::int64_t>(random() % 9) - 2);
      }
    }
    std::set<std::int64_t> a = elements(first[0], extents[0], strides[0]),
                           b = elements(first[1], extents[1], strides[1]);
    bool shares = std::any_of(a.begin(), a.end(), [&](std::int64_t e) { return b.contains(e); });
    bool told =
        are_apart(view(first[0], extents[0], strides[0]), view(first[1], extents[1], strides[1]));
    EXPECT_FALSE(told && shares);
    apart += told;
    disjoint += !shares;
  }
  EXPECT_GT(apart, disjoint / 2);
}

TEST(Arguments, OutputsMayInterleave) {
  std::vector<Argument> inputs = {argument("x")}, outputs = {argument("y")};
  auto check = [&](std::vector<ArgumentFacts> facts) {
    check_overlap(inputs, outputs, {}, facts.data());
  };
  EXPECT_NO_THROW(check({view(0, {50}, {2}), view(1, {50}, {2})}));
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { check({view(0, {50}, {2}), view(2, {50}, {2})}); }),
            "x and y interleave in memory and may share elements: copy one of them");
}

TEST(Arguments, StridesFollowAReshapeWhereTheyCan) {
  using Extents = std::vector<std::int64_t>;
  EXPECT_EQ(strides_of_reshape({4, 6}, {6, 1}, {2, 2, 6}), (Extents{12, 6, 1}));
  EXPECT_EQ(strides_of_reshape({4, 6}, {8, 1}, {2, 2, 3, 2}), (Extents{16, 8, 2, 1}));
  EXPECT_EQ(strides_of_reshape({4, 6}, {12, 2}, {24}), Extents{2});
  EXPECT_EQ(strides_of_reshape({4, 6}, {8, 1}, {24}), std::nullopt);
  EXPECT_EQ(strides_of_reshape({4, 6}, {8, 1}, {6, 4}), std::nullopt);
  EXPECT_EQ(strides_of_reshape({1, 4, 1}, {99, -2, 7}, {2, 1, 2}), (Extents{-4, -4, -2}));
  EXPECT_EQ(strides_of_reshape({3, 4}, {0, 1}, {3, 4, 1}), (Extents{0, 1, 1}));
  EXPECT_EQ(strides_of_reshape({0, 4}, {9, 1}, {2, 0}), (Extents{0, 0}));
  EXPECT_EQ(strides_of_reshape({}, {}, {1, 1}), (Extents{0, 0}));
  // The shape itself, whatever the strides.
  EXPECT_EQ(strides_of_reshape({2, 3, 5}, {7, 100, -3}, {2, 3, 5}), (Extents{7, 100, -3}));
}
