// The verifier on scans: the order of digits and loops, and what a scan starts from.
#include "ir/kernel.h"
#include "unit/kernel/verify_error.h"

#include <gtest/gtest.h>

namespace fuse {
namespace {

/// The error of a body over dims i: B and r in this layout.
std::string error_in(const std::string &body,
                     std::string layout = "i = grid B; r = reg 2 . thread 128 . vec 8") {
  return error_of(parse_kernel(
      "kernel @k(%x: bf16[B, 2048] align 16, %idx: i64[B], %z: f32[B]) -> () threads 128 cluster 1 "
      "index 64 {\n  dims i: B, r: 2048\n  layout L: " +
      layout + "\n  in L {\n" + body + "\n  }\n}\n"));
}

const std::string kLoad = "%v = load.8 %x[i*2048 + r]\n%f = cast %v : f32\n";

TEST(KernelVerifyScan, DigitsDirectionAndStart) {  // 21
  EXPECT_EQ(error_in(kLoad + "%g = scan sum(%f) over r"), "");
  std::string order =
      "kernel k: scan %g: a scanned axis has digits grid . loop . reg . thread . reg . vec";
  EXPECT_EQ(error_in(kLoad + "%g = scan sum(%f) over i"), "");
  EXPECT_EQ(error_in(kLoad + "%g = scan sum(%f) over r",
                     "i = grid B; r = thread 4@32 . reg 2 . thread 32 . vec 8"),
            order);
  EXPECT_EQ(error_in(kLoad + "%g = scan sum(%f) over r",
                     "i = grid B; r = reg 2 . thread 32 . thread 4@32 . vec 8"),
            order);
  EXPECT_EQ(error_in(kLoad + "%g, %h, %n = scan welford(%f) over r"),
            "kernel k: scan %g %h %n: welford has no scan");
  EXPECT_EQ(error_in(kLoad + "%o = load %z[i]\n%g = scan sum(%f) over r from %o reverse"), "");
  EXPECT_EQ(error_in(kLoad + "%g = scan sum(%f) over r from %f"),
            "kernel k: scan %g: it starts from %f, which depends on r");
  EXPECT_EQ(error_in(kLoad + "%o = load %idx[i]\n%g = scan sum(%f) over r from %o"),
            "kernel k: scan %g: it starts from %o, which is i64, not f32");
  EXPECT_EQ(error_in(kLoad + "%o = load %z[i]\n%g, %h = scan online(%f, %f) over r from %o"),
            "kernel k: scan %g %h: it has 3 operands, not 4");
  std::string load = "%v = load %x[i*2048 + r]\n%f = cast %v : f32\n";
  std::string looped = "i = grid B; r = loop:k 64 . thread 32 . vec 1";
  EXPECT_EQ(error_in("for k reverse {\n" + load + "%g = scan sum(%f) over r\n}", looped),
            "kernel k: scan %g: loop k runs against the direction of the scan");
  EXPECT_EQ(error_in("for k reverse {\n" + load + "%g = scan sum(%f) over r reverse\n}", looped),
            "");
  EXPECT_EQ(error_in("for j {\nfor k {\n" + load + "%g = scan sum(%f) over r\n}\n}",
                     "i = grid B; r = loop:k 64 . loop:j 2 . thread 32 . vec 1"),
            "kernel k: scan %g: loop j is bound outside a loop that is outside it on the axis");
  EXPECT_EQ(error_in("for k reverse pipe 2 {\n}", looped),
            "kernel k: for: a pipe has 2 to 16 stages, in a loop neither partitioned, reverse nor "
            "piped");
}

}  // namespace
}  // namespace fuse
