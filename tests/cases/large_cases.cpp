// More than 2^31 elements, and other sizes that only a GPU has the memory and the time for.
#include "cases/case_run.h"

#include <fuse/builders.h>

#include <algorithm>

namespace fuse::cases {

namespace {

constexpr std::size_t kGuard = 512;

/// Memory of the GPU between guard zones.
class LargeBuffer {
 public:
  explicit LargeBuffer(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        buffer_(DeviceBuffer::device(bytes_ + 2 * kGuard)) {
    buffer_.copy_from_host(guard_.data(), kGuard);
    buffer_.copy_from_host(guard_.data(), kGuard, kGuard + bytes_);
  }

  const void *data() const { return static_cast<const std::byte *>(buffer_.data()) + kGuard; }

  Tensor read(DType type, std::int64_t first, std::int64_t count) const {
    Tensor result(type, {count});
    std::size_t at = kGuard + static_cast<std::size_t>(first) * size_of(type);
    buffer_.copy_to_host(result.bytes.data(), result.bytes.size(), at);
    return result;
  }

  bool is_guarded() const {
    std::vector<std::byte> before(kGuard), behind(kGuard);
    buffer_.copy_to_host(before.data(), kGuard);
    buffer_.copy_to_host(behind.data(), kGuard, kGuard + bytes_);
    return before == guard_ && behind == guard_;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> guard_ = std::vector<std::byte>(kGuard, std::byte{0xa5});
  DeviceBuffer buffer_;
};

void launch(std::string_view text, std::initializer_list<Arg> arguments) {
  CompileOptions options;
  options.executor = Executor::Gpu;
  compile(parse(text), options).launch(nullptr, arguments);
}

std::int64_t read_count(const LargeBuffer &count) {
  return static_cast<std::int64_t>(count.read(i64, 0, 1).bits(0));
}

class LargeCases : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<Executor> all = executors();
    if (std::find(all.begin(), all.end(), Executor::Gpu) == all.end())
      GTEST_SKIP() << "no GPU: sizes over 2^31 elements are not run on the host";
  }
};

}  // namespace

// triton 832; pytorch 97447
TEST_F(LargeCases, MapOverMoreThan32BitsOfElements) {
  constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 4097;
  LargeBuffer x(kCount), y(kCount), differ(8);
  launch(R"(graph @fill() {
      %i = iota axis=0 : i64[2147487745]
      %m = mod %i, 251
      %x = cast %m : u8[2147487745]
      return %x })",
         {tensor(x.data(), {kCount})});
  launch(R"(graph @map(%x: u8[2147487745]) {
      %y = add %x, 1
      return %y })",
         {tensor(x.data(), {kCount}), tensor(y.data(), {kCount})});
  launch(R"(graph @differ(%y: u8[2147487745]) {
      %i = iota axis=0 : i64[2147487745]
      %m = mod %i, 251
      %w = cast %y : i64[2147487745]
      %z = sub %w, 1
      %d = ne %z, %m
      %n = cast %d : i64[2147487745]
      %s = sum %n axes=[0]
      return %s })",
         {tensor(y.data(), {kCount}), tensor(differ.data(), {})});
  EXPECT_EQ(read_count(differ), 0);
  for (std::int64_t i : {std::int64_t{0}, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31,
                         (std::int64_t{1} << 31) + 1, kCount - 1})
    EXPECT_EQ(y.read(u8, i, 1).bits(0), std::uint64_t(i % 251 + 1)) << i;
  EXPECT_TRUE(x.is_guarded());
  EXPECT_TRUE(y.is_guarded());
}

TEST_F(LargeCases, BroadcastOverMoreThan32BitsOfElements) {
  const std::vector<std::int64_t> shape = {4096, 64, 112, 74};
  const std::int64_t plane = 112 * 74, count = 4096 * 64 * plane;
  LargeBuffer x(count), m(64), y(count);
  launch(R"(graph @fill() {
      %i = iota axis=0 : i64[2172649472]
      %r = mod %i, 251
      %x = cast %r : u8[2172649472]
      %c = iota axis=0 : u8[64]
      return %x, %c })",
         {tensor(x.data(), {count}), tensor(m.data(), {64})});
  launch(R"(graph @sub(%x: u8[4096, 64, 112, 74], %m: u8[64]) {
      %c = reshape %m : u8[64, 1, 1]
      %y = sub %x, %c
      return %y })",
         {tensor(x.data(), shape), tensor(m.data(), {64}), tensor(y.data(), shape)});
  for (std::int64_t first = 0; first < count; first += count / 97) {
    std::int64_t n = std::min<std::int64_t>(plane, count - first);
    Tensor part = y.read(u8, first, n);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t at = first + i;
      ASSERT_EQ(part.bits(i), std::uint64_t(at % 251 - at / plane % 64) & 255) << at;
    }
  }
  EXPECT_TRUE(y.is_guarded());
}

// torchtitan 2430; FlagGems 4156
TEST_F(LargeCases, RowIndexTimesStrideBeyond32Bits) {
  constexpr std::int64_t kRows = 24901, kColumns = 131072;
  LargeBuffer x(2 * kRows * kColumns), y(2 * 4 * kColumns), index(32);
  launch(R"(graph @fill() {
      %i = iota axis=0 : i32[24901, 131072]
      %m = mod %i, 251
      %x = cast %m : bf16[24901, 131072]
      return %x })",
         {tensor(x.data(), {kRows, kColumns})});
  const double rows[] = {0, 68, 69, 51};
  for (DType type : {i32, i64}) {
    Tensor picks = ints(type, {4}, {0, 16383, 16384, 24900});
    DeviceBuffer pick = DeviceBuffer::device(picks.bytes.size());
    pick.copy_from_host(picks.bytes.data(), picks.bytes.size());
    launch("graph @rows(%x: bf16[24901, 131072], %i: " + std::string(to_string(type)) +
               "[4]) {\n%g = gather %x, %i axis=0\n%y = mul %g, 1.0\nreturn %y }",
           {tensor(x.data(), {kRows, kColumns}), tensor(pick.data(), {4}),
            tensor(y.data(), {4, kColumns})});
    for (std::int64_t r = 0; r < 4; ++r)
      judge(exact(bf16, {kColumns}, {rows[r]}), y.read(bf16, r * kColumns, kColumns), "row");
  }
  EXPECT_TRUE(y.is_guarded());
}

TEST_F(LargeCases, PairsOfSmallTensorsBeyond32Bits) {
  constexpr std::int64_t kCount = 65537;
  Tensor values = generate(i64, {kCount}, [](std::int64_t i) { return i % 7; });
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kCount; ++i) sum += i % 7;
  DeviceBuffer x = DeviceBuffer::device(values.bytes.size());
  x.copy_from_host(values.bytes.data(), values.bytes.size());
  LargeBuffer s(8);
  launch(R"(graph @pairs(%x: i64[65537, 1], %y: i64[65537]) {
      %p = mul %x, %y
      %s = sum %p axes=[0, 1]
      return %s })",
         {tensor(x.data(), {kCount, 1}), tensor(x.data(), {kCount}),
          tensor(s.data(), std::vector<std::int64_t>{})});
  judge(exactly(ints(i64, {1}, {sum * sum})), s.read(i64, 0, 1), "pairs");
}

// pytorch 154703
TEST_F(LargeCases, SumOfAHundredMillionElements) {
  RunOptions options;
  options.op_by_op = options.evaluator = false;
  for (double value : {1.0, 0.1}) {
    LargeBuffer x(400000000), s(8), m(8);
    for (std::vector<std::int64_t> shape :
         {std::vector<std::int64_t>{100000000}, {10000, 10000}, {100000000, 1}}) {
      Graph fill("fill"), total("total");
      Shape extents(shape.begin(), shape.end());
      fill.output("x", fill.constant(value, f32, extents));
      Value in = total.input("x", f32, extents);
      std::vector<int> axes;
      for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<int>(i));
      total.output("s", sum(in, axes));
      total.output("m", mean(in, axes));
      CompileOptions gpu;
      gpu.executor = Executor::Gpu;
      compile(fill, gpu).launch(nullptr, {tensor(x.data(), shape)});
      compile(total, gpu)
          .launch(nullptr, {tensor(x.data(), shape), tensor(s.data(), std::vector<std::int64_t>{}),
                            tensor(m.data(), std::vector<std::int64_t>{})});
      double each = double(float(value));
      Within tolerance = value == 1 ? Within{} : Within{0, 1e-6, 0};
      judge(within(f32, {1}, {each * 1e8}, tolerance), s.read(f32, 0, 1), "sum");
      judge(within(f32, {1}, {each}, tolerance), m.read(f32, 0, 1), "mean");
    }
  }
}

// pytorch 195845
TEST_F(LargeCases, ManyRowsOutsideTheTile) {
  Graph graph = parse(R"(graph @leak(%x: bf16[R, 129]) {
      %d = mul %x, 2.0
      %y = add %d, 0.25
      %m = max %y axes=[1]
      %w = cast %y : f32[R, 129]
      %s = sum %w axes=[0]
      return %m, %s })");
  CompileOptions gpu;
  gpu.executor = Executor::Gpu;
  Executable executable = compile(graph, gpu);
  for (std::int64_t rows : {1, 40960, 40961, 40963}) {
    Sample sample{{Tensor(bf16, {rows, 129})}, {}, {{"R", rows}}};
    std::vector<Tensor> results = execute(executable, sample);
    judge(exact(bf16, {rows}, {0.25}), results[0], "row maxima");
    judge(exact(f32, {129}, {0.25 * double(rows)}), results[1], "column sums");
  }
}

// triton 580; flash-linear-attention 172
TEST_F(LargeCases, TransposeAndSumsBeyond65535Blocks) {
  constexpr std::int64_t kPositions = 512 * 512;
  Tensor x = generate(f16, {3, 64, 512, 512}, [](std::int64_t i) { return i % 2039; });
  Tensor y(f16, {3, 512, 512, 64});
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::int64_t c = i % 64, p = i / 64 % kPositions, b = i / 64 / kPositions;
    y.set_bits(i, x.bits((b * 64 + c) * kPositions + p));
  }
  Tensor z = generate(f32, {65538, 32, 16}, [](std::int64_t i) { return i % 2; });
  CompileOptions gpu;
  gpu.executor = Executor::Gpu;
  Executable executable = compile(parse(R"(graph @blocks(%x: f16[3, 64, 512, 512],
                                                         %z: f32[65538, 32, 16]) {
      %y = transpose %x perm=[0, 2, 3, 1]
      %s = sum %z axes=[1, 2]
      return %y, %s })"),
                                  gpu);
  std::vector<Tensor> results = execute(executable, {{x, z}, {}});
  judge(exactly(y), results[0], "transposed");
  judge(exact(f32, {65538}, {256}), results[1], "sums");
}

}  // namespace fuse::cases
