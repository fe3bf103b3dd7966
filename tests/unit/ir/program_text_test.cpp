// Program text: print and parse are inverse, malformed text is refused with its place, and no text
// crashes the parser.
#include "ir/program_text.h"

#include "passes/passes.h"

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

// Every kind of line once, in canonical form.
constexpr std::string_view kEverything =
    R"(program @all {
  symbol B min=0 max=1048576 divisor=8
  symbol N min=1 max=9223372036854775807 divisor=1
  input %x: f32[B, 3] align 4 strided
  input %s: f32[] align 0 scalar
  output %y: f32[B, 2*B*N + 1] align 16
  workspace B*4
  workspace 4 counter
  limit offsets B*x.stride0 <= 2147483647 "offsets of \"x\"\\\n\tin 32 bits"
  limit minimum -B + 8 <= 0 "too few"
  limit capacity B <= 4096 "a row"
  limit divisor B % 8 <= 0 "no multiple"
  limit blocks B <= 1073741823 ""
  class 1 <= B % 8 <= 7
  class 0 <= B*N <= 9223372036854775807
  kernel @k0(%x: f32[B, 3], %s: f32[] scalar) -> (%y: f32[B]) workspace (%w: f32[B] coherent, %c: u32[1] coherent) threads 128 cluster 1 index 32 divisors (B 8) {
    dims i: B
    layout L: i = grid (B + 127) / 128 . thread 128
    in L {
      %a = load %x[i*x.stride0]
      %b = load %s[0]
      %0 = const 0x7fc00000 : f32
      %m = mul %a, %b : f32
      store %y[i], %m
    }
  }
  kernel @k1() -> () threads 32 cluster 1 index 32 {
  }
  kernel @k2(%x: f32[n] each, %s: f32[] scalar) -> (%y: f32[n] each) threads 32 cluster 1 index 32 {
    instances 2 n: B, 8
  }
  launch 0 (input 0, input 1, output 0, workspace 0, workspace 1)
  launch 1 ()
  launch 2 ((input 0, output 0), input 1, (output 0, workspace 0))
  call "mm" (input 0: f32[B, 3], workspace 0: f32[B]) -> (output 0: f32[B, N])
  call "nothing" () -> ()
  planned "k0" 2.5e-06 "hbm" 4096.0 6144.0 ("hbm" 2.5, "mufu" 0.5)
  planned "k1" 0x7ff0000000000000 "" 0.0 0.0 ()
  decision "boundary k0/k1" "two kernels" "one would take 2.0 us" -1.25e-07 "one kernel"
  unfused 3 12288.0 7.5 18432.0
  size B 512
}
)";

TEST(ProgramText, PrintOfParseIsTheText) {
  std::string expected(kEverything);
  // An unnamed value prints as its number.
  expected.replace(expected.find("%0 ="), 2, "%2");
  EXPECT_EQ(to_string(parse_program(kEverything)), expected);
  EXPECT_EQ(to_string(parse_program(expected)), expected);
}

TEST(ProgramText, ReadsWhatRunsAndWhatReportsShow) {
  Program p = parse_program(kEverything);
  EXPECT_EQ(p.name, "all");
  EXPECT_EQ(p.symbols[0].bounds.divisor, 8);
  EXPECT_TRUE(p.inputs[0].strided);
  EXPECT_TRUE(p.inputs[1].is_scalar);
  EXPECT_EQ(p.outputs[0].alignment, 16);
  EXPECT_EQ(to_string(p.outputs[0].shape), "[B, 2*B*N + 1]");
  EXPECT_EQ(p.workspace[0].bytes, Index::symbol("B") * 4);
  EXPECT_TRUE(p.workspace[1].counter);
  EXPECT_EQ(p.limits[0].kind, Limit::Kind::Offsets);
  EXPECT_EQ(p.limits[0].max, INT32_MAX);
  EXPECT_EQ(p.limits[0].why, "offsets of \"x\"\\\n\tin 32 bits");
  ASSERT_EQ(p.steps.size(), 5u);
  EXPECT_EQ(p.steps[0].bindings[3].kind, Binding::Kind::Workspace);
  EXPECT_EQ(p.steps[0].bindings[4].index, 1u);
  EXPECT_EQ(p.steps[2].bindings[1].kind, Binding::Kind::Output);
  EXPECT_EQ(p.steps[2].bindings[2].index, 1u);
  EXPECT_EQ(p.steps[3].num_operands, 2u);
  EXPECT_EQ(to_string(p.steps[3].shapes[2]), "[B, N]");
  EXPECT_EQ(p.plan.kernels[0].seconds, 2.5e-6);
  EXPECT_EQ(p.plan.kernels[0].bound, "hbm");
  EXPECT_EQ(p.plan.kernels[0].bytes, 4096);
  EXPECT_EQ(p.plan.kernels[0].pipes[1].pipe, "mufu");
  EXPECT_EQ(p.plan.decisions[0].gain_seconds, -1.25e-7);
  EXPECT_EQ(p.plan.decisions[0].rejected, "one kernel");
  EXPECT_EQ(p.plan.unfused.kernels, 3u);
  EXPECT_EQ(p.plan.sizes, (Bindings{{"B", 512}}));
}

/// Lowers the graph for arguments of the class, and reads back what comes of it.
void expect_reads_back(std::string_view graph, ArgumentClass arguments = {}) {
  Graph g = parse(graph);
  LowerOptions options;
  options.inputs.assign(g.inputs().size(), arguments);
  options.outputs.assign(g.outputs().size(), arguments);
  Program program = lower(g, Target::named("h200"), options);
  std::string text = to_string(program);
  Program read = parse_program(text);
  EXPECT_EQ(to_string(read), text);
  ASSERT_EQ(read.kernels.size(), program.kernels.size());
  for (std::size_t i = 0; i < program.kernels.size(); ++i)
    EXPECT_EQ(to_string(read.kernels[i]), to_string(program.kernels[i]));
}

TEST(ProgramText, LoweredGraphsReadBack) {
  for (std::string_view graph : {
           R"(graph @softmax(%x: bf16[B, 4097]) {
  symbol B min=0 max=100000 divisor=4
  %y = softmax %x axis=1
  return %y as y
})",
           R"(graph @adam(%p: f32[N], %g: bf16[N], %lr: f32 scalar) {
  %0 = cast %g : f32
  %1 = mul %0, %lr
  %2 = sub %p, %1
  return %2 as q, %0 as g32
})",
           R"(graph @columns(%x: f32[B, 1024]) {
  %0 = sum %x axes=[0]
  %1 = sum %x axes=[0, 1]
  return %0 as columns, %1 as all
})",
           R"(graph @extern(%x: f32[B, 64], %w: f32[64, 64]) {
  %0 = exp %x
  %1, %2 = extern "mm"(%0, %w) : f32[B, 64], i32[B]
  %3 = max %1 axes=[1]
  return %3
})",
           R"(graph @columns(%x: f32[B, N]) {
  %t = transpose %x perm=[1, 0]
  %c = slice %t [0:N, 0:B]
  %e = exp %c
  return %e
})"}) {
    SCOPED_TRACE(graph);
    expect_reads_back(graph);
    expect_reads_back(graph, {true, 4});
  }
}

std::string error_of(std::string text) {
  try {
    parse_program(text, "p");
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Parse) << e.what();
    return e.what();
  }
  return "";
}

/// The error of a program of one input, one output and one kernel that goes on on line 8.
std::string error_after(const std::string &lines) {
  return error_of(
      "program @n {\n  symbol B min=1 max=9 divisor=1\n  input %x: f32[B] align 4\n"
      "  input %s: f32[] align 4 scalar\n  output %y: f32[B] align 4\n"
      "  kernel @k(%x: f32[B]) -> (%y: f32[B]) threads 32 cluster 1 index 32 {\n  }\n" +
      lines + "\n}");
}

TEST(ProgramText, ReportsThePlace) {
  EXPECT_EQ(error_of(""), "p:1:1: error: expected 'program', found end of text");
  EXPECT_EQ(error_after(""), "");
  EXPECT_EQ(error_after("} x"), "p:8:3: error: expected end of text, found 'x'");
  EXPECT_EQ(error_after("launch 1 ()"), "p:8:8: error: there is no kernel 1");
  EXPECT_EQ(error_after("launch 0 (input 0)"), "p:8:1: error: a kernel of 2 buffers is bound to 1");
  EXPECT_EQ(error_after("launch 0 (input 2, output 0)"), "p:8:17: error: there is no input 2");
  EXPECT_EQ(error_after("launch 0 (input 0, workspace 0)"),
            "p:8:30: error: there is no workspace 0");
  EXPECT_EQ(error_after("launch 0 (input 1, output 0)"),
            "p:8:1: error: %x is bound to memory of another kind");
  EXPECT_EQ(error_after("call \"f\" (input 0: f32[C]) -> ()"),
            "p:8:24: error: C is no size of the program");
  EXPECT_EQ(error_after("call \"f\" (input 0: f32[B / 2]) -> ()"),
            "p:8:24: error: an extent is a polynomial in symbols");
  EXPECT_EQ(error_after("kernel @j(%x: f32[Q]) -> () threads 32 cluster 1 index 32 {\n}"),
            "p:8:1: error: Q is no size of the program");
  EXPECT_EQ(error_of("program @n {\nsymbol B min=3 max=2 divisor=1"),
            "p:2:8: error: the bounds of B hold no size");
  EXPECT_EQ(error_of("program @n {\nlimit height 4 <= 5 \"\""),
            "p:2:7: error: a limit is one of capacity, offsets, divisor, minimum and blocks, not "
            "'height'");
  EXPECT_EQ(error_of("program @n {\ninput %s: f32[4] align 4 scalar"),
            "p:2:7: error: a scalar has no extents and no strides");
}

TEST(ProgramText, SurvivesMutations) {
  std::mt19937 random(1);
  const std::string seed(kEverything);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = seed;
    for (unsigned n = 0; n <= random() % 3; ++n) {
      std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 20); break;
        case 2: text.insert(at, seed.substr(random() % seed.size(), 1 + random() % 20)); break;
        case 3: text.resize(at + 1); break;
      }
    }
    try {
      std::string printed = to_string(parse_program(text));
      ++accepted;
      ASSERT_EQ(to_string(parse_program(printed)), printed) << text;
    } catch (const Error &e) {
      ASSERT_EQ(e.code(), ErrorCode::Parse) << e.what();
    }
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace fuse
