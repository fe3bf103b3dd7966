// Kernel text: print and parse are inverse for every statement kind, malformed text is refused
// with its place, and no text crashes the parser.
#include "ir/instances.h"

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

// A table of instances, in canonical form.
constexpr std::string_view kInstances =
    R"(kernel @many(%x: f32[n, m*4] align 16 each, %w: f32[B], %s: f32[] scalar each) -> (%y: f32[n] each) workspace (%p: f32[n] coherent each) threads 32 cluster 1 index 64 {
  instances 3 n: 4, 0, B*2 + 1; m: 1, 7, B
  dims i: n
  layout L: i = grid (n + 31) / 32 . thread 32
  in L {
    %a = load %x[i*m]
    store %y[i], %a
  }
}
)";

// Every kind of statement, digit and attribute once, in canonical form.
constexpr std::string_view kEverything =
    R"(kernel @all(%x: bf16[B, 4097] align 2, %w: f32[N + 1, 3] align 16, %lr: f32[] scalar, %idx: i64[B]) -> (%y: bf16[B, 4097], %z: f32[B*4096]) workspace (%p: f32[64, 4096] coherent, %ctr: u32[1] coherent) threads 128 cluster 2 index 64 divisors (B 8, N 2) minima (N 7) {
  dims i: B, r: 4097, n: N, q: 64
  layout L: i = loop:k (B + 15) / 16 . grid 16; r = reg 5 . thread 128 . vec 8 align %x[i*4097]
  layout M: (i, n) = grid B*N; q = cta 2 . thread 8@4 . reg 1 . vec 4
  layout S:
  in L {
    %c = const 0.5 : f32
    %inf = const 0x7f800000 : f32
    %t = const true : bool
    %j = index i*4097 + r % 8 : i64
    %j32 = index (r / 2)*3 - 1 : i32
    %seed = const 5 : u64
    %w4 = random.4 %seed[i*4096 + r] stream 9223372036854775807
    for k {
      %g = load %idx[i]
      %w1 = random %seed[r + %g*3] stream 0
      %a = load.8.streaming %x[i*4097 + r] if %t
      %a1 = load.4.evict_last %w[r + %g*3]
      %a2 = load.no_allocate %lr[0]
      %a3 = load.8 %x[i*4097 + r] fill 0xff80
      %b = cast %a : f32
      %d = mul %b, %c : f32
      %e = lt %d, %c : bool
      %f = select %e, %d, %c : f32
      %m, %s = reduce online(%d, %f) over r
      %mean, %m2, %count = reduce welford(%b) over i
      %cum = scan sum(%d) over r
      %cumx = scan sum(%d) over r exclusive reverse
      %cm, %cs = scan online(%d, %f) over r from %m, %s exclusive
      %k1 = keep reg %d
      %k2 = keep shared %d
      %h = cast %d : bf16
      %v = move.2.4 %d to M via shared[-i + r*65 + r / 32]
      store.8.streaming %y[i*4097 + r], %h if %e
    }
    last_block %ctr[0] of (B + 15) / 16 {
      %0 = fma %c, %c, %c : f32
    }
  }
  in M {
    store %z[i*4096 + q], %v
  }
}
)";

TEST(KernelText, PrintOfParseIsTheText) {
  Kernel k = parse_kernel(kEverything);
  // The value printed as %0 has no name: it prints as its number.
  std::string expected(kEverything);
  std::size_t at = expected.find("%0 =");
  expected.replace(at, 2, "%" + std::to_string(k.values.size() - 1));
  EXPECT_EQ(to_string(k), expected);
  EXPECT_EQ(to_string(parse_kernel(to_string(k))), expected);
}

TEST(KernelText, FillsInWhatTheTextLeavesOut) {
  Kernel k = parse_kernel(kEverything);
  auto value = [&](std::string_view name) -> const KernelValue & {
    for (const KernelValue &v : k.values)
      if (v.name == name) return v;
    throw std::out_of_range(std::string(name));
  };
  EXPECT_EQ(value("a").dims, (std::vector<DimId>{0, 1}));
  EXPECT_EQ(value("a1").dims, (std::vector<DimId>{0, 1}));  // through %g
  EXPECT_EQ(value("a2").dims, (std::vector<DimId>{}));
  EXPECT_EQ(value("m").dims, (std::vector<DimId>{0}));
  EXPECT_EQ(value("mean").dims, (std::vector<DimId>{1}));
  EXPECT_EQ(value("v").layout, 1u);
  EXPECT_EQ(value("d").layout, 0u);
  EXPECT_EQ(k.buffers[2].role, BufferRole::Scalar);
  EXPECT_TRUE(k.buffers[6].coherent);

  Kernel n = parse_kernel(R"(kernel @n(%x: bf16[4]) -> () threads 32 cluster 1 index 32 {
  dims i: 4
  layout L: i = thread 4
  in L {
    %a = load %x[i]
    %c = const 2.0 : f32
    %b = mul %c, %a
    %d = lt %b, %a
    %e = index i
  }
})");
  EXPECT_EQ(n.values[2].dtype, DType::BF16);
  EXPECT_EQ(n.values[3].dtype, DType::Bool);
  EXPECT_EQ(n.values[4].dtype, DType::I64);
}

TEST(KernelText, Queries) {
  Kernel k = parse_kernel(kEverything);
  const Layout &layout = k.layouts[0];
  EXPECT_EQ(axis_of(layout, 1), 1u);
  EXPECT_EQ(axis_of(layout, 3), kNone);
  EXPECT_EQ(num_slots(layout, axes_of(layout, {0, 1})), 40);
  EXPECT_EQ(num_slots(layout, axes_of(layout, {0})), 1);
  EXPECT_EQ(vec_extent(layout.axes[1]), 8);
  EXPECT_EQ(vec_extent(layout.axes[0]), 1);
  EXPECT_EQ(symbols_of(k), (std::vector<std::string>{"B", "N"}));
  EXPECT_TRUE(loop_digit(layout, "k")->extent == ceildiv(Index::symbol("B"), 16));
  EXPECT_EQ(loop_digit(layout, "q"), nullptr);
  Kernel g = parse_kernel(R"(kernel @g() -> () threads 32 cluster 4 index 32 {
  dims i: 8, j: N
  layout L: i = grid 8; j = grid ceil(N / 256)@8 . thread 256
})");
  EXPECT_EQ(grid_size(g), ceildiv(Index::symbol("N"), 256) * 32);
}

std::string error_of(std::string_view text) {
  try {
    parse_kernel(text, "k");
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Parse) << e.what();
    return e.what();
  }
  return "";
}

/// The error of a kernel whose body, on line 5, is given.
std::string error_in(std::string body) {
  return error_of(
      "kernel @n(%x: f32[4]) -> (%y: f32[4]) threads 32 cluster 1 index 32 {\n"
      "dims i: 4\nlayout L: i = thread 4\nin L {\n" +
      body + "\n}\n}");
}

TEST(KernelText, ReportsThePlace) {
  EXPECT_EQ(error_of(""), "k:1:1: error: expected 'kernel', found end of text");
  EXPECT_EQ(error_in("%a = load %q[i]"), "k:5:11: error: buffer q is not defined");
  EXPECT_EQ(error_in("%a = add %b, %c"), "k:5:10: error: value b is not defined");
  EXPECT_EQ(error_in("%a = load %x[i]\n%a = load %x[i]"), "k:6:1: error: value a is defined twice");
  EXPECT_EQ(error_in("%a = frob %x"), "k:5:6: error: frob is no operation of a kernel");
  EXPECT_EQ(error_in("%a = sum %x"), "k:5:6: error: sum is no operation of a kernel");
  EXPECT_EQ(error_in("%a = load.x %x[i]"), "k:5:6: error: 'x' is no cache policy");
  EXPECT_EQ(error_in("%a, %b = load %x[i]"),
            "k:5:1: error: load has 1 results, but 2 names stand for them");
  EXPECT_EQ(error_in("%a = load %x[i] %b = load %x[i]"),
            "k:5:17: error: expected a new line before '%b'");
  EXPECT_EQ(error_in("%a = load %x[i%8]"),
            "k:5:15: error: '%8' follows an operand; a remainder is written 'a % b'");
  EXPECT_EQ(error_in("%a = load %x[i / 0]"),
            "k:5:16: error: index is divided by 0, not a positive number");
  EXPECT_EQ(error_in("%a = load %x[9007199254740993]"),
            "k:5:14: error: integer 9007199254740993 is above 9007199254740992");
  EXPECT_EQ(error_in("%a = load %x[i]\n%b = cast %a"),
            "k:7:1: error: expected ':' and the dtype that cast gives");
  EXPECT_EQ(error_in("%a = load %x[i]\n%b = reduce online(%a) over i"),
            "k:6:13: error: online folds 2 operands, not 1");
  EXPECT_EQ(error_in("in Q { }"), "k:5:4: error: layout Q is not defined");
  EXPECT_EQ(error_in("%a = const 300 : i8"), "k:5:12: error: 300 is no value of i8");
  EXPECT_EQ(error_of("kernel @n() -> () threads 32 cluster 1 index 32 {\ndims i: 4, j: i\n}"),
            "k:2:15: error: i is a dim: extents use symbols only");
}

TEST(KernelText, BoundsNesting) {
  std::string open, close;
  for (int n = 0; n < 100000; ++n) open += "(", close += ")";
  EXPECT_NE(error_in("%a = load %x[" + open + "i" + close + "]").find("nests too deeply"),
            std::string::npos);
  std::string loops;
  for (int n = 0; n < 100000; ++n) loops += "in L {\n";
  EXPECT_NE(error_in(loops).find("nest too deeply"), std::string::npos);
  std::string ceils;
  for (int n = 0; n < 100000; ++n) ceils += "ceil(";
  EXPECT_NE(error_in("%a = load %x[" + ceils).find("nests too deeply"), std::string::npos);
}

TEST(KernelText, SurvivesMutations) {
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
      Kernel k = parse_kernel(text);
      ++accepted;
      std::string printed = to_string(k);
      ASSERT_EQ(to_string(parse_kernel(printed)), printed) << text;
    } catch (const Error &e) {
      ASSERT_EQ(e.code(), ErrorCode::Parse) << e.what();
      ASSERT_EQ(std::string(e.what()).rfind("<text>:", 0), 0u) << e.what();
    }
  }
  EXPECT_GT(accepted, 20);
}

}  // namespace
}  // namespace fuse
