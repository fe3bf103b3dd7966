// Integers: wrapping, floor division, and index arithmetic that must not be narrowed.
#include "cases/case_run.h"

namespace fuse::cases {

namespace {

constexpr std::int64_t kLeast32 = INT32_MIN, kLeast64 = INT64_MIN;

/// Small integers in a row, then enough larger ones to reach the size.
Tensor padded(DType type, std::vector<std::int64_t> values, std::int64_t size, std::int64_t fill) {
  values.resize(static_cast<std::size_t>(size), fill);
  return ints(type, {size}, values);
}

}  // namespace

// jax 10540
TEST(IntegerCases, ProductOfExtentsBeyond32Bits) {
  std::vector<std::int64_t> k = {0, 201996, 40802384014, 40802384015};
  std::vector<std::int64_t> r = {0, 1, 201995, 201995}, c = {0, 0, 201994, 201995};
  run_elementwise(R"(graph @unravel(%k: i64[N], %n: i64 scalar) {
      %r = floordiv %k, 201996
      %c = mod %k, 201996
      %rn = floordiv %k, %n
      %cn = mod %k, %n
      return %r, %c, %rn, %cn })",
                  {ints(i64, {4}, k), ints(i64, {}, {201996})},
                  {exactly(ints(i64, {4}, r)), exactly(ints(i64, {4}, c)),
                   exactly(ints(i64, {4}, r)), exactly(ints(i64, {4}, c))});
}

TEST(IntegerCases, SumOverMoreThan32BitsOfVirtualElements) {
  RunOptions options;
  options.op_by_op = options.evaluator = false;  // 300 GB
  run_case(R"(graph @count(%one: i64[]) {
      %b = broadcast %one : i64[201996, 201996]
      %s = sum %b axes=[0, 1]
      return %s })",
           {ints(i64, {}, {1})}, {exactly(ints(i64, {}, {40802384016}))}, options);
}

// pytorch 183901
TEST(IntegerCases, IotaTimesALargeFactorKeeps64Bits) {
  std::vector<std::int64_t> products;
  for (std::int64_t i = 0; i < 9; ++i) products.push_back(i * 1500000000);
  run_case(R"(graph @scaled(%c: i64[1], %s: i64 scalar) {
      %i = iota axis=0 : i64[9]
      %a = mul %i, %c
      %b = mul %i, 1500000000
      %d = mul %i, %s
      return %a, %b, %d })",
           {ints(i64, {1}, {1500000000}), ints(i64, {}, {1500000000})},
           {exactly(ints(i64, {9}, products)), exactly(ints(i64, {9}, products)),
            exactly(ints(i64, {9}, products))});
}

// pytorch 105264
TEST(IntegerCases, SmallIntegersWrapBeforeTheyAreWidened) {
  run_elementwise(R"(graph @wrap(%a: u8[N], %b: u8[N], %c: i8[N], %d: u8[N]) {
      %s = add %a, %b
      %ws = cast %s : i16[N]
      %t = add %c, %c
      %wt = cast %t : i32[N]
      %p = mul %d, 16
      %wp = cast %p : i32[N]
      %q = mul %d, %d
      %wq = cast %q : f32[N]
      return %ws, %wt, %wp, %wq })",
                  {ints(u8, {3}, {200, 255, 0}), ints(u8, {3}, {100, 1, 0}),
                   ints(i8, {3}, {100, -128, 1}), ints(u8, {3}, {16, 255, 2})},
                  {exactly(ints(i16, {3}, {44, 0, 0})), exactly(ints(i32, {3}, {-56, 0, 2})),
                   exactly(ints(i32, {3}, {0, 240, 32})), exact(f32, {3}, {0, 1, 4})});
}

// pytorch 43874, 1164, 127804, 42896
TEST(IntegerCases, FloorDivisionOfNegativesAndOfTheLeastValue) {
  std::vector<std::int64_t> a = {7, -7, 7, -7, -6, 6, -1, 2401, kLeast32, 5, 0};
  std::vector<std::int64_t> b = {2, 2, -2, -2, -3, -3, 2, 49, -1, 0, 0};
  auto wanted = [](std::vector<std::int64_t> v) { return exactly(ints(i32, {11}, v)); };
  run_elementwise(R"(graph @division(%a: i32[N], %b: i32[N]) {
      %f = floordiv %a, %b
      %m = mod %a, %b
      %t = div %a, %b
      %r = rem %a, %b
      return %f, %m, %t, %r })",
                  {ints(i32, {11}, a), ints(i32, {11}, b)},
                  {wanted({3, -4, -4, 3, 2, -2, -1, 49, kLeast32, 0, 0}),
                   wanted({1, 1, -1, -1, 0, 0, 1, 0, 0, 0, 0}),
                   wanted({3, -3, -3, 3, 2, -2, 0, 49, kLeast32, 0, 0}),
                   wanted({1, -1, 1, -1, 0, 0, -1, 0, 0, 0, 0})});
}

TEST(IntegerCases, FloorDivisionByLiterals) {
  auto wanted = [](std::vector<std::int64_t> v) { return exactly(ints(i32, {5}, v)); };
  run_elementwise(R"(graph @literals(%a: i32[N]) {
      %f = floordiv %a, -2
      %m = mod %a, -2
      %g = floordiv %a, 49
      %n = floordiv %a, -1
      %z = floordiv %a, 0
      %q = mod %a, 0
      return %f, %m, %g, %n, %z, %q })",
                  {ints(i32, {5}, {7, -7, 2401, -2401, kLeast32})},
                  {wanted({-4, 3, -1201, 1200, 1 << 30}), wanted({-1, -1, -1, -1, 0}),
                   wanted({0, -1, 49, -49, -43826197}), wanted({-7, 7, -2401, 2401, kLeast32}),
                   wanted({0, 0, 0, 0, 0}), wanted({0, 0, 0, 0, 0})});
}

TEST(IntegerCases, DivisionBeyondTheDigitsOfADouble) {
  std::int64_t a = 9007199254740993;
  run_elementwise(R"(graph @division(%a: i64[N], %b: i64[N]) {
      %f = floordiv %a, %b
      %m = mod %a, %b
      return %f, %m })",
                  {ints(i64, {4}, {a, a, kLeast64, kLeast64}), ints(i64, {4}, {1, 3, -1, 0})},
                  {exactly(ints(i64, {4}, {a, 3002399751580331, kLeast64, 0})),
                   exactly(ints(i64, {4}, {0, 0, 0, 0}))});
}

// tinygrad 7688
TEST(IntegerCases, MinimumOfTheLeastValue) {
  const char *text = R"(graph @least(%x: TYPE[N]) {
      %m = min %x axes=[0]
      %i = argmin %x axis=0
      return %m, %i })";
  auto run = [&](DType type, std::vector<std::int64_t> values, std::int64_t least,
                 std::int64_t position, std::int64_t fill) {
    std::string typed = text;
    typed.replace(typed.find("TYPE"), 4, to_string(type));
    std::vector<Expected> wanted = {exactly(ints(type, {}, {least})),
                                    exactly(ints(i64, {}, {position}))};
    auto few = static_cast<std::int64_t>(values.size());
    run_samples(parse(typed), {{{ints(type, {few}, values)}, wanted, {{"N", few}}},
                               {{padded(type, values, 1027, fill)}, wanted, {{"N", 1027}}}});
  };
  run(i32, {5, kLeast32, 7, 0, INT32_MAX}, kLeast32, 1, 9);
  run(u8, {0, 3, 255}, 0, 0, 200);
  run(i64, {5, 0, kLeast64, INT64_MAX}, kLeast64, 2, -1);
}

}  // namespace fuse::cases
