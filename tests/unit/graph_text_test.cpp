// Graph text: what the printer writes, what the parser fills in, and that one undoes the other.
#include <fuse/jit.h>

#include "ir/build.h"
#include "ir/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace fuse;
using testing::HasSubstr;

/// The text is canonical: it reads and prints as itself.
void expect_canonical(const std::string &text) {
  Graph g = parse(text, "t");
  EXPECT_EQ(to_string(g), text);
  EXPECT_TRUE(g == parse(to_string(g), "t"));
}

/// A graph whose body is the given lines.
std::string body(const std::string &lines) {
  return "graph @g(%x: f32[4, 6], %b: bf16[4, 6], %i: i32[4, 6], %p: bool[4, 6]) {\n" + lines +
         "}\n";
}

TEST(GraphText, EveryFormIsCanonical) {
  expect_canonical(
      "graph @softmax(%x: bf16[B, 4097], %scale: f32 scalar) {\n"
      "  symbol B max=1048576 divisor=8\n"
      "  %0 = cast %x : f32[B, 4097]\n"
      "  %1 = max %0 axes=[1] keep : f32[B, 1]\n"
      "  %2 = broadcast %1 : f32[B, 4097]\n"
      "  %d = sub %0, %2 : f32[B, 4097]\n"
      "  %3 = exp %d : f32[B, 4097] stored\n"
      "  %4 = reshape %3 : f32[4097*B]\n"
      "  %5 = broadcast %scale : f32[B, 4097]\n"
      "  return %3 as y, %4, %5 as scaled\n"
      "}\n");
  expect_canonical(
      body("  %0 = mul %b, 0.1 : bf16[4, 6]\n"
           "  %1 = add %i, -3 : i32[4, 6]\n"
           "  %2 = select %p, %x, 0xff800000 : f32[4, 6]\n"
           "  %half = const 0.5 : f32[4, 6]\n"
           "  %3 = select true, %x, 0.5 : f32[4, 6]\n"
           "  %4 = const 0x3f00 : bf16[4, 6] stored\n"
           "  %5 = iota axis=0 : i32[4, 5]\n"
           "  %6 = transpose %x perm=[1, 0] : f32[6, 4]\n"
           "  %7 = slice %x [1:4, 0:5:2] : f32[3, 3]\n"
           "  %8 = slice %x [0:4, 2:2:3] : f32[4, 0]\n"
           "  %9 = flip %x axes=[0, 1] : f32[4, 6]\n"
           "  %10 = pad %b, 1.5 lo=[0, 1] hi=[2, 3] : bf16[6, 10]\n"
           "  %11 = concat %x, %x axis=1 : f32[4, 12]\n"
           "  %12 = gather %x, %i axis=0 : f32[4, 6, 6]\n"
           "  %13 = cast_sat %x : f8e4m3[4, 6]\n"
           "  %14 = bitcast %x : u32[4, 6]\n"
           "  %15, %n = extern \"mm\"(%x, %i) : bf16[8, 8], f32\n"
           "  %16 = argmax %x axis=1 : i64[4]\n"
           "  return %16, %n\n"));
}

TEST(GraphText, TypesBroadcastsAndSymbolsAreFilledIn) {
  Graph g = parse(
      "graph @g(%x: f32[B, 4], %w: f32[4]) { // comment\n"
      "%y = mul %x, %w  %z = sum %y axes=[-1] return %z }");
  EXPECT_EQ(to_string(g),
            "graph @g(%x: f32[B, 4], %w: f32[4]) {\n"
            "  symbol B\n"
            "  %0 = broadcast %w : f32[B, 4]\n"
            "  %y = mul %x, %0 : f32[B, 4]\n"
            "  %z = sum %y axes=[1] : f32[B]\n"
            "  return %z\n"
            "}\n");
}

TEST(GraphText, EqualityLooksAtEverythingShown) {
  std::string text = body("  %e = exp %x : f32[4, 6] stored\n  return %e as y\n");
  Graph g = parse(text);
  for (auto [from, to] : {std::pair{"exp", "log"},
                          {" stored", ""},
                          {"as y", "as z"},
                          {"%e", "%f"},
                          {"@g", "@h"},
                          {"%i: i32", "%i: i64"}}) {
    std::string other = text;
    for (std::size_t at; (at = other.find(from)) != std::string::npos;)
      other.replace(at, std::string(from).size(), to);
    EXPECT_FALSE(g == parse(other)) << from;
  }
  EXPECT_TRUE(g == g.clone());
}

TEST(GraphText, CxxAndTextBuildTheSameGraph) {
  Graph g("gelu");
  auto x = g.input("x", bf16, {g.dim("B"), 8});
  g.output("y", 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
  EXPECT_TRUE(g == parse(to_string(g)));
  EXPECT_THAT(to_string(g), HasSubstr("mul 0.044715, %x : bf16[B, 8]"));
}

/// Every elementwise op and reduction over every dtype that it accepts.
TEST(GraphText, EveryOpRoundTrips) {
  int built = 0;
  for (int i = 0; i < kNumOps; ++i) {
    Op op = static_cast<Op>(i);
    const OpInfo &op_info = info(op);
    for (int t = 0; t < kNumDTypes; ++t) {
      DType type = static_cast<DType>(t);
      bool is_elementwise = op_info.is_elementwise() && op_info.kind != OpKind::Convert;
      if (!accepts(op_info.types, type)) continue;
      bool is_scan = op_info.kind == OpKind::Scan;
      if (!is_elementwise && op_info.kind != OpKind::Reduce && !is_scan) continue;
      Graph g("g");
      GraphData &d = g.data();
      NodeId x = g.input("x", type, {3, 5}).index(), p = g.input("p", boolean, {3, 5}).index();
      NodeId y = g.input("y", type, {5}).index();
      std::vector<NodeId> operands = {x, y, x};
      if (op == Op::Select) operands[0] = p;
      std::size_t arity = op_info.kind == OpKind::Ternary                                     ? 3
                          : op_info.kind == OpKind::Binary || op_info.kind == OpKind::Compare ? 2
                                                                                              : 1;
      operands.resize(arity);
      NodeId result = op_info.kind == OpKind::Reduce ? build_reduce(d, op, x, {1}, t % 2 == 0)
                      : is_scan ? build_scan(d, op, x, {t % 2, t % 3 == 0, t % 5 < 2})
                                : build_elementwise(d, op, operands);
      g.output("z", g.data().value(result));
      expect_canonical(to_string(g));
      ++built;
    }
  }
  EXPECT_GT(built, 400);
}

TEST(GraphText, EveryBuilderHasItsText) {
  for (const char *line : {"batch_norm %x, %c, %c, %c, %c axis=1 eps=1e-5",
                           "clamp %x, -1.0, 6.0",
                           "cross_entropy %x, %t axis=1",
                           "elu %x alpha=2",
                           "gelu %x",
                           "gelu_erf %x",
                           "group_norm %x, %c, %c groups=3",
                           "hardswish %x",
                           "layer_norm %x, %c, %c axis=1 eps=1e-5",
                           "leaky_relu %x slope=0.2",
                           "log_softmax %x",
                           "logsumexp %x axes=[0, 1] keep",
                           "mean %x axes=[0]",
                           "normalize %x axis=0",
                           "reciprocal %x",
                           "relu %x",
                           "rms_norm %x, %c axes=[1]",
                           "rotary_embedding %x, %r, %r",
                           "scatter_add %t, %b axis=0 : f32[9, 6]",
                           "select_scatter %b, %c axis=0 index=1",
                           "silu %x",
                           "slice_scatter %b, %r axis=1 start=0 stop=6 step=2",
                           "slice_scatter %b, %r axis=1 start=1 stop=4",
                           "softmax %x axis=1",
                           "softplus %x beta=3",
                           "square %x",
                           "squeeze %u axis=0",
                           "stddev %x axes=[1] correction=1",
                           "swiglu %x, %x",
                           "unsqueeze %x axis=-1",
                           "var %x axes=[1] correction=1 keep"}) {
    std::string text = std::string("graph @g(%x: bf16[4, 6], %c: f32[6], %t: i64[4], ") +
                       "%b: f32[4, 6], %r: f32[4, 3], %u: f32[1, 4]) {\n  %y = " + line +
                       "\n  return %y\n}\n";
    Graph g = parse(text);
    expect_canonical(to_string(g));
  }
  Graph g = parse(
      "graph @g(%x: bf16[4, 6, 8], %m: f32[6], %v: f32[6]) {\n"
      "  %y, %a, %b = batch_norm_training %x, %m, %v momentum=0.2\n  return %y, %a, %b\n}\n");
  EXPECT_EQ(g.outputs()[0].dtype(), bf16);
  EXPECT_EQ(g.outputs()[2].shape(), Shape{6});
  expect_canonical(to_string(g));
}

}  // namespace
