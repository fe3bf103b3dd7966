// Symbols solved from shapes.
#include "runtime/sizes.h"

#include "expect_error.h"

using namespace fuse;
using ::testing::HasSubstr;

namespace {

const Dim B = Dim::symbol("B"), T = Dim::symbol("T");

Argument argument(const std::string &name, const Shape &shape) { return {name, DType::F32, shape}; }

std::vector<std::int64_t> solve(const SizeSolver &solver, const std::vector<Arg> &arguments) {
  std::vector<std::int64_t> values(solver.num_symbols());
  solver.solve(arguments.data(), values.data());
  return values;
}

const std::vector<Symbol> kSymbols = {{"B", {.min = 1, .max = 100, .divisor = 2}}, {"T", {}}};

/// x: [B*T, 8], y: [T + 1], out: [B, T]; B follows only once T is known.
SizeSolver make_solver() {
  return SizeSolver({argument("x", {B * T, 8}), argument("y", {T + Dim(1)})},
                    {argument("out", {B, T})}, kSymbols);
}

}  // namespace

TEST(Sizes, SolvesProductsAndSums) {
  auto values = solve(make_solver(),
                      {tensor(nullptr, {12, 8}), tensor(nullptr, {4}), tensor(nullptr, {4, 3})});
  EXPECT_EQ(values, (std::vector<std::int64_t>{4, 3}));
}

TEST(Sizes, SolvesFromLaterArgumentsWhereEarlierOnesAreBuffers) {
  SizeSolver solver({argument("x", {B})}, {argument("y", {B})}, {{"B", {}}});
  EXPECT_EQ(solve(solver, {Arg(DeviceBuffer()), tensor(nullptr, {5})}),
            std::vector<std::int64_t>{5});
  std::string text = error_of(ErrorCode::InvalidArgument,
                              [&] { solve(solver, {Arg(DeviceBuffer()), Arg(DeviceBuffer())}); });
  EXPECT_THAT(text, HasSubstr("symbol B does not follow"));
}

TEST(Sizes, NamesBothArgumentsThatDisagree) {
  SizeSolver solver({argument("x", {B, 8}), argument("y", {B})}, {}, {{"B", {}}});
  std::string text = error_of(
      ErrorCode::Shape, [&] { solve(solver, {tensor(nullptr, {4, 8}), tensor(nullptr, {5})}); });
  EXPECT_EQ(text, "axis 0 of y has 5 elements, not 4 (B = 4 from axis 0 of x)");
  text = error_of(ErrorCode::Shape,
                  [&] { solve(solver, {tensor(nullptr, {4, 9}), tensor(nullptr, {4})}); });
  EXPECT_EQ(text, "axis 1 of x has 9 elements, not 8");
}

TEST(Sizes, ChecksRankBoundsAndDivisor) {
  SizeSolver solver({argument("x", {B})}, {}, {kSymbols[0]});
  auto message = [&](const TensorView &view) {
    return error_of(ErrorCode::Shape, [&] { solve(solver, {view}); });
  };
  EXPECT_EQ(message(tensor(nullptr, {102})), "B = 102 is outside its bounds [1, 100]");
  EXPECT_EQ(message(tensor(nullptr, {0})), "B = 0 is outside its bounds [1, 100]");
  EXPECT_EQ(message(tensor(nullptr, {7})), "B = 7 is not a multiple of 2");
  SizeSolver fixed({argument("x", {3})}, {}, {});
  EXPECT_EQ(error_of(ErrorCode::Shape, [&] { solve(fixed, {tensor(nullptr, {3, 1})}); }),
            "x has rank 1: rank 2 was given");
}

TEST(Sizes, RefusesAnExtentThatNoSymbolGives) {
  SizeSolver solver({argument("x", {B * Dim(3) + Dim(1)})}, {}, {{"B", {.min = 0}}});
  EXPECT_EQ(solve(solver, {tensor(nullptr, {7})}), std::vector<std::int64_t>{2});
  EXPECT_EQ(error_of(ErrorCode::Shape, [&] { solve(solver, {tensor(nullptr, {8})}); }),
            "no value of B makes axis 0 of x have 8 elements");
  SizeSolver negated({argument("x", {B * Dim(-1)})}, {}, {{"B", {.min = 0}}});
  EXPECT_EQ(error_of(ErrorCode::Shape, [&] { solve(negated, {tensor(nullptr, {INT64_MIN})}); }),
            "no value of B makes axis 0 of x have -9223372036854775808 elements");
}

TEST(Sizes, TakesValuesInOrderOrByName) {
  SizeSolver solver = make_solver();
  EXPECT_EQ(solver.values_of({4, 3}), (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(solver.values_of(Dims{{"T", 3}, {"B", 4}}), (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { solver.values_of({4}); }),
            "the graph has 2 symbols: 1 values were given");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { solver.values_of(Dims{{"T", 3}}); }),
            "symbol B has no value");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { solver.values_of(Dims{{"T", 3}, {"B", 4}, {"C", 1}}); }),
            "C is not a symbol of the graph");
  EXPECT_EQ(error_of(ErrorCode::Shape, [&] { solver.values_of({5, 3}); }),
            "B = 5 is not a multiple of 2");
}
