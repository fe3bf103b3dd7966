// Casts: pairs that round, and the limits of 8-bit floats.
#include "cases/case_run.h"

#include <numeric>

namespace fuse::cases {

// pytorch 185337
TEST(CastCases, ANarrowingPairIsNoIdentity) {
  Tensor x = generate(f32, {8}, [](std::int64_t i) { return static_cast<float>(i) / 7; });
  auto run = [&](std::string_view narrow, const std::vector<double> &y) {
    std::string text = R"(graph @pair(%x: f32[8]) {
        %n = cast %x : TYPE[8]
        %y = cast %n : f32[8]
        %s = sum %y axes=[0]
        return %y, %s })";
    text.replace(text.find("TYPE"), 4, narrow);
    double sum = std::accumulate(y.begin(), y.end(), 0.0);
    run_case(text, {x}, {exact(f32, {8}, y), exact(f32, {}, {sum})});
  };
  run("f16", {0, 0.142822265625, 0.28564453125, 0.428466796875, 0.5712890625, 0.71435546875,
              0.85693359375, 1});
  run("bf16", {0, 0.142578125, 0.28515625, 0.427734375, 0.5703125, 0.71484375, 0.85546875, 1});
  run("f8e4m3", {0, 0.140625, 0.28125, 0.4375, 0.5625, 0.6875, 0.875, 1});
  run("f8e5m2", {0, 0.15625, 0.3125, 0.4375, 0.625, 0.75, 0.875, 1});
}

TEST(CastCases, NarrowIntegersWrap) {
  run_elementwise(R"(graph @pair(%x: i32[N]) {
      %n = cast %x : i8[N]
      %y = cast %n : i32[N]
      return %y })",
                  {ints(i32, {4}, {300, 128, -129, 5})},
                  {exactly(ints(i32, {4}, {44, -128, 127, 5}))});
}

// ml_dtypes 260, 400; ao 1912
TEST(CastCases, EightBitFloatsAtTiesOverflowAndSubnormals) {
  double tiny = 0x1p-9;
  std::vector<double> x = {432,  448,  464,  465,      1000,        -1000,
                           kInf, kNaN, tiny, tiny / 2, 0.75 * tiny, -0.0};
  run_elementwise(
      R"(graph @e4m3(%x: f32[N]) {
      %c = cast %x : f8e4m3[N]
      %y = cast %c : f32[N]
      %d = cast_sat %x : f8e4m3[N]
      %z = cast %d : f32[N]
      return %y, %z })",
      {floats(f32, {12}, x)},
      {exact(f32, {12}, {448, 448, 448, kNaN, kNaN, kNaN, kNaN, kNaN, tiny, 0, tiny, -0.0}),
       exact(f32, {12}, {448, 448, 448, 448, 448, -448, 448, kNaN, tiny, 0, tiny, -0.0})});
  double tiny2 = 0x1p-16;
  run_elementwise(R"(graph @e5m2(%x: f32[N]) {
      %c = cast %x : f8e5m2[N]
      %y = cast %c : f32[N]
      %d = cast_sat %x : f8e5m2[N]
      %z = cast %d : f32[N]
      return %y, %z })",
                  {floats(f32, {7}, {57344, 61440, -61440, kInf, kNaN, tiny2 / 2, -0.0})},
                  {exact(f32, {7}, {57344, kInf, -kInf, kInf, kNaN, 0, -0.0}),
                   exact(f32, {7}, {57344, 57344, -57344, 57344, kNaN, 0, -0.0})});
}

}  // namespace fuse::cases
