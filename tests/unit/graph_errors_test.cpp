// Errors of graph texts: the place, the message, and no crash on anything.
#include <fuse/jit.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace {

using namespace fuse;

std::string error_of(const std::string &text) {
  try {
    parse(text, "t");
  } catch (const Error &e) {
    return e.what();
  }
  return "no error";
}

std::string body_error(const std::string &line) {
  return error_of("graph @g(%x: f32[4, 6], %b: bf16[4, 6]) {\n" + line + "\n}\n");
}

TEST(GraphErrors, PointAtTheToken) {
  EXPECT_EQ(error_of(""), "t:1:1: error: expected 'graph', found end of text");
  EXPECT_EQ(error_of("graph @g(%x: f99[4])"), "t:1:14: error: f99 is no dtype");
  EXPECT_EQ(error_of("graph @g(%x: f32[4], %x: f32[4]) {}"),
            "t:1:22: error: input: the name x is taken");
  EXPECT_EQ(body_error("%y = exp %z"), "t:2:10: error: %z is not defined");
  EXPECT_EQ(body_error("%x = exp %x"), "t:2:1: error: %x is defined twice");
  EXPECT_EQ(body_error("%y = sofmax %x"),
            "t:2:6: error: no operation is named sofmax; did you mean softmax?");
  EXPECT_EQ(body_error("%y = add %x"), "t:2:6: error: add takes 2 operands, not 1");
  EXPECT_EQ(body_error("%y = exp %x, %x"), "t:2:14: error: exp takes 1 operand, not 2");
  EXPECT_EQ(body_error("%y = add %x, %b"),
            "t:2:6: error: add: operands f32[4, 6] and bf16[4, 6] differ in dtype; cast one of "
            "them");
  EXPECT_EQ(body_error("%y = exp %x : f32[4]"), "t:2:15: error: exp gives f32[4, 6], not f32[4]");
  EXPECT_EQ(body_error("%y = sum %x axes=[2]"),
            "t:2:6: error: sum: axis 2 of f32[4, 6], whose rank is 2");
  EXPECT_EQ(
      body_error("%y = concat %x, %x, %b axis=0"),
      "t:2:6: error: concat: operands 0 and 2, f32[4, 6] and bf16[4, 6], differ in dtype; cast "
      "one of them");
  EXPECT_EQ(body_error("%y = exp %x axis=1"), "t:2:13: error: exp takes no axis");
  EXPECT_EQ(body_error("%y = softmax %x axis=B"), "t:2:17: error: axis is an integer");
  EXPECT_EQ(body_error("%y = cumsum %x"), "t:2:6: error: cumsum needs axis=");
  EXPECT_EQ(body_error("%y = cumsum %x axis=2"),
            "t:2:6: error: cumsum: axis 2 of f32[4, 6], whose rank is 2");
  EXPECT_EQ(body_error("%y = cummax %x axis=[0]"), "t:2:16: error: axis is an integer");
  EXPECT_EQ(body_error("%y = cumsum %x axis=1 keep"), "t:2:23: error: cumsum takes no keep");
  EXPECT_EQ(body_error("%y = exp %x reverse"), "t:2:13: error: exp takes no reverse");
  EXPECT_EQ(body_error("%c = cast %x : i32 %y = logcumsumexp %c axis=0"),
            "t:2:25: error: logcumsumexp: takes f16, bf16, f32 or f64, not i32");
  EXPECT_EQ(body_error("%c = cast %x : bool %y = cumsum %c axis=0"),
            "t:2:26: error: cumsum: takes f16, bf16, f32, f64 or an integer type, not bool");
  EXPECT_EQ(body_error("%y = transpose %x"), "t:2:6: error: transpose needs perm=");
  EXPECT_EQ(body_error("%y = reshape %x"),
            "t:2:6: error: reshape needs a type after its operands: ': f32[4, 8]'");
  EXPECT_EQ(body_error("%y = layer_norm %b, %x axis=1"),
            "t:2:6: error: layer_norm: weight must be f32[6], not f32[4, 6]");
  EXPECT_EQ(body_error("%y, %z = exp %x"), "t:2:1: error: exp gives 1 values, not 2");
  EXPECT_EQ(body_error("return %x as y, %b as y"), "t:2:17: error: output: the name y is taken");
  EXPECT_EQ(
      body_error("%y = exp %x return %y as b"),
      "t:2:20: error: output: b is the name of an input; launches tell arguments apart by name");
  EXPECT_EQ(body_error("symbol B min=2 max=1"),
            "t:2:8: error: dim B: bounds [2, 1] divisible by 1 hold no size");
  EXPECT_EQ(body_error("%y = exp %x"),
            "t:3:1: error: graph g returns nothing: end it with 'return %x as y'");
}

TEST(GraphErrors, KeepTheCodeOfTheOperation) {
  try {
    parse("graph @g(%x: f32[4], %y: f32[5]) { %z = add %x, %y }", "file.fuse");
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Shape);
    EXPECT_EQ(e.where(), "file.fuse:1");
  }
}

TEST(GraphErrors, NumbersThatDoNotFit) {
  for (const char *line :
       {"%y = iota axis=0 : i32[99999999999999999999]",
        "%y = iota axis=0 : i32[9223372036854775807, 2]",
        "%y = iota axis=0 : i32[9223372036854775807 + 1]", "%y = softmax %x axis=4294967296",
        "%y = sum %x axes=[9223372036854775807]", "%y = add %x, 1e999", "%y = const 300 : i8",
        "%y = const 0.5 : i32", "%y = slice %x [0:4, 0:6:9223372036854775808]",
        "%y = pad %x, 0.0 lo=[9223372036854775807, 0] hi=[1, 0]",
        "%y = var %x axes=[1] correction=99999999999", "%y = reshape %x : f32[-1, -1]",
        "%y = iota axis=0 : i32[0 - 3]",
        "%y = iota axis=0 : i32[-9223372036854775807*N - N] %z = reshape %y : f32[-1, -1]"})
    EXPECT_THAT(body_error(line), testing::StartsWith("t:2:")) << line;
  EXPECT_EQ(body_error("%y = slice %x [0:4, 0:6:9223372036854775807] return %y"), "no error");
}

TEST(GraphErrors, NestingAndPolynomialsAreBounded) {
  std::string deep(100000, '(');
  EXPECT_THAT(body_error("%y = iota axis=0 : i32[" + deep),
              testing::HasSubstr("nested too deeply"));
  std::string product = "(A0 + B0)";
  for (int i = 1; i < 40; ++i)
    product += "*(A" + std::to_string(i) + " + B" + std::to_string(i) + ")";
  EXPECT_THAT(body_error("%y = iota axis=0 : i32[" + product + "]"),
              testing::HasSubstr("extent of"));
}

/// Mutations of a program either parse or say where they do not.
TEST(GraphErrors, MutationsNeverCrash) {
  const std::string text =
      "graph @g(%x: bf16[B, 40], %s: f32 scalar, %i: i64[B]) {\n  symbol B min=0 max=99\n"
      "  %0 = softmax %x axis=-1\n  %1 = slice %0 [0:B, 2:8:2] : bf16[B, 3]\n"
      "  %2 = pad %1, 0.0 lo=[0, 1] hi=[2, 3]\n  %3, %4 = extern \"mm\"(%0, %2) : f32[2*B], f16\n"
      "  %5 = cross_entropy %x, %i axis=1 : bf16[B] stored\n  %c = const 0x3f : f8e4m3[4]\n"
      "  return %5, %3 as y\n}\n";
  ASSERT_NO_THROW(parse(text));
  std::mt19937 random(1);
  int failures = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutant = text;
    for (unsigned k = 0; k <= random() % 3 && !mutant.empty(); ++k) {
      std::size_t at = random() % mutant.size(), length = random() % 8;
      switch (random() % 4) {
        case 0: mutant[at] = static_cast<char>(random()); break;
        case 1: mutant.erase(at, length); break;
        case 2: mutant.insert(at, text.substr(random() % text.size(), length)); break;
        default: mutant.resize(at + 1);
      }
    }
    try {
      Graph g = parse(mutant, "t");
      EXPECT_TRUE(g == parse(to_string(g))) << mutant;
    } catch (const Error &e) {
      ++failures;
      EXPECT_THAT(e.what(), testing::StartsWith("t:")) << mutant;
    }
  }
  EXPECT_GT(failures, 10000);
}

}  // namespace
