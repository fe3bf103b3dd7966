#include "expression.h"
#include "ir/graph_data.h"
#include "ir/graph_verify.h"
#include "passes/tolerance.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

std::string relaxed(const Build &build, DType type) {
  Graph once = relax(graph_of(build, type));
  verify(once);
  EXPECT_EQ(expression(once), expression(relax(once))) << "relax is not idempotent";
  return expression(once);
}

TEST(Relax, OnePlusTanhBeforeARoundingIsASigmoid) {
  auto gate = [](auto &, Value x, Value) { return cast(x * (tanh(x) + 1), bf16); };
  EXPECT_EQ(relaxed(gate, f32), "cast:bf16(mul(x, mul(sigmoid(mul(x, 2)), 2)))");
}

TEST(Relax, ResultsInF32AreLeftAlone) {
  auto gate = [](auto &, Value x, Value) { return x * (tanh(x) + 1); };
  EXPECT_EQ(relaxed(gate, f32), "mul(x, add(tanh(x), 1))");
  EXPECT_EQ(relaxed(gate, f64), "mul(x, add(tanh(x), 1))");
}

TEST(Relax, DifferencesLeaveNoRoom) {
  auto difference = [](auto &, Value x, Value y) { return cast(y - (tanh(x) + 1), bf16); };
  EXPECT_EQ(relaxed(difference, f32), "cast:bf16(sub(y, add(tanh(x), 1)))");
  auto two = [](auto &, Value x, Value) { return cast(tanh(x) + 2, bf16); };
  EXPECT_EQ(relaxed(two, f32), "cast:bf16(add(tanh(x), 2))");
}

TEST(Relax, SigmoidsWhoseErrorsShrinkAreTanhs) {
  auto twice = [](auto &, Value x, Value) { return cast(sigmoid(sigmoid(x)), bf16); };
  EXPECT_EQ(relaxed(twice, f32),
            "cast:bf16(fma(tanh(mul(fma(tanh(mul(x, 0.5)), 0.5, 0.5), 0.5)), 0.5, 0.5))");
  auto shifted = [](auto &, Value x, Value) { return cast(sigmoid(x) + 3, bf16); };
  EXPECT_EQ(relaxed(shifted, f32), "cast:bf16(add(fma(tanh(mul(x, 0.5)), 0.5, 0.5), 3))");
}

TEST(Relax, TailsOfASigmoidStay) {
  auto once = [](auto &, Value x, Value) { return cast(sigmoid(x), bf16); };
  EXPECT_EQ(relaxed(once, f32), "cast:bf16(sigmoid(x))");
  auto gate = [](auto &, Value x, Value y) { return cast(y * sigmoid(x), bf16); };
  EXPECT_EQ(relaxed(gate, f32), "cast:bf16(mul(y, sigmoid(x)))");
  auto fine = [](auto &, Value x, Value) { return cast(sigmoid(sigmoid(x)), f16); };
  EXPECT_EQ(relaxed(fine, f32), "cast:f16(sigmoid(sigmoid(x)))");
  auto steep = [](auto &, Value x, Value) { return cast(sigmoid(1000 * sigmoid(x)), bf16); };
  EXPECT_EQ(relaxed(steep, f32), "cast:bf16(sigmoid(mul(1000, sigmoid(x))))");
  auto wide = [](auto &, Value x, Value) { return sigmoid(sigmoid(x)); };
  EXPECT_EQ(relaxed(wide, f32), "sigmoid(sigmoid(x))");
}

TEST(Approximable, FunctionsWhoseReaderRounds) {
  Graph g = graph_of([](auto &, Value x, Value y) { return cast(exp(x) / y, bf16); }, f32);
  std::vector<bool> may = approximable(g.data());
  for (NodeId id = 0; id < g.data().size(); ++id) {
    Op op = g.data().node(id).op;
    EXPECT_EQ(may[id], op == Op::Exp || op == Op::Div) << id;
  }
}

TEST(Approximable, NotExactQuotientsNorResultsInF32) {
  Graph exact = graph_of([](auto &, Value x, Value y) { return cast(x / y, bf16); }, f32);
  Graph wide = graph_of([](auto &, Value x, Value y) { return exp(x) / y; }, f32);
  for (const Graph *g : {&exact, &wide})
    for (bool may : approximable(g->data())) EXPECT_FALSE(may);
}

}  // namespace
}  // namespace fuse
