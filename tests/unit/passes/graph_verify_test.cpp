// Broken graphs, made behind the builders' back: each invariant is named when it fails.
#include "ir/graph_verify.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/graph_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fuse {
namespace {

using testing::HasSubstr;

class VerifyGraph : public testing::Test {
 protected:
  Graph graph{"test"};
  GraphData &g = graph.data();
  NodeId x = graph.input("x", f32, {4, 6}).index();

  void expect_broken(const char *what) {
    try {
      verify(graph);
      FAIL() << "verifies, but should say: " << what;
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), ErrorCode::Internal);
      EXPECT_THAT(e.what(), HasSubstr(what));
    }
  }
};

TEST_F(VerifyGraph, AcceptsWhatBuildersMake) {
  Value v = graph.inputs()[0];
  std::vector<Value> m = graph.extern_op("two", {v}, {{f32, {4}}, {bf16, {6}}});
  graph.output("a", reduce_max(slice(pad(v, {0, 1}, {2, 0}), 1, 1, 6, 2), {0}));
  graph.output("b", gather(concat({v, v}, 0), graph.iota(i32, {2, 2}, 1), 1));
  graph.output("c", select(m[1] < 0.5, m[1], 0.1));
  verify(graph);
}

TEST_F(VerifyGraph, LiteralsAmongConstants) {
  // The literal is an f32, the constant a bf16: the operation is a bf16 one.
  NodeId parts[] = {build_constant(g, float_literal(f32, 0.1), {}),
                    build_constant(g, float_literal(bf16, 2), {})};
  NodeId sum = build_elementwise(g, Op::Add, parts);
  EXPECT_EQ(g.dtype(sum), bf16);
  verify(graph);
}

TEST_F(VerifyGraph, Operands) {
  g.add(Op::Exp, f32, {4, 6}, {{x, x}});
  expect_broken("needs one operand");
}

TEST_F(VerifyGraph, OperandsPrecede) {
  g.add(Op::Exp, f32, {4, 6}, {{x + 1}});
  expect_broken("does not precede");
}

TEST_F(VerifyGraph, Attributes) {
  g.add(Op::Sum, f32, {4}, {{x}});
  expect_broken("attribute of another op");
}

TEST_F(VerifyGraph, ElementwiseShapes) {
  g.add(Op::Exp, f32, {4, 5}, {{x}});
  expect_broken("another shape");
}

TEST_F(VerifyGraph, ElementwiseDtypes) {
  g.add(Op::Exp, bf16, {4, 6}, {{x}});
  expect_broken("another dtype");
}

TEST_F(VerifyGraph, AcceptedDtypes) {
  NodeId i = graph.input("i", i32, {4}).index();
  g.add(Op::Exp, i32, {4}, {{i}});
  expect_broken("does not take its dtype");
}

TEST_F(VerifyGraph, Predicates) {
  g.add(Op::Lt, f32, {4, 6}, {{x, x}});
  expect_broken("predicate is not bool");
}

TEST_F(VerifyGraph, SelectConditions) {
  g.add(Op::Select, f32, {4, 6}, {{x, x, x}});
  expect_broken("condition is not bool");
}

TEST_F(VerifyGraph, ReshapeCounts) {
  g.add(Op::Reshape, f32, {23}, {{x}});
  expect_broken("24");
}

TEST_F(VerifyGraph, ReductionShapes) {
  g.add(Op::Sum, f32, {6}, {{x}}, AxesAttr{{1}, false});
  expect_broken("shape does not follow");
}

TEST_F(VerifyGraph, SlicesInsideTheirOperand) {
  g.add(Op::Slice, f32, {4, 3}, {{x}}, SliceAttr{{0, 4}, {1, 1}});
  expect_broken("slice");
}

TEST_F(VerifyGraph, ExternResults) {
  NodeId m = g.add(Op::Extern, f32, {4}, {{x}}, ExternAttr{"m", 0, {f32}, {{4}}});
  g.add(Op::ExternResult, f32, {4}, {{m}}, ExternAttr{"m", 1, {}, {}});
  expect_broken("fewer results");
}

TEST_F(VerifyGraph, Symbols) {
  g.add(Op::Broadcast, f32, {Dim::symbol("Z"), 4, 6}, {{x}});
  expect_broken("foreign symbol");
}

TEST_F(VerifyGraph, InputsAreListedOnce) {
  g.inputs.push_back(x);
  expect_broken("listed twice");
}

TEST_F(VerifyGraph, UnlistedInputs) {
  g.inputs.clear();
  expect_broken("is no argument");
}

TEST_F(VerifyGraph, OutputNames) {
  g.outputs = {{"y", x}, {"y", x}};
  expect_broken("output name is taken");
}

TEST_F(VerifyGraph, SideTables) {
  g.names[99] = "ghost";
  expect_broken("has only a name");
}

}  // namespace
}  // namespace fuse
