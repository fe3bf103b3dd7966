#include "expression.h"
#include "ir/graph_data.h"
#include "ir/graph_verify.h"
#include "passes/tolerance.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Relax, RoundedSigmoidsOfBoundedValuesAreTanhs) {
  auto twice = [](auto &, Value x, Value) { return sigmoid(sigmoid(x)); };
  EXPECT_EQ(relaxed(twice, bf16), "cast:bf16(fma(tanh(mul(cast:f32(sigmoid(x)), 0.5)), 0.5, 0.5))");
  EXPECT_EQ(relaxed(twice, f16), "sigmoid(sigmoid(x))");
}

TEST(Relax, AFunctionOf16BitsIsTheRoundingOfThatInF32) {
  auto both = [](auto &, Value x, Value) { return cast(exp(x), f32) - exp(cast(x, f32)); };
  EXPECT_EQ(relaxed(both, bf16), "sub(cast:f32(cast:bf16(exp(cast:f32(x)))), exp(cast:f32(x)))");
  auto others = [](auto &, Value x, Value y) { return cast(exp(x), f32) - exp(cast(y, f32)); };
  EXPECT_EQ(relaxed(others, bf16), "sub(cast:f32(exp(x)), exp(cast:f32(y)))");
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

Value log_softmax_of(Value x) {
  Value d = x - broadcast(reduce_max(x, {1}, true), x.shape());
  return d - broadcast(log(sum(exp(d), {1}, true)), x.shape());
}

TEST(Relax, ASoftmaxFromItsLogarithmIsAQuotient) {
  const std::string d = "sub(x, broadcast[4, 6](max{1}(x)))";
  const std::string quotient = "div(exp(" + d + "), broadcast[4, 6](sum{1}(exp(" + d + "))))";
  auto softmax = [](auto &, Value x, Value) { return cast(exp(log_softmax_of(x)), bf16); };
  EXPECT_EQ(relaxed(softmax, f32), "cast:bf16(" + quotient + ")");
  auto gradient = [](auto &, Value x, Value y) { return cast(y - exp(log_softmax_of(x)), bf16); };
  EXPECT_EQ(relaxed(gradient, f32), "cast:bf16(sub(y, " + quotient + "))");
  auto wide = [](auto &, Value x, Value) { return exp(log_softmax_of(x)); };
  EXPECT_EQ(relaxed(wide, f32).find("div"), std::string::npos);
}

TEST(Relax, PositionsAreComparedInNarrowIntegers) {
  auto causal = [](Graph &g, Value, Value) {
    return g.iota(i64, {4, 6}, 1) <= g.iota(i64, {4, 6}, 0);
  };
  EXPECT_EQ(relaxed(causal, f32), "le(iota{1}[4, 6], iota{0}[4, 6])");
  Graph narrow = relax(graph_of(causal, f32));
  const GraphData &g = narrow.data();
  EXPECT_EQ(g.dtype(g.operand(g.outputs[0].node, 0)), i32);
  auto hit = [](Graph &g, Value x, Value) {
    Value t = cast(sum(x, {1}, true), i64);
    return eq(g.iota(i64, {4, 6}, 1), broadcast(t, {4, 6}));
  };
  const std::string t = "cast:i64(sum{1}(x))";
  EXPECT_EQ(relaxed(hit, f32), "eq(iota{1}[4, 6], broadcast[4, 6](select(and(ge(" + t +
                                   ", 0), le(" + t + ", 5)), cast:i32(" + t + "), -1)))");
  auto order = [](Graph &g, Value x, Value) {
    return g.iota(i64, {4, 6}, 1) < broadcast(cast(sum(x, {1}, true), i64), {4, 6});
  };
  EXPECT_EQ(relaxed(order, f32), "lt(iota{1}[4, 6], broadcast[4, 6](" + t + "))");
}

TEST(RoundedTo16Bits, ThroughSumsAndProductsAlone) {
  auto rounded = [](const Build &build) {
    Graph g = graph_of(build, f32);
    return bool(rounded_to_16_bits(g.data())[0]);
  };
  EXPECT_TRUE(rounded([](auto &, Value x, Value y) { return cast((x - y) * y, bf16); }));
  EXPECT_TRUE(rounded([](auto &, Value x, Value) { return cast(sum(x, {1}), f16); }));
  EXPECT_FALSE(rounded([](auto &, Value x, Value y) { return (x - y) * y; }));
  EXPECT_FALSE(rounded([](auto &, Value x, Value) { return cast(exp(x), bf16); }));
  EXPECT_FALSE(rounded([](auto &, Value x, Value) { return cast(floor(x), bf16); }));
  EXPECT_FALSE(rounded([](Graph &g, Value x, Value) {
    g.output("wide", x * 2.0);
    return cast(x, bf16);
  }));
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

TEST(Approximable, ErfWhoseLastPlacesAUnitHides) {
  auto may = [](const Build &build) {
    Graph g = graph_of(build, f32);
    std::vector<bool> approximates = approximable(g.data());
    return std::find(approximates.begin(), approximates.end(), true) != approximates.end();
  };
  EXPECT_TRUE(may([](auto &, Value x, Value y) { return cast(y * (erf(x) + 1), bf16); }));
  EXPECT_TRUE(may([](auto &, Value x, Value y) { return cast(y - (1 - erf(x)), f16); }));
  EXPECT_FALSE(may([](auto &, Value x, Value) { return cast(erf(x), bf16); }));
  EXPECT_FALSE(may([](auto &, Value x, Value) { return cast(erf(x) + 0.5, bf16); }));
  EXPECT_FALSE(may([](auto &, Value x, Value y) { return cast(erf(x) + y, bf16); }));
  EXPECT_FALSE(may([](auto &, Value x, Value) { return cast((erf(x) + 1) * erf(x), bf16); }));
  EXPECT_FALSE(may([](auto &, Value x, Value) { return erf(x) + 1; }));
}

}  // namespace
}  // namespace fuse
