// The classes of sizes of one symbolic program: few variants, each right wherever it is used.
#include "ir/evaluate.h"
#include "passes/passes.h"
#include "passes/size_class.h"
#include "property/memory.h"
#include "property/random_graph.h"

#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace fuse {
namespace {

constexpr const char *kSoftmax = R"(graph @softmax(%x: bf16[B, C]) {
  symbol B min=0
  symbol C min=1
  %y = softmax %x axis=1
  return %y as y
})";

constexpr const char *kNorm = R"(graph @norm(%x: f32[B, C], %w: f32[C], %b: f32[C]) {
  symbol B min=0
  symbol C min=1
  %y = layer_norm %x, %w, %b axes=[1]
  return %y as y
})";

constexpr const char *kGelu = R"(graph @gelu(%x: bf16[B, C]) {
  symbol B min=0
  symbol C min=0
  %y = gelu %x
  return %y as y
})";

const char *const kTexts[] = {kSoftmax, kNorm, kGelu};

std::vector<std::int64_t> random_lengths(std::size_t count, double longest) {
  Entropy entropy(5);
  std::vector<std::int64_t> lengths;
  while (lengths.size() < count) {
    double part = static_cast<double>(entropy.below(10000)) / 10000;
    lengths.push_back(std::llround(std::pow(longest, part)));
  }
  return lengths;
}

/// Tensors of a launch in guarded memory, as the caller lays them.
class Launch {
 public:
  Launch(const Graph &canonical, Bindings sizes, Entropy &entropy)
      : graph_(canonical.data()), sizes_(std::move(sizes)), entropy_(entropy) {}

  /// Rows lie `gap` elements further apart than they are long, element 0 of inputs and of outputs
  /// is so many elements from a boundary.
  void lay_out(std::int64_t gap, std::size_t in, std::size_t out) {
    for (NodeId id : graph_.inputs) {
      add(graph_.dtype(id), graph_.shape(id), gap, in);
      inputs_.push_back(
          random_tensor(entropy_, graph_.dtype(id), evaluate(graph_.shape(id), sizes_), false));
      memory_.back().write(inputs_.back());
    }
    for (const Output &o : graph_.outputs)
      add(graph_.dtype(o.node), graph_.shape(o.node), gap, out);
  }

  /// Runs it; "" or how the outputs differ.
  std::string judge(const Executable &executable) {
    std::vector<Arg> arguments;
    for (GuardedMemory &m : memory_)
      arguments.push_back(tensor(m.data(), m.extents(), m.strides()));
    executable.launch(nullptr, arguments.data(), arguments.size());
    Evaluation expected = evaluate(graph_, inputs_, sizes_);
    for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
      const GuardedMemory &m = memory_[inputs_.size() + i];
      Comparison c = compare(expected.outputs[i], m.read());
      if (!c.passed()) return graph_.outputs[i].name + ": " + to_string(c);
      if (!m.is_intact()) return graph_.outputs[i].name + ": written outside its elements";
    }
    return "";
  }

 private:
  void add(DType type, const Shape &shape, std::int64_t gap, std::size_t offset) {
    std::vector<std::int64_t> extents = evaluate(shape, sizes_), strides = row_major(extents);
    if (extents.size() > 1) strides[0] += gap;
    memory_.emplace_back(type, extents, strides, offset);
  }

  const GraphData &graph_;
  Bindings sizes_;
  Entropy &entropy_;
  std::vector<Tensor> inputs_;
  std::vector<GuardedMemory> memory_;
};

CompileOptions on(Executor executor) {
  CompileOptions options;
  options.executor = executor;
  return options;
}

}  // namespace

TEST(SizeClasses, TiersAreGeometric) {
  std::int64_t next = 0;
  while (next < 200000) {
    Tier tier = tier_of(next);
    EXPECT_EQ(tier.min, next);
    EXPECT_EQ(tier_of(tier_length(next)).min, next);
    if (tier.max == INT64_MAX) break;
    EXPECT_EQ(tier_of(tier.max).min, next);
    EXPECT_LE(tier.max, next > 1024 ? next / 2 * 3 : std::max<std::int64_t>(2 * next, 64));
    next = tier.max + 1;
  }
  EXPECT_GT(next, 100000);
}

// 21 tiers of rows, each with and without whole vectors, or half of them where rows share weights;
// what has no rows needs no tiers.
TEST(SizeClasses, RandomSizesCompileFewVariants) {
  for (const char *text : kTexts) {
    Executable executable = compile(parse(text), on(Executor::None));
    Entropy entropy(3);
    for (std::int64_t length : random_lengths(200, 300000))
      executable.workspace_bytes({1 + std::int64_t(entropy.below(5000)), length});
    std::vector<Compilation> all = executable.compilations();
    EXPECT_LE(all.size(), text == kGelu ? 1u : 63u);
    for (const Compilation &c : all) EXPECT_FALSE(c.reason.empty());
    EXPECT_EQ(all[0].reason, "first compilation");
    std::size_t before = all.size();
    for (std::int64_t length : random_lengths(200, 300000)) executable.workspace_bytes({7, length});
    EXPECT_EQ(executable.compilations().size(), before) << "known sizes compile again";
  }
}

TEST(SizeClasses, ReasonsNameTheSize) {
  Executable executable = compile(parse(kSoftmax), on(Executor::None));
  for (std::int64_t length : {4096, 1000, 1001, 4088}) executable.workspace_bytes({8, length});
  std::vector<std::string> reasons;
  for (const Compilation &c : executable.compilations()) reasons.push_back(c.reason);
  EXPECT_EQ(reasons,
            (std::vector<std::string>{"first compilation", "C = 1000 is outside 3073 to 4096",
                                      "sizes beyond a limit: C is no multiple of 8"}));
}

/// The first kernel of a program for [64, C] and arguments of the class.
std::string kernel_for(const char *text, std::int64_t length, const ArgumentClass &arguments,
                       const Bindings &strides = {}) {
  LowerOptions options;
  options.sizes = {{"B", 64}, {"C", length}};
  Bindings all = options.sizes;
  all.insert(strides.begin(), strides.end());
  options.divisors = divisors_of(all);
  options.inputs = options.outputs = {arguments};
  return to_string(lower(parse(text), Target::named("h200"), options).kernels[0]);
}

TEST(SizeClasses, VectorsFollowWhatIsShiftedAlike) {
  ArgumentClass shifted{false, 2, false, true}, misaligned{false, 2};
  for (std::int64_t length : {4096, 4097}) {
    std::string text = kernel_for(kSoftmax, length, shifted);
    EXPECT_NE(text.find("align %x"), std::string::npos) << text;
    EXPECT_NE(text.find("load.8 %x"), std::string::npos) << text;
    EXPECT_NE(text.find("store.8 %y"), std::string::npos) << text;
    // Of two that differ vectors follow the store, and the load is shifted.
    text = kernel_for(kSoftmax, length, misaligned);
    EXPECT_NE(text.find("load.8.unaligned %x"), std::string::npos) << text;
    EXPECT_NE(text.find("store.8 %y"), std::string::npos) << text;
  }
}

// Where a part of a concat begins, vectors that follow a shifted output do not.
TEST(SizeClasses, PartsAreCutWhereVectorsOfTheFrameStart) {
  const char *join =
      "graph @join(%x: f32[512], %z: f32[3]) {\n"
      "  %0 = concat %x, %z, %x axis=0\n"
      "  return %0 as y\n}\n";
  std::string text = kernel_for(join, 1, {false, 4});
  EXPECT_NE(text.find("align %y"), std::string::npos) << text;
  EXPECT_NE(text.find("store.4 %y"), std::string::npos) << text;
  EXPECT_EQ(text.find("load.4"), std::string::npos) << text;
}

TEST(SizeClasses, PitchesOfStridedRowsGiveVectors) {
  ArgumentClass rows{true, 16, true}, strided{true, 16};
  auto pitch = [](std::int64_t elements) {
    return Bindings{{"x.stride0", elements}, {"y.stride0", elements}};
  };
  std::string text = kernel_for(kSoftmax, 4096, rows, pitch(8192));
  EXPECT_NE(text.find("load.8 %x[d0*x.stride0 + d1]"), std::string::npos) << text;
  EXPECT_NE(text.find("store.8 %y[d0*y.stride0 + d1]"), std::string::npos) << text;
  EXPECT_NE(text.find("divisors (x.stride0 8, y.stride0 8)"), std::string::npos) << text;
  text = kernel_for(kSoftmax, 4096, rows, pitch(4099));
  EXPECT_NE(text.find("align %y[d0*y.stride0]"), std::string::npos) << text;
  EXPECT_NE(text.find("store.8 %y"), std::string::npos) << text;
  EXPECT_EQ(kernel_for(kSoftmax, 4096, strided).find("load.8"), std::string::npos);
}

TEST(SizeClasses, OffsetsHave32BitsAsLongAsTheyFit) {
  Executable executable = compile(parse(kGelu), on(Executor::None));
  auto text = [&](std::int64_t rows) { return executable.kernels({rows, 4096})[0].text; };
  EXPECT_NE(text(1000).find("index 32"), std::string::npos);
  EXPECT_NE(text(1 << 20).find("index 64"), std::string::npos);
  EXPECT_EQ(executable.compilations()[1].reason, "sizes beyond a limit: offsets in 32 bits");
}

// What a launch computes does not depend on what was launched before it.
TEST(SizeClasses, VariantsDoNotDependOnTheirHistory) {
  Executable one = compile(parse(kNorm), on(Executor::None)),
             other = compile(parse(kNorm), on(Executor::None));
  std::vector<Bindings> sizes;
  for (std::int64_t length : random_lengths(20, 40000))
    sizes.push_back({{"B", length % 300}, {"C", length}});
  std::vector<std::string> first;
  for (const Bindings &s : sizes) first.push_back(one.kernels(s)[0].text);
  for (std::size_t i = sizes.size(); i-- > 0;)
    EXPECT_EQ(other.kernels(sizes[i])[0].text, first[i]) << sizes[i].at("C");
}

TEST(SizeClasses, MisalignedAndStridedRowsAgreeWithTheEvaluator) {
  for (const char *text : kTexts) {
    Graph graph = parse(text), canonical = canonicalize(graph);
    Executable executable = compile(graph, on(Executor::Host));
    Entropy entropy(11);
    for (std::int64_t length : {1, 8, 33, 257, 1016, 1031})
      for (std::int64_t gap : {0, 8, 3})
        for (auto [in, out] : {std::pair(0, 0), {1, 1}, {1, 0}, {3, 5}}) {
          Launch launch(canonical, {{"B", 3}, {"C", length}}, entropy);
          launch.lay_out(gap, std::size_t(in), std::size_t(out));
          EXPECT_EQ(launch.judge(executable), "")
              << text << length << " gap " << gap << " offsets " << in << " " << out;
        }
  }
}

TEST(SizeClasses, NoRecompileServesAllSizes) {
  for (const char *text : kTexts) {
    Graph graph = parse(text), canonical = canonicalize(graph);
    CompileOptions options = on(Executor::Host);
    options.no_recompile = true;
    Executable general = compile(graph, options);
    options.expected_sizes = {{"B", 4}, {"C", 1024}};
    Executable expecting = compile(graph, options);
    Entropy entropy(13);
    for (std::int64_t length : {1, 7, 513, 1024, 4099, 9000})
      for (std::int64_t gap : {0, 5}) {
        Launch launch(canonical, {{"B", 2}, {"C", length}}, entropy);
        launch.lay_out(gap, gap == 0 ? 0 : 1, 0);
        EXPECT_EQ(launch.judge(general), "") << text << length;
        EXPECT_EQ(launch.judge(expecting), "") << text << length;
      }
    std::string rows = general.kernels({2, 1024})[0].text;
    EXPECT_EQ(rows.find("load."), std::string::npos) << rows;
    EXPECT_EQ(rows.find("for k") != std::string::npos, text != kGelu) << rows;
    EXPECT_EQ(general.compilations().size(), 1u);
    EXPECT_EQ(expecting.compilations().size(), 2u);
  }
}

TEST(SizeClasses, EmptyRowsAndNoRows) {
  Graph graph = parse(kGelu), canonical = canonicalize(graph);
  Executable executable = compile(graph, on(Executor::Host));
  Entropy entropy(17);
  for (const Bindings &sizes : {Bindings{{"B", 0}, {"C", 5}}, Bindings{{"B", 5}, {"C", 0}}}) {
    Launch launch(canonical, sizes, entropy);
    launch.lay_out(0, 0, 0);
    EXPECT_EQ(launch.judge(executable), "");
  }
}

}  // namespace fuse
