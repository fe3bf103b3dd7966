// Shapes: nothing in them, symbols, and scalars that change from call to call.
#include "cases/case_run.h"

namespace fuse::cases {

// pytorch 197108, 130187; Fuser 870, 1246, 449
TEST(ShapeCases, ReductionsOfNothing) {
  for (std::string shape : {"0", "3, 0"}) {
    bool rows = shape != "0";
    std::string axis = rows ? "1" : "0";
    std::string text = "graph @nothing(%x: f32[" + shape + "], %p: bool[" + shape + "]) {\n";
    for (const char *op : {"sum", "prod", "mean", "var"})
      text += std::string("%") + op + " = " + op + " %x axes=[" + axis + "]\n";
    for (const char *op : {"any", "all"})
      text += std::string("%") + op + " = " + op + " %p axes=[" + axis + "]\n";
    text += "return %sum, %prod, %mean, %var, %any, %all }";
    auto wanted = [&](DType type, double value) {
      return exact(type, rows ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{},
                   {value});
    };
    std::vector<std::int64_t> empty =
        rows ? std::vector<std::int64_t>{3, 0} : std::vector<std::int64_t>{0};
    run_case(text, {Tensor(f32, empty), Tensor(boolean, empty)},
             {wanted(f32, 0), wanted(f32, 1), wanted(f32, kNaN), wanted(f32, kNaN),
              wanted(boolean, 0), wanted(boolean, 1)});
  }
}

TEST(ShapeCases, MaximumOfNothingIsAnError) {
  EXPECT_THROW(parse(R"(graph @nothing(%x: f32[3, 0]) {
      %m = max %x axes=[1]
      return %m })"),
               Error);
}

TEST(ShapeCases, PadOfNothing) {
  double value = double(-3.70753f);
  run_case(R"(graph @pad(%x: f32[2, 0, 3], %one: f32[2, 1, 3]) {
      %y = pad %x, -3.70753 lo=[1, 1, 0] hi=[0, 1, 0]
      %s = slice %one [0:2, 0:0, 0:3]
      %z = pad %s, -3.70753 lo=[1, 1, 0] hi=[0, 1, 0]
      return %y, %z })",
           {Tensor(f32, {2, 0, 3}), floats(f32, {2, 1, 3}, {5})},
           {exact(f32, {3, 2, 3}, {value}), exact(f32, {3, 2, 3}, {value})});
}

TEST(ShapeCases, ConcatWithAnEmptyPart) {
  auto element = [](std::int64_t i) { return double(i % 1000) / 8; };
  run_case(R"(graph @concat(%x: f32[1, 4, 257, 128], %e: f32[1, 4, 257, 0]) {
      %d = mul %x, 2.0
      %y = concat %d, %e axis=3
      %z = concat %e, %d axis=3
      return %y, %z })",
           {generate(f32, {1, 4, 257, 128}, element), Tensor(f32, {1, 4, 257, 0})},
           std::vector<Expected>(2, exactly(generate(f32, {1, 4, 257, 128}, [&](std::int64_t i) {
                                   return 2 * element(i);
                                 }))));
}

TEST(ShapeCases, ReductionsAcrossAnEmptyAxis) {
  run_case(R"(graph @across(%x: f32[0, 5]) {
      %rows = sum %x axes=[1]
      %columns = sum %x axes=[0]
      return %rows, %columns })",
           {Tensor(f32, {0, 5})}, {exact(f32, {0}, {0}), exact(f32, {5}, {0})});
}

TEST(ShapeCases, ASymbolThatIsZeroAtRunTime) {
  std::vector<Sample> samples;
  for (std::int64_t n : {3, 0}) {
    double rows = double(n);
    Tensor padded(f32, {n + 1, 5});
    for (std::int64_t i = 0; i < padded.size(); ++i)
      padded.set_bits(i, floats(f32, {}, {i < 5 ? 9.0 : 2.0}).bits(0));
    samples.push_back({{floats(f32, {n, 5}, {2})},
                       {exact(f32, {n, 5}, {3}), exact(f32, {5}, {2 * rows}), exact(f32, {n}, {10}),
                        exactly(padded)},
                       {{"N", n}}});
  }
  run_samples(parse(R"(graph @zero(%x: f32[N, 5]) {
      symbol N min=0
      %y = add %x, 1.0
      %c = sum %x axes=[0]
      %r = sum %x axes=[1]
      %p = pad %x, 9.0 lo=[1, 0] hi=[0, 0]
      return %y, %c, %r, %p })"),
              samples);
}

// pytorch 194976
TEST(ShapeCases, RunTimeScalarsAreReadAtEveryCall) {
  std::vector<Sample> samples;
  for (double limit : {7, 10, 7})
    samples.push_back({{floats(f32, {5}, {100}), floats(f32, {5}, {9}), floats(f32, {}, {limit})},
                       {within(f32, {5}, {limit == 7 ? 49.0 : 90.0}, {0, 1e-6, 0})}});
  run_samples(parse(R"(graph @swiglu(%gate: f32[5], %up: f32[5], %limit: f32 scalar) {
      %s = silu %gate
      %a = min %s, %limit
      %lo = neg %limit
      %b = clamp %up, %lo, %limit
      %y = mul %a, %b
      return %y })"),
              samples);
}

TEST(ShapeCases, ExtentsAsNumbersAreReadAtEveryCall) {
  std::vector<Sample> samples;
  for (std::int64_t n : {4, 8, 4})
    samples.push_back({{floats(f32, {n}, {1})},
                       {exact(f32, {}, {1}), exact(f32, {n}, {1 / double(n)})},
                       {{"N", n}}});
  run_samples(parse(R"(graph @extent(%x: f32[N]) {
      %m = mean %x axes=[0]
      %s = sum %x axes=[0]
      %q = div %x, %s
      return %m, %q })"),
              samples);
}

}  // namespace fuse::cases
