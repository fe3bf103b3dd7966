// Types, views, rules of users, names and errors of gradients; grad_conventions_test.cpp has ties
// and poles, tests/property/gradients_test.cpp every operation.
#include "passes/passes.h"
#include "unit/derivative.h"
#include "unit/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace fuse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

// --- Types ---------------------------------------------------------------------------------------

TEST(GradTypes, SixteenBitTermsAreAddedInF32AndRoundedOnce) {
  // 1 + 2^-8 + 2^-8: in bf16 the first sum is 1 again.
  auto three = [](Value x) { return (x + x * 0.00390625) + x * 0.00390625; };
  EXPECT_THAT(derivative({1}, {1}, three, bf16), ElementsAre(1.0078125));
  EXPECT_THAT(
      derivative({1}, {1}, [](Value x) { return broadcast(x, {1000}); }, bf16), ElementsAre(1000));
}

TEST(GradTypes, CotangentsHaveTheTypeOfTheirValue) {
  Graph g("g");
  Dim n = g.dim("N");
  Value h = g.input("h", f16, {n}), b = g.input("b", f8e5m2, {1}), d = g.input("d", f64, {n, 2});
  Value y = cast(h, f64) * cast(b, f64) + sum(d, {1});
  std::vector<Value> cotangents = grad(y, {h, b, d});
  EXPECT_EQ(cotangents[0].dtype(), f16);
  EXPECT_EQ(cotangents[1].dtype(), f8e5m2);
  EXPECT_EQ(cotangents[2].dtype(), f64);
  EXPECT_EQ(cotangents[0].shape(), Shape{n});
  EXPECT_EQ(cotangents[1].shape(), Shape{1});
  EXPECT_EQ(cotangents[2].shape(), (Shape{n, 2}));
}

TEST(GradTypes, SaturatedSigmoidsKeepTheirDerivativeInBf16) {
  double s = 1 / (1 + std::exp(-6.0));
  Numbers d = derivative({6}, {1}, [](Value x) { return sigmoid(x); }, bf16);
  EXPECT_NEAR(d[0], s * (1 - s), 0x1p-8 * s * (1 - s));
}

// --- Views ---------------------------------------------------------------------------------------

TEST(GradViews, StridedSlices) {
  EXPECT_THAT(derivative({1, 2, 3, 4, 5, 6, 7}, [](Value x) { return slice(x, 0, 1, 7, 3); }),
              ElementsAre(0, 1, 0, 0, 1, 0, 0));
  EXPECT_THAT(derivative({1, 2, 3}, [](Value x) { return slice(x, 0, 1, 1); }),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(derivative({1, 2, 3, 4, 5, 6}, {2, 3},
                         [](Value x) { return square(slice(flip(x, {1}), 1, 0, 3, 2)); }),
              ElementsAre(2, 0, 6, 8, 0, 12));
}

TEST(GradViews, TheFillOfAPadGetsWhatStandsAround) {
  Graph g("g");
  Value x = g.input("x", f64, {2}), v = g.scalar("v", f64);
  std::vector<Value> d = grad(pad(x, {1}, {2}, v), {x, v});
  g.output("dx", d[0]);
  g.output("dv", d[1]);
  std::vector<Tensor> inputs = {Tensor(f64, {2}, Numbers{1, 2}), Tensor(f64, {}, Numbers{5})};
  Evaluation e = evaluate(g.data(), inputs);
  EXPECT_THAT(numbers(e.outputs[0]), ElementsAre(1, 1));
  EXPECT_THAT(numbers(e.outputs[1]), ElementsAre(3));
}

TEST(GradViews, SymbolicSlicesAndParts) {
  Graph g("g");
  Dim n = g.dim("N");
  Value x = g.input("x", f64, {n}), w = g.input("w", f64, {n + 3});
  Value y = concat({slice(x, 0, 1, n), x, slice(x, 0, 0, 4)}, 0);
  Value z = slice(y, 0, 0, n + 3) * w;
  g.output("d", grad(z, {x})[0]);
  verify(g);
  std::vector<Tensor> inputs = {Tensor(f64, {5}, Numbers{0}),
                                Tensor(f64, {8}, Numbers{1, 2, 3, 4, 5, 6, 7, 8})};
  EXPECT_THAT(numbers(evaluate(g.data(), inputs, {{"N", 5}}).outputs[0]),
              ElementsAre(5, 1 + 6, 2 + 7, 3 + 8, 4));
}

TEST(GradViews, GathersAddWhatStandsAtOnePlace) {
  Graph g("g");
  Value table = g.input("table", f64, {4, 2}), ids = g.input("ids", i8, {2, 3});
  Value weight = g.input("weight", f64, {2, 3, 1});
  g.output("d", grad(gather(table, ids) * weight, {table})[0]);
  verify(g);
  std::vector<Tensor> inputs = {Tensor(f64, {4, 2}, Numbers{0}),
                                Tensor(i8, {2, 3}, Numbers{1, 3, 1, -1, 100, 0}),
                                Tensor(f64, {2, 3, 1}, Numbers{1, 2, 4, 8, 16, 32})};
  EXPECT_THAT(numbers(evaluate(g.data(), inputs).outputs[0]),
              ElementsAre(32, 32, 5, 5, 0, 0, 2, 2));
}

TEST(GradViews, NothingHasAGradientOfNothing) {
  EXPECT_THAT(derivative({}, {0, 5}, [](Value x) { return sum(x * x, {1}); }), ElementsAre());
  EXPECT_THAT(derivative({}, {3, 0}, [](Value x) { return prod(x, {1}); }), ElementsAre());
  EXPECT_THAT(derivative({}, {0}, [](Value x) { return cumprod(x, 0); }), ElementsAre());
  EXPECT_THAT(derivative({}, {0}, [](Value x) { return logcumsumexp(x, 0); }), ElementsAre());
  EXPECT_THAT(derivative({}, {0}, [](Value x) { return cummax(x, 0); }), ElementsAre());
  EXPECT_THAT(derivative({7}, {1}, [](Value x) { return broadcast(x, {0}); }), ElementsAre(0));
}

// pytorch 198333: the mask of the backward pass is that of the forward pass.
TEST(GradViews, DropoutDropsTheSameGradients) {
  Graph g("g");
  Value x = g.input("x", f32, {1000}), seed = g.constant(42, u64);
  g.output("d", grad(dropout(x, 0.25, seed, 3), {x})[0]);
  g.output("y", dropout(g.constant(1, f32, {1000}), 0.25, seed, 3));
  std::vector<Tensor> inputs = {Tensor(f32, {1000}, Numbers{7})};
  std::vector<Expected> outputs = evaluate(g.data(), inputs).outputs;
  EXPECT_EQ(numbers(outputs[0]), numbers(outputs[1]));
}

// --- Rules of users ------------------------------------------------------------------------------

TEST(CustomGradient, StopsAndStraightThrough) {
  EXPECT_THAT(derivative({2, 3}, [](Value x) { return x * stop_gradient(x); }), ElementsAre(2, 3));
  EXPECT_THAT(derivative({0.4, 1.6}, [](Value x) { return square(straight_through(round(x), x)); }),
              ElementsAre(0, 4));
  auto quantized = [](Value x) {
    return straight_through(cast(cast_sat(x * 8.0, f8e4m3), f32) / 8.0, x);
  };
  EXPECT_THAT(derivative({1000, 0.1}, {2}, quantized, f32), ElementsAre(1, 1));
}

TEST(CustomGradient, ExternOperationsInBothDirections) {
  Graph g("g");
  Dim n = g.dim("N");
  Value a = g.input("a", f32, {n, 2}), b = g.input("b", f32, {2, 3});
  Value y = g.extern_op("mm", {a, b}, {{f32, {n, 3}}})[0];
  Value z = custom_gradient(y, {a, b}, parse(R"(
graph @mm_backward(%dy: f32[N, 3], %a: f32[N, 2], %b: f32[2, 3]) {
  %da = extern "mm_nt"(%dy, %b) : f32[N, 2]
  %db = extern "mm_tn"(%a, %dy) : f32[2, 3]
  return %da as da, %db as db
})"));
  std::vector<Value> d = grad(tanh(z), {a, b});
  g.output("da", d[0]);
  g.output("db", d[1]);
  verify(g);
  std::string text = to_string(g);
  EXPECT_TRUE(parse(text) == g) << text;
  EXPECT_THAT(to_string(forget_gradients(g)), testing::Not(HasSubstr("custom_gradient")));
  EXPECT_THAT(text, HasSubstr("= extern \"mm_tn\"(%a, %"));
}

TEST(CustomGradient, FunctionsCallExternOperations) {
  auto mm = [](const char *name, Value a, Value b, const Shape &shape) {
    return extern_op(name, {a, b}, {{f32, shape}})[0];
  };
  Graph g("g");
  Dim n = g.dim("N");
  Value a = g.input("a", f32, {n, 2}), b = g.input("b", f32, {2, 3});
  auto rule = [&](Value dy, const std::vector<Value> &ab) {
    return std::vector<Value>{mm("mm_nt", dy, ab[1], ab[0].shape()),
                              mm("mm_tn", ab[0], dy, ab[1].shape())};
  };
  std::vector<Value> d = grad(custom_gradient(mm("mm", a, b, {n, 3}), {a, b}, rule), {a, b});
  g.output("db", d[1]);
  EXPECT_THAT(to_string(forget_gradients(g)), HasSubstr("= extern \"mm_tn\"(%a, %"));
}

TEST(CustomGradient, ExternOperationsGetTheirGraphFromOperands) {
  Graph g("g"), other("other");
  Value x = g.input("x", f32, {4}), y = other.input("y", f32, {4});
  EXPECT_THAT(message_of([&] { extern_op("f", {}, {{f32, {4}}}); }),
              HasSubstr("extern_op: \"f\" has no operands to tell its graph by"));
  EXPECT_THAT(message_of([&] { extern_op("f", {x, y}, {{f32, {4}}}); }),
              HasSubstr("f: operand 1 is of another graph: of other, not of g"));
  EXPECT_THAT(message_of([&] { extern_op("f", {Value()}, {{f32, {4}}}); }),
              HasSubstr("f: operand 0 is an empty Value"));
}

// An operation of someone else is not dropped as dead: it must not be there.
TEST(CustomGradient, WhatNoOneAsksForIsNotComputed) {
  Graph g = parse(R"(graph @g(%a: f32[4], %b: f32[4]) {
    %y = extern "f"(%a, %b) : f32[4]
    %z = custom_gradient %y, %a, %b graph @back(%dy: f32[4], %a: f32[4], %b: f32[4]) {
      %unused, %da = extern "by_a"(%dy, %b) : f32[4], f32[4]
      %db = extern "by_b"(%a, %dy) : f32[4]
      return %da as da, %db as db
    }
    return %z as z
  })");
  std::string text = to_string(grad(g, {"a"}));
  EXPECT_THAT(text, HasSubstr("by_a\"(%"));
  EXPECT_THAT(text.substr(text.rfind('}', text.size() - 3)), testing::Not(HasSubstr("by_b")));
  verify(grad(g, {"a", "b"}));
}

TEST(CustomGradient, FunctionsMakeRules) {
  auto doubled = [](Value x) {
    return custom_gradient(floor(x), {x}, [](Value dy, const std::vector<Value> &inputs) {
      return std::vector<Value>{2.0 * dy * inputs[0]};
    });
  };
  EXPECT_THAT(derivative({1.5, 4}, doubled), ElementsAre(3, 8));
  // The rule is differentiated too.
  EXPECT_THAT(derivative({1.5, 4}, [&](Value x) { return grad(doubled(x), {x})[0]; }),
              ElementsAre(2, 2));
}

TEST(CustomGradient, SurvivesTextsWithinRules) {
  Graph g("g");
  Value x = g.input("x", f32, {g.dim("N")});
  Value y = custom_gradient(exp(x), {x}, [](Value dy, const std::vector<Value> &inputs) {
    return std::vector<Value>{straight_through(dy, inputs[0]) * stop_gradient(inputs[0])};
  });
  g.output("y", y);
  Graph again = parse(to_string(g));
  EXPECT_TRUE(again == g) << to_string(g);
  EXPECT_EQ(to_string(grad(again, {"x"})), to_string(grad(g, {"x"})));
}

TEST(CustomGradient, RulesMustFit) {
  Graph g("g");
  Value x = g.input("x", f32, {4}), i = g.input("i", i32, {4}), w = g.input("w", f32, {2});
  auto rule = [&](Value y, std::vector<Value> inputs, const char *text) {
    return message_of([&] { custom_gradient(y, inputs, parse(text)); });
  };
  const char *identity = "graph @r(%d: f32[4], %x: f32[4]) { return %d as dx }";
  EXPECT_THAT(rule(i, {x}, identity), HasSubstr("custom_gradient: the value is i32[4]; only"));
  EXPECT_THAT(rule(x, {x, w}, identity),
              HasSubstr("the rule r takes 2 inputs, not the cotangent and 2 values"));
  EXPECT_THAT(rule(x, {w}, identity), HasSubstr("input 0 of the rule r is f32[4], not f32[2]"));
  EXPECT_THAT(rule(x, {w}, "graph @r(%d: f32[4], %x: f32[2]) { return %d as dx }"),
              HasSubstr("output 0 of the rule r is f32[4], not f32[2]"));
  EXPECT_THAT(rule(x, {i}, "graph @r(%d: f32[4], %x: i32[4]) { return %x as dx }"),
              HasSubstr("input 0 is i32[4]; only floats have gradients"));
  EXPECT_THAT(rule(x, {w}, "graph @r(%d: f32[4], %x: f32[M]) { return %x as dx }"),
              HasSubstr("the rule r has the symbol M, which the graph g has not"));
}

// Else forward and backward would draw the same words.
TEST(CustomGradient, RandomBitsOfRulesGoOnWithTheStreamsOfTheGraph) {
  Graph g("g");
  Value x = g.input("x", f32, {4}), seed = g.scalar("seed", u64);
  Value noise = uniform(seed, f32, {4});
  Value y = custom_gradient(x + noise, {x, seed}, [](Value dy, const std::vector<Value> &inputs) {
    return std::vector<Value>{dy * uniform(inputs[1], f32, {4})};
  });
  g.output("y", y + uniform(seed, f32, {4}));
  std::string text = to_string(g);
  for (const char *stream : {"stream=4294967296 ", "stream=4294967297 ", "stream=4294967298 "})
    EXPECT_THAT(text, HasSubstr(stream));
  EXPECT_TRUE(parse(text) == g) << text;

  std::string in_text = to_string(parse(R"(graph @g(%x: f32[4], %seed: u64 scalar) {
    %a = random_bits %seed : u32[4]
    %y = custom_gradient %x, %x, %seed graph @r(%dy: f32[4], %x: f32[4], %s: u64) {
      %noise = uniform %s : f32[4]
      %dx = mul %dy, %noise
      return %dx as dx
    }
    %b = random_bits %seed : u32[4]
    return %y as y, %a as a, %b as b
  })"));
  for (const char *stream : {"stream=4294967296 ", "stream=4294967297 ", "stream=4294967298 "})
    EXPECT_THAT(in_text, HasSubstr(stream));
}

TEST(CustomGradient, RulesTakeAllSizesOfTheGraph) {
  auto message = [](const std::string &graph, const std::string &rule) {
    return message_of([&] {
      parse("graph @g(%x: f32[N]) {\n symbol N " + graph +
            "\n %y = custom_gradient %x, %x graph @r(%d: f32[N], %x: f32[N]) {\n symbol N " + rule +
            "\n return %d as dx }\n return %y as y }");
    });
  };
  EXPECT_THAT(message("", "min=5"),
              HasSubstr("the rule r has the symbol N min=5 max=1099511627776 divisor=1, which is "
                        "tighter than the graph g has it, min=1 max=1099511627776 divisor=1"));
  EXPECT_THAT(message("max=9", "max=8"), HasSubstr("tighter"));
  EXPECT_THAT(message("divisor=6", "divisor=4"), HasSubstr("tighter"));
  EXPECT_EQ(message("min=5 max=64 divisor=8", "min=2 divisor=4"), "no error");
}

// --- Errors and names ----------------------------------------------------------------------------

TEST(GradErrors, NameTheValueAndTheRemedy) {
  Graph g("g"), other("other");
  Value x = g.input("x", f32, {4}), i = g.input("i", i32, {4});
  Value y = g.extern_op("mm", {x}, {{f32, {4}}})[0];
  EXPECT_THAT(message_of([&] { grad(x, {i}); }),
              HasSubstr("grad: i is i32[4]; only floats have gradients"));
  EXPECT_THAT(message_of([&] { grad(i, {x}); }),
              HasSubstr("grad: i is i32[4]; only floats have gradients"));
  EXPECT_THAT(message_of([&] { grad(tanh(y), {x}); }),
              HasSubstr("extern \"mm\" has no gradient: give it one with custom_gradient"));
  EXPECT_THAT(message_of([&] { vjp({x}, {}, {x}); }),
              HasSubstr("vjp: outputs and cotangents are not as many: 1 and 0"));
  EXPECT_THAT(message_of([&] { vjp({x}, {i}, {x}); }), HasSubstr("only floats"));
  EXPECT_THAT(message_of([&] { vjp({x}, {g.constant(1, f64, {4})}, {x}); }),
              HasSubstr("the cotangent of x is f64[4], not f32[4]"));
  EXPECT_THAT(message_of([&] { vjp({x}, {g.constant(1, f32)}, {x}); }),
              HasSubstr("the cotangent of x is f32[], not f32[4]"));
  EXPECT_THAT(message_of([&] { grad(other.input("z", f32, {}), {x}); }),
              HasSubstr("grad: an input is of another graph: of g, not of other"));
  EXPECT_THAT(message_of([&] { grad(x, {Value()}); }), HasSubstr("an input is an empty Value"));
  EXPECT_THAT(message_of([&] { grad(x, {i}); }), HasSubstr("grad_test.cpp"));
  // What an extern operation gives may be read, as long as nothing asks through it.
  EXPECT_EQ(grad(x * stop_gradient(y), {x}).size(), 1u);
}

TEST(GradErrors, OfValuesThatSayHowGradientsPass) {
  Graph g("g"), other("other");
  Value x = g.input("x", f32, {4}), w = g.input("w", f32, {2}), z = other.input("z", f32, {4});
  auto of_rule = [&](std::vector<Value> inputs, std::vector<Value> results) {
    return message_of([&] {
      custom_gradient(x, inputs, [&](Value, const std::vector<Value> &) { return results; });
    });
  };
  EXPECT_THAT(of_rule({x}, {Value()}),
              MatchesRegex(".*grad_test.cpp:[0-9]+: custom_gradient: result 0 of the rule is an "
                           "empty Value"));
  EXPECT_THAT(of_rule({x}, {x}),
              MatchesRegex(".*grad_test.cpp:[0-9]+: custom_gradient: result 0 "
                           "of the rule is of another graph: of g, not of rule"));
  EXPECT_THAT(of_rule({x}, {}), HasSubstr(": the rule gives 0 cotangents for 1 input"));
  EXPECT_THAT(of_rule({Value()}, {}), HasSubstr(": custom_gradient: input 0 is an empty Value"));
  EXPECT_THAT(of_rule({x, z}, {}),
              HasSubstr(": custom_gradient: input 1 is of another graph: of other, not of g"));
  EXPECT_THAT(message_of([&] { custom_gradient(x, {x}, GradientRule()); }),
              HasSubstr(": custom_gradient: the rule is an empty function"));
  EXPECT_THAT(message_of([&] { stop_gradient(Value()); }),
              HasSubstr(": stop_gradient: the operand is an empty Value"));
  EXPECT_THAT(message_of([&] { straight_through(x, Value()); }),
              HasSubstr(": straight_through: the value that has the gradient is an empty Value"));
  EXPECT_THAT(message_of([&] { straight_through(x, w); }),
              HasSubstr(": straight_through: the values are f32[4] and f32[2], not of one shape"));
  EXPECT_THAT(message_of([&] { straight_through(x, g.input("i", i32, {4})); }),
              HasSubstr(": straight_through: %i is i32[4]; only floats have gradients"));
  EXPECT_THAT(message_of([&] { vjp({x}, {Value()}, {x}); }),
              HasSubstr("vjp: a cotangent is an empty Value"));
  EXPECT_THAT(message_of([&] {
                parse(
                    "graph @g(%y: f32[4]) { %z = custom_gradient %y graph @r(%d: f32[4]) { "
                    "return %d as dx }\n return %z as z }");
              }),
              HasSubstr("custom_gradient takes 2 or more operands, not 1"));
}

TEST(GradErrors, OfScatteredSums) {
  Graph g("g"), other("other");
  Value x = g.input("x", f32, {4}), f = g.input("f", f32, {4}), i = g.input("i", i32, {4});
  auto message = [&](const Shape &shape, Value index, int axis) {
    return message_of([&] { scatter_add(shape, index, x, axis); });
  };
  EXPECT_THAT(message({9}, i, 3), MatchesRegex("[^ ]*: scatter_add: axis 3 of a tensor of rank 1"));
  EXPECT_THAT(message({-9}, i, 0), MatchesRegex("[^ ]*: scatter_add: negative extent -9 in .*"));
  EXPECT_THAT(message({9}, f, 0), HasSubstr("the index %f is f32[4], not integers; cast it first"));
  EXPECT_THAT(message({9}, Value(), 0), HasSubstr("scatter_add: the index is an empty Value"));
  EXPECT_THAT(message({9}, other.input("i", i32, {4}), 0),
              HasSubstr("the index is of another graph: of other, not of g"));
}

TEST(GradNames, DerivativesAreNamedAfterTheirInputs) {
  Graph g = parse(R"(graph @g(%x: f32[4], %w: f32[4]) {
    %h = mul %x, %w
    %y = tanh %h
    return %y as y, %h as z })");
  Graph joint = grad(g, {"x", "h"}, "y");
  EXPECT_THAT(to_string(joint), HasSubstr(" as d_x, "));
  EXPECT_THAT(to_string(joint), HasSubstr(" as d_h\n"));
  Graph twice = grad(joint, {"x"}, "d_x");
  EXPECT_THAT(to_string(twice), HasSubstr(" as d_x_2\n"));
  EXPECT_THAT(to_string(vjp(g, {"w"}, {"z"})), HasSubstr("%d_z: f32[4])"));
  EXPECT_THAT(message_of([&] { grad(g, {"x"}); }),
              HasSubstr("grad: graph g has 2 outputs, y, z: name one of them"));
  EXPECT_THAT(message_of([&] { grad(g, {"v"}, "y"); }),
              HasSubstr("graph g has no input v; it has x, w"));
  EXPECT_THAT(message_of([&] { grad(g, {""}, "y"); }), HasSubstr("the name of an input is empty"));
  EXPECT_THAT(message_of([&] { grad(g, {"x"}, "yy"); }),
              HasSubstr("graph g has no output yy; did you mean y?"));
}

TEST(GradNames, InputsThatNothingDependsOnHaveZeros) {
  Graph g("g");
  Value x = g.input("x", f32, {2}), w = g.input("w", bf16, {3});
  std::vector<Value> d = grad(floor(x) + x * 0.0, {w, x});
  g.output("dw", d[0]);
  std::vector<Tensor> inputs = {Tensor(f32, {2}, Numbers{1}), Tensor(bf16, {3}, Numbers{1})};
  EXPECT_THAT(numbers(evaluate(g.data(), inputs).outputs[0]), ElementsAre(0, 0, 0));
}

TEST(GradNames, NewNodesBelongToTheLineTheyAreOf) {
  Graph g = parse("graph @g(%x: f32[4]) {\n %y = tanh %x\n return %y }", "file.fuse");
  Graph joint = grad(g, {"x"});
  for (const auto &[id, where] : joint.data().locations)
    EXPECT_STREQ(where.file, "file.fuse") << id;
}

}  // namespace
