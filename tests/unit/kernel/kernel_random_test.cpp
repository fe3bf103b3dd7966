// Random words in kernels: what the verifier refuses, and the promise that the interpreter checks.
#include "ir/kernel_interpret.h"
#include "unit/kernel/verify_error.h"

#include <vector>

namespace fuse {
namespace {

const std::string kSeed = "%s = const 5 : u64\n";

/// A kernel with one layout over 64 columns of B rows, and the body in it.
Kernel kernel_of(const std::string &body,
                 const std::string &layout = "i = grid B; r = thread 16 . vec 4") {
  return parse_kernel(
      "kernel @k(%x: f32[64] align 16, %idx: u64[B]) -> (%y: u32[B, 64] align 16) threads 32 "
      "cluster 1 index 64 {\n  dims i: B, r: 64, q: 64\n  layout L: " +
      layout + "\n  layout Q: q = loop:k 64\n  in L {\n" + body + "\n  }\n}\n");
}

std::string error_in(const std::string &body) { return error_of(kernel_of(body)); }

TEST(KernelRandom, IsVerified) {
  EXPECT_EQ(error_in(kSeed + "%w = random.4 %s[i*64 + r] stream 3"), "");
  EXPECT_EQ(error_in(kSeed + "%w = random %s[r*7] stream 3"), "");
  EXPECT_EQ(error_in("%s = load %idx[i]\n%w = random %s[r] stream 3"),
            "kernel k: random %w: the seed %s is no u64 that is one for all positions");
  EXPECT_EQ(error_in("%s = const 5 : u32\n%w = random %s[r] stream 3"),
            "kernel k: random %w: the seed %s is no u64 that is one for all positions");
  EXPECT_EQ(error_in(kSeed + "%w = random.8 %s[r] stream 3"),
            "kernel k: random %w: 8 words do not come from one call");
  EXPECT_EQ(error_in(kSeed + "%w = random.3 %s[r] stream 3"),
            "kernel k: random %w: vectors of 3 u32 are no power of two of at most 32 bytes");
  EXPECT_EQ(error_in(kSeed + "%w = random.4 %s[r*2] stream 3"),
            "kernel k: random %w: no vec digit that 4 divides advances r*2 by 1");
  EXPECT_EQ(error_in(kSeed + "%w = random %s[q] stream 3"),
            "kernel k: random %w: dim q is not available: it is not in the layout, or its loop is "
            "not bound");
  Kernel k = kernel_of(kSeed + "%w = random %s[r] stream 3");
  k.values.back().dtype = DType::I32;
  EXPECT_EQ(error_of(k), "kernel k: random %w: random words are u32, not i32");
}

std::string error_in_text(const std::string &body) {
  try {
    kernel_of(body);
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Parse);
    return e.what();
  }
  return "no error";
}

TEST(KernelRandom, SaysWhatIsWrongInItsText) {
  EXPECT_EQ(error_in_text(kSeed + "%w = random.x %s[r] stream 3"),
            "<text>:7:6: error: 'x' in random.x is no number of elements");
  EXPECT_EQ(error_in_text(kSeed + "%w = random.4.4 %s[r] stream 3"),
            "<text>:7:6: error: random is written random.N, N words of a call");
  EXPECT_EQ(error_in_text(kSeed + "%w = random %s[r]"),
            "<text>:8:3: error: expected 'stream', found '}'");
}

/// What the interpreter says, the tensor %x standing so many elements behind a boundary.
std::string interpreted(const Kernel &kernel, std::int64_t phase = 0) {
  std::vector<float> x(64);
  std::vector<std::uint64_t> seeds(2);
  std::vector<std::uint32_t> y(128);
  verify(kernel);
  try {
    interpret(kernel,
              {{{x.data(), 64, phase}, {seeds.data(), 2, 0}, {y.data(), 128, 0}}, {{"B", 2}}, 0});
  } catch (const Error &e) {
    return e.what();
  }
  return "";
}

TEST(KernelRandom, SharesCallsAsPromised) {
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random.4 %s[r + 4] stream 0")), "");
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random.2 %s[r + 2] stream 0")), "");
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random.4 %s[r + 2] stream 0")),
            "kernel k: random %w: thread 0 of block 0: words 2 and 2 do not share a call");
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random.4 %s[r % 6] stream 0")),
            "kernel k: random %w: thread 1 of block 0: words 4 and 0 do not share a call");
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random %s[r % 6] stream 0")), "");
}

/// Vectors that begin before the row: of the first word only the place in the call counts.
TEST(KernelRandom, SharesCallsWithWordsBeforeTheRow) {
  const std::string aligned = "i = grid B; r = thread 32 . vec 4 align %x[0]";
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random.4 %s[r + 2] stream 0", aligned), 2), "");
  EXPECT_EQ(interpreted(kernel_of(kSeed + "%w = random.4 %s[r + 2] stream 0", aligned), 1),
            "kernel k: random %w: thread 0 of block 0: words 1 and 2 do not share a call");
}

}  // namespace
}  // namespace fuse
