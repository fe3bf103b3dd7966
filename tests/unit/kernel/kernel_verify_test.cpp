// The verifier: accepts a kernel of every shape, refuses one small kernel per invariant, by name.
#include "ir/kernel.h"
#include "unit/kernel/verify_error.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <functional>

namespace fuse {
namespace {

constexpr std::string_view kLayout = "i = grid B; r = reg 2 . thread 128 . vec 8";

/// A kernel with one layout L over dims i: B and r, and the body in it.
std::string text_of(const std::string &body, std::string_view layout = kLayout,
                    std::string_view settings = "threads 128 cluster 1 index 64") {
  return "kernel @k(%x: bf16[B, 2048] align 16, %a: f32[], %idx: i64[B]) -> (%y: bf16[B, 2048] "
         "align 16, %z: f32[B]) workspace (%p: f32[B] coherent, %c: u32[1] coherent) " +
         std::string(settings) +
         " {\n  dims i: B, r: 2048, q: 64\n  layout L: " + std::string(layout) +
         "\n  layout M: (i, r) = grid B . thread 128 . vec 16\n" +
         "  layout Q: q = loop:k 64\n  in L {\n" + body + "\n  }\n}\n";
}

std::string error_in(const std::string &body, std::string_view layout = kLayout,
                     std::string_view settings = "threads 128 cluster 1 index 64") {
  return error_of(parse_kernel(text_of(body, layout, settings)));
}

std::string error_in_layout(std::string_view layout) { return error_in("", layout); }

/// The error after a change that no text can express.
std::string error_after(const std::string &body, const std::function<void(Kernel &)> &change) {
  Kernel k = parse_kernel(text_of(body));
  change(k);
  return error_of(k);
}

const std::string kLoad = "%v = load.8 %x[i*2048 + r]\n%f = cast %v : f32\n";
const std::string kLoop = "i = loop:k 64 . grid B; r = thread 128 . vec 16";

TEST(KernelVerify, AcceptsAKernel) {
  EXPECT_EQ(error_in(kLoad + R"(
    %s = reduce sum(%f) over r
    %half = const 0.5 : f32
    %h = mul %v, %half : bf16
    %m = move.8.8 %h to M via shared[r]
    %t = lt %f, %s
    store %z[i], %s
    store.8 %y[i*2048 + r], %h if %t
    in M {
      %m2 = add %m, %m
    }
    store %p[i], %s
    last_block %c[0] of B {
      %q = load %p[i]
    })"),
            "");
  EXPECT_EQ(error_in("for k {\n" + kLoad + R"(
      %s = reduce sum(%f) over i
      %row = reduce sum(%f) over r
      %c2 = scan sum(%f) over r
      store %z[i], %row
    }
    %s2 = add %s, %s)",
                     kLoop),
            "");
}

TEST(KernelVerify, Settings) {  // 1
  EXPECT_EQ(error_in("", kLayout, "threads 100 cluster 1 index 64"),
            "kernel k: signature: 100 threads: a block has 32 to 1024 threads in whole warps");
  EXPECT_EQ(error_in("", kLayout, "threads 128 cluster 17 index 64"),
            "kernel k: signature: cluster of 17: a cluster has 1 to 16 blocks");
  EXPECT_EQ(error_in("", kLayout, "threads 128 cluster 1 index 16"),
            "kernel k: signature: index width 16 is neither 32 nor 64");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.divisors = {{"B", 12}}; }),
            "kernel k: signature: divisor 12 of B is no power of two");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.minima = {{"B", -1}}; }),
            "kernel k: signature: minimum -1 of B is no size of a symbol");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.minima = {{"B C", 1}}; }),
            "kernel k: signature: minimum 1 of B C is no size of a symbol");
}

TEST(KernelVerify, Names) {  // 2
  EXPECT_EQ(error_after("", [](Kernel &k) { k.buffers[0].name = "a b"; }),
            "kernel k: buffer: 'a b' is no identifier");
  EXPECT_EQ(error_after(kLoad, [](Kernel &k) { k.values[1].name = "v"; }),
            "kernel k: value: v names two");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.dims[2].name = "B"; }),
            "kernel k: symbol: B is also the name of a dim");
}

TEST(KernelVerify, Buffers) {  // 3
  EXPECT_EQ(error_after("", [](Kernel &k) { std::swap(k.buffers[0], k.buffers[3]); }),
            "kernel k: buffer a: inputs, outputs, workspace is the order");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.buffers[0].alignment = 12; }),
            "kernel k: buffer x: alignment 12 is no power of two of at least an element");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.buffers[0].shape[0] = Index::dim(0); }),
            "kernel k: buffer x: i uses more than symbols");
}

TEST(KernelVerify, Layouts) {  // 4 to 11
  EXPECT_EQ(error_in_layout("i = grid B; (r, i) = thread 128"),
            "kernel k: layout L: dim i is in two axes");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.layouts[0].axes.resize(65); }),
            "kernel k: layout L: it has more than 64 axes");
  EXPECT_EQ(error_after("", [](Kernel &k) { k.layouts[0].axes[0].digits.clear(); }),
            "kernel k: layout L, axis i: it has no digits; write reg 1");
  EXPECT_EQ(error_in_layout("r = vec 8 . thread 128"),
            "kernel k: layout L, axis r: a vec digit is not the last");
  EXPECT_EQ(error_in_layout("r = reg N . thread 128"),
            "kernel k: layout L, axis r: extent N of a digit is not constant");
  EXPECT_EQ(error_in_layout("r = thread 128@(N)"),
            "kernel k: layout L, axis r: stride N of a digit is not constant");
  EXPECT_EQ(error_in_layout("r = reg 0"),
            "kernel k: layout L, axis r: digit extent 0 is out of range");
  EXPECT_EQ(error_in_layout("r = reg 4@2"),
            "kernel k: layout L, axis r: only grid, cta and thread digits have a stride");
  EXPECT_EQ(error_in_layout("i = thread 16; r = thread 16@8"),
            "kernel k: layout L: thread digits 16@1 and 8 overlap");
  EXPECT_EQ(error_in_layout("r = thread 256"),
            "kernel k: layout L: thread digits 256@1 and 128 overlap");
  EXPECT_EQ(error_in_layout("r = cta 2"), "kernel k: layout L: cta digits 2@1 and 1 overlap");
  EXPECT_EQ(error_in("", "r = thread 3", "threads 96 cluster 1 index 64"),
            "kernel k: layout L: thread digit 3@1 splits a warp unevenly");
  EXPECT_EQ(error_in("", "i = thread 4@96; r = thread 96", "threads 384 cluster 1 index 64"), "");
  EXPECT_EQ(error_in_layout("i = grid B; r = grid 8"),
            "kernel k: layout L: grid digits B@1 and 8@1 overlap");
  EXPECT_EQ(error_in_layout("i = grid B@8; r = grid 8"), "");
  EXPECT_EQ(error_in("", "r = loop:n 16777216 . thread 128", "threads 128 cluster 1 index 32"),
            "kernel k: layout L: 2147483648 positions on an axis need index 64");
  EXPECT_EQ(error_in("", "r = loop:n 16777207 . thread 128", "threads 128 cluster 1 index 32"), "");
  EXPECT_EQ(error_in("", "r = loop:n 16777216 . thread 128", "threads 128 cluster 1 index 64"), "");
  EXPECT_NE(error_in_layout("i = grid 7").find("cannot be compared"), std::string::npos);
  EXPECT_EQ(error_in_layout("i = reg 128; r = reg 64"),
            "kernel k: layout L, axis r: the layout has more than 4096 slots");
  EXPECT_EQ(error_in_layout("i = grid B; r = thread 128 align %x[i*2048]"), "");
  EXPECT_EQ(error_in_layout("i = grid B; r = thread 128 . vec 3 align %x[i*2048]"),
            "kernel k: layout L, axis r: align needs a vec digit of a power of two");
  EXPECT_EQ(error_in_layout("i = grid B; r = thread 128 . vec 8 align %x[r]"),
            "kernel k: layout L, axis r: the base of align uses a dim that is not in another, "
            "unaligned axis");
}

TEST(KernelVerify, LoopsAgree) {  // 12
  EXPECT_EQ(error_in_layout("i = loop:k 4"),
            "kernel k: loop k: layouts L and Q give it different extents");
}

TEST(KernelVerify, Values) {  // 13, 14, 16
  EXPECT_EQ(error_of(parse_kernel("kernel @k() -> () threads 32 cluster 1 index 32 {\n"
                                  "  %a = const 1.0 : f32\n}\n")),
            "kernel k: const %a: it stands in no layout");
  EXPECT_EQ(error_in(kLoad + "in M {\n%g = neg %f\n}"),
            "kernel k: compute %g: %f is a value of another layout");
  EXPECT_EQ(error_in("for k {\n" + kLoad + "}\n%g = neg %f", kLoop),
            "kernel k: compute %g: %f is not in scope here");
  EXPECT_EQ(error_in("for k {\n" + kLoad + "%s = reduce sum(%f) over i\n%g = neg %s\n}", kLoop),
            "kernel k: compute %g: %s is not in scope here");
  EXPECT_EQ(error_in(kLoad + "last_block %c[0] of B {\n%g = neg %f\n}\n%h = neg %g"),
            "kernel k: compute %h: %g is not in scope here");
  EXPECT_EQ(error_after(kLoad, [](Kernel &k) { std::swap(k.body[0].body[0], k.body[0].body[1]); }),
            "kernel k: compute %f: %v is not in scope here");
  EXPECT_EQ(error_after(kLoad, [](Kernel &k) { k.body[0].body[1].results[0] = 0; }),
            "kernel k: compute %v: %v is defined twice");
  EXPECT_EQ(error_after(kLoad, [](Kernel &k) { k.body[0].body.pop_back(); }),
            "kernel k: value f: no statement defines it");
  EXPECT_EQ(error_after(kLoad, [](Kernel &k) { k.values[1].dims = {0}; }),
            "kernel k: compute %f: %f does not have the dims that it depends on");
  EXPECT_EQ(error_after(kLoad, [](Kernel &k) { k.values[1].layout = 1; }),
            "kernel k: compute %f: %f is noted in another layout");
}

TEST(KernelVerify, Dtypes) {  // 15
  EXPECT_EQ(error_in(kLoad + "%g = add %v, %f"),
            "kernel k: compute %g: operands of add are bf16 "
            "and f32");
  EXPECT_EQ(error_in(kLoad + "%g = and %f, %f"),
            "kernel k: compute %g: and takes an integer type or bool, not f32");
  EXPECT_EQ(error_in(kLoad + "%g = add %f, %f : bf16"),
            "kernel k: compute %g: add gives f32, not "
            "bf16");
  EXPECT_EQ(error_in(kLoad + "%g = add %f"), "kernel k: compute %g: it has 1 operands, not 2");
  EXPECT_EQ(error_in(kLoad + "%g = select %f, %f, %f"),
            "kernel k: compute %g: the condition of select is no bool");
  EXPECT_EQ(error_in(kLoad + "%g = bitcast %f : i64"),
            "kernel k: compute %g: bitcast of f32 to i64: sizes differ");
  EXPECT_EQ(error_in(kLoad + "%g = reduce sum(%v) over r"),
            "kernel k: reduce %g: sum folds integers, f32 or f64, not bf16");
  EXPECT_EQ(error_in(kLoad + "%g = reduce any(%f) over r"),
            "kernel k: reduce %g: any folds bool, not f32");
  EXPECT_EQ(error_in(kLoad + "%g, %h = reduce argmax(%f, %f) over r"),
            "kernel k: reduce %g %h: the position is not i64");
  EXPECT_EQ(error_in("%g = index i : f32"), "kernel k: index %g: an index is a signed integer");
}

TEST(KernelVerify, Indices) {  // 17
  EXPECT_EQ(error_in("%g = index q"),
            "kernel k: index %g: dim q is not available: it is not in the layout, or its loop is "
            "not bound");
  EXPECT_EQ(error_in("%g = index i", kLoop),
            "kernel k: index %g: dim i is not available: it is not in the layout, or its loop is "
            "not bound");
  EXPECT_EQ(error_in("%g = index r", "i = loop:k 64; r = thread 128 . vec 8 align %x[i*2048]"),
            "kernel k: index %g: dim r is not available: it is not in the layout, or its loop is "
            "not bound");
  EXPECT_EQ(error_in(kLoad + "%g = load %x[%f]"),
            "kernel k: load %g: %f is no integer, but part of an index");
}

TEST(KernelVerify, Accesses) {  // 18, 19
  EXPECT_EQ(error_in("%g = load.32 %x[i*2048 + r]"),
            "kernel k: load %g: vectors of 32 bf16 are no power of two of at most 32 bytes");
  EXPECT_EQ(error_in("%g = load.3 %x[i*2048 + r]"),
            "kernel k: load %g: vectors of 3 bf16 are no power of two of at most 32 bytes");
  EXPECT_EQ(error_in("%g = load.16 %x[i*2048 + r]"),
            "kernel k: load %g: no vec digit that 16 divides advances i*2048 + r by 1");
  EXPECT_EQ(error_in("%g = load.8 %x[i*2048 + r*2]"),
            "kernel k: load %g: no vec digit that 8 divides advances i*2048 + r*2 by 1");
  EXPECT_EQ(error_in(kLoad + "%g = load %z[i] if %f"), "kernel k: load %g: the guard is no bool");
  EXPECT_EQ(error_in("%t = const true : bool\n%g = load %z[i] if %t fill 1.0"),
            "kernel k: load %g: a load with a guard, in bulk or of a scalar has no fill");
  EXPECT_EQ(error_in(kLoad + "store %x[i], %v"), "kernel k: store %x: %x is an input");
  EXPECT_EQ(error_in(kLoad + "store %z[i], %v"), "kernel k: store %z: %z holds f32, not bf16");
  EXPECT_EQ(error_in("%g = load %z[i]\nstore %z[i], %g"),
            "kernel k: buffer z: it is loaded and stored, but not coherent");
}

TEST(KernelVerify, Folds) {  // 20
  EXPECT_EQ(error_in(kLoad + "%g = reduce sum(%f) over r",
                     "(i, r) = grid B . reg 2 . thread 128 . vec 8"),
            "kernel k: reduce %g: it folds r, which is a part of an axis");
  EXPECT_EQ(error_in(kLoad + "%g = reduce sum(%f) over q"),
            "kernel k: reduce %g: a folded dim is not in the layout, or its loop is not bound");
  EXPECT_EQ(error_in("%o = load %z[i]\n%g = reduce sum(%o) over r"),
            "kernel k: reduce %g: no operand depends on r");
}

TEST(KernelVerify, Moves) {  // 22
  EXPECT_EQ(error_in(kLoad + "%g = move.1.1 %f to Q via shared[r]"),
            "kernel k: move %g: dim i of the operand is not available in layout Q");
  EXPECT_EQ(error_in(kLoad + "%j = load %idx[i]\n%g = move.1.1 %f to M via shared[r + %j]"),
            "kernel k: move %g: the shared offset uses a value");
  EXPECT_EQ(error_in(kLoad + "%g = move.8.8 %f to M via shared[r*2]"),
            "kernel k: move %g: no vec digit that 8 divides advances r*2 by 1");
  auto error = [](const std::string &move) { return error_in(kLoad + "%g = " + move); };
  EXPECT_EQ(error("move.8.8 %f to M via shared[(r / 8 + r / 64) % 256*8 + r % 8]"), "");
  EXPECT_EQ(
      error("move.8.1 %f to M via shared[r + 4]"),
      "kernel k: move %g: a vector of 8 elements at shared offset r + 4 is not aligned to its "
      "size");
  EXPECT_EQ(
      error("move.1.8 %f to M via shared[r + r / 32]"),
      "kernel k: move %g: a vector of 8 elements at shared offset r + r / 32 is not aligned to "
      "its size");
  EXPECT_EQ(
      error("move.8.1 %f to M via shared[r + r / 4]"),
      "kernel k: move %g: the 8 elements of a vector do not lie side by side at shared offset r "
      "+ r / 4");
  EXPECT_EQ(error("move.8.1 %f to M via shared[r*2 % 4096]"),
            "kernel k: move %g: no vec digit that 8 divides advances (r % 2048)*2 by 1");
  EXPECT_EQ(error("move.1.1 %f to M via shared[r*B]"),
            "kernel k: move %g: shared offset r*B has no bounds that are known");
  EXPECT_EQ(error("move.1.1 %f to M via shared[r - 1]"),
            "kernel k: move %g: shared offset r - 1 may be -1: it starts at 0");
}

TEST(KernelVerify, DimsWithoutElements) {
  EXPECT_EQ(error_of(parse_kernel("kernel @k(%x: f32[0]) -> () threads 32 cluster 1 index 32 {\n"
                                  "  dims i: 4, e: 0\n  layout L: (i, e) = thread 32\n  in L {\n"
                                  "    %v = load %x[i + e]\n  }\n}\n")),
            "");
}

TEST(KernelVerify, LastBlockCountsAllBlocks) {  // 24
  EXPECT_EQ(error_in("last_block %c[0] of B - 1 {\n}"),
            "kernel k: last_block: 1 counters of B - 1 blocks each, but B blocks are launched");
  EXPECT_EQ(error_in("last_block %c[0] of B {\n}\nlast_block %c[0] of B {\n}"),
            "kernel k: last_block: %c counts for another last_block");
  EXPECT_EQ(error_in("last_block %c[0] of B {\n%v = load %c[0]\n}"),
            "kernel k: buffer c: it counts blocks, and is loaded or stored");
}

// A sum whose parts each tile of columns must store, but only the first does.
TEST(KernelVerify, LastBlockReadsPartsOfItsOwnCounter) {  // 28
  auto error = [](const std::string &store) {
    return error_of(parse_kernel(R"(
      kernel @k(%x: f32[64]) -> () workspace (%p: f32[256] coherent, %c: u32[2] coherent)
          threads 32 cluster 1 index 32 {
        dims c: 64, g: 4
        layout P: g = grid 4@2; c = grid 2 . thread 32
        layout F: g = reg 4; c = grid 2 . thread 32
        in P {
          %v = load %x[c]
          %n = const 1.0 : f32
          )" + store + R"(
        }
        in F {
          last_block %c[c / 32] of 4 {
            %q = load %p[g*64 + c]
          }
        }
      })"));
  };
  EXPECT_EQ(error("store %p[g*64 + c], %v"), "");
  EXPECT_EQ(
      error("store %p[g*64], %n"),
      "kernel k: last_block: %p is stored only where grid 2@1 is 0, but counter c / 32 counts "
      "the others too");
}

TEST(KernelVerify, PartitionedLoopsStayWithinTheThread) {
  EXPECT_EQ(error_in("for k partition {\n" + kLoad + "%g = reduce sum(%f) over i\n}", kLoop), "");
  EXPECT_EQ(error_in("for k partition {\n" + kLoad + "%g = reduce sum(%f) over r\n}", kLoop),
            "kernel k: reduce %g: loop k cannot be partitioned: its body meets other threads");
  EXPECT_EQ(error_in("for k partition {\n" + kLoad + "%g = keep shared %f\n}", kLoop),
            "kernel k: keep %g: loop k cannot be partitioned: its body meets other threads");
}

TEST(KernelVerify, TermsOfASum) {
  const std::string one = kLoad + "%one = const 1.0 : f32\n";
  EXPECT_EQ(error_in(one + "%m, %s, %t = reduce online(%f, %one) over r terms\n"
                           "%q = div %t, %s : f32"),
            "");
  EXPECT_EQ(
      error_in("for k {\n" + one + "%m, %s, %t = reduce online(%f, %one) over i terms\n}", kLoop),
      "kernel k: reduce %m %s %t: terms are known only after the loop");
}

TEST(KernelVerify, BulkLoadsMoveWholeRows) {
  auto error = [](const std::string &load, const std::string &with = kLoop) {
    return error_in("for k pipe 2 {\n" + load + "\n}", with);
  };
  EXPECT_EQ(error("%v = load.8.bulk %x[i*2048 + r]"), "");
  EXPECT_EQ(error_in("%v = load.8.bulk %x[i*2048 + r]"),
            "kernel k: load %v: a bulk load stands in a loop with a pipe");
  EXPECT_EQ(error("%v = load.bulk %x[i*2048 + r*2]"),
            "kernel k: load %v: a bulk load needs a dim within the block along which i*2048 + r*2 "
            "advances by 1");
  EXPECT_EQ(
      error("%v = load.8.bulk %x[i*2048 + r]", "i = loop:k 64 . grid B; r = thread 128 . vec 32"),
      "");
  EXPECT_EQ(error("%v = load.bulk %x[i*2049 + r]"),
            "kernel k: load %v: rows of a bulk load are not whole units of 16 bytes");
  EXPECT_EQ(error_in("for k pipe 1 {\n}", kLoop),
            "kernel k: for: a pipe has 2 to 16 stages, in a loop neither partitioned, reverse nor "
            "piped");
}

TEST(KernelVerify, Scopes) {  // 23, 24
  EXPECT_EQ(error_in("for n {\n}"), "kernel k: for: layout L has no loop n");
  EXPECT_EQ(error_in("for k {\nfor k {\n}\n}", "i = loop:k 64"), "kernel k: for: loop k is bound");
  EXPECT_EQ(error_in("last_block %p[0] of B {\n}"),
            "kernel k: last_block: counter %p is no u32 workspace");
  EXPECT_EQ(error_in("last_block %c[r] of B {\n}"),
            "kernel k: last_block: the counter differs within a block");
  EXPECT_EQ(error_in("for k {\nlast_block %c[0] of B {\n}\n}", "i = loop:k 64"),
            "kernel k: last_block: it stands in a loop or in another last_block");
  EXPECT_EQ(
      error_in("last_block %c[0] of B*2 {\n" + kLoad + "%g = reduce sum(%f) over r\n}",
               "i = grid B; r = cta 2 . thread 128 . vec 8", "threads 128 cluster 2 index 64"),
      "kernel k: reduce %g: a reduction over a cluster in last_block waits for blocks that "
      "do not come");
}

TEST(KernelVerify, BodiesUnrollToAFewThousandStatements) {  // 30
  std::string chain = "%v0 = load %x[r]\n";
  for (int i = 0; i < 16; ++i)
    chain += "%v" + std::to_string(i + 1) + " = neg %v" + std::to_string(i) + "\n";
  EXPECT_EQ(error_in(chain, "r = reg 512 . thread 1"), "");
  EXPECT_EQ(error_in(chain, "r = reg 1024 . thread 1"),
            "kernel k: body: it unrolls to 17408 statements, more than 16384: take smaller reg and "
            "vec digits, or loops");
  // Each of the sums is combined over 32 warps.
  EXPECT_EQ(error_in("%v = load %x[i*2048 + r]\n%f = cast %v : f32\n%s = reduce sum(%f) over r",
                     "i = reg 2048; r = thread 1024", "threads 1024 cluster 1 index 64"),
            "kernel k: body: it unrolls to 96256 statements, more than 16384: take smaller reg and "
            "vec digits, or loops");
}

}  // namespace
}  // namespace fuse
