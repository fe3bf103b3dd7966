// Memory: updates of a slice beside other readers, and addresses that are not aligned.
#include "cases/case_run.h"

namespace fuse::cases {

// pytorch 198101
TEST(AliasCases, ReadersOfTheInputSeeItBeforeTheUpdate) {
  auto x = [](std::int64_t i) { return i - 12; };
  auto updated = [&](std::int64_t i) { return i % 6 >= 2 && i % 6 < 5 ? 2 : x(i); };
  auto doubled = [&](std::int64_t i) { return 2 * x(i) + 4; };
  std::vector<double> sums;
  for (std::int64_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::int64_t k = 0; k < 6; ++k) sum += double(doubled(6 * row + k));
    sums.push_back(sum);
  }
  run_case(R"(graph @update(%x: i64[4, 6]) {
      %d = mul %x, 2
      %y = add %d, 4
      %flat = reshape %x : i64[24]
      %e = mul %flat, 2
      %z = add %e, 4
      %bits = bitcast %x : u64[4, 6]
      %back = bitcast %bits : i64[4, 6]
      %f = mul %back, 2
      %w = add %f, 4
      %s = sum %y axes=[1]
      %two = const 2 : i64[4, 3]
      %new = slice_scatter %x, %two axis=1 start=2 stop=5
      return %y, %z, %w, %s, %new })",
           {generate(i64, {4, 6}, x)},
           {exactly(generate(i64, {4, 6}, doubled)), exactly(generate(i64, {24}, doubled)),
            exactly(generate(i64, {4, 6}, doubled)), exact(i64, {4}, sums),
            exactly(generate(i64, {4, 6}, updated))});
}

// pytorch 112771, 123319, 191002; flashinfer 634
TEST(AliasCases, AddressesAlignedToOneElement) {
  for (DType type : {f16, bf16, u8})
    for (int offset : {0, 1, 3, 7}) {
      auto name = std::string(to_string(type));
      std::string text = "graph @shifted(%v: " + name + "[4097]) {\n" +
                         "%y = add %v, %v\n%m = reshape %v : " + name + "[17, 241]\n" +
                         "%s = sum %m axes=[1]\n%r = slice %v [2:5]\nreturn %y, %s, %r }";
      auto element = [](std::int64_t i) { return i % 5; };
      std::vector<double> sums;
      for (std::int64_t row = 0; row < 17; ++row) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < 241; ++k) sum += element(row * 241 + k);
        sums.push_back(double(type == u8 ? sum % 256 : sum));
      }
      RunOptions options;
      options.offset = offset;
      run_case(text, {generate(type, {4097}, element)},
               {exactly(generate(type, {4097}, [&](std::int64_t i) { return 2 * element(i); })),
                exact(type, {17}, sums), exact(type, {3}, {2, 3, 4})},
               options);
    }
}

TEST(AliasCases, AnExecutableServesLaterMisalignedCalls) {
  Graph graph = parse(R"(graph @norm(%x: bf16[R, 3584], %r: bf16[R, 3584], %w: bf16[3584]) {
      %h = add %x, %r
      %y = rms_norm %h, %w axes=[1] eps=1e-6
      return %h, %y })");
  for (Executor executor : executors()) {
    CompileOptions options;
    options.executor = executor;
    Executable executable = compile(graph, options);
    for (std::int64_t rows : {1, 2, 3}) {
      Tensor x = generate(bf16, {rows, 3584}, [](std::int64_t i) { return i % 13 - 6; });
      Tensor r = generate(bf16, {rows, 3584}, [](std::int64_t i) { return i % 7 - 3; });
      Sample sample{{x, r, floats(bf16, {3584}, {1.5})}, {}, {{"R", rows}}};
      std::vector<Tensor> aligned = execute(executable, sample);
      std::vector<Expected> allowed = evaluate(graph.data(), sample.inputs, sample.symbols).outputs;
      for (std::size_t i = 0; i < 2; ++i) judge(allowed[i], aligned[i], "aligned");
      for (int offset : {1, 2, 4, 5}) {
        std::vector<Tensor> shifted = execute(executable, sample, offset);
        judge(exactly(aligned[0]), shifted[0], "shifted sum");
        judge(allowed[1], shifted[1], "shifted norm");
      }
    }
  }
}

}  // namespace fuse::cases
