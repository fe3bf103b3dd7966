// One Executable, many sizes: whatever was bound before, every launch computes what the evaluator
// wants. Sizes of 0 and 1, primes, and sizes on both sides of vectors, warps and blocks.
#include "ir/evaluate.h"
#include "passes/passes.h"
#include "property/random_graph.h"

#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace fuse {
namespace {

/// Launches with new random inputs; "" or how the outputs differ.
std::string launch_and_judge(const Executable &executable, const Graph &canonical,
                             const Bindings &sizes, Entropy &entropy) {
  const GraphData &g = canonical.data();
  std::vector<Tensor> inputs, outputs;
  std::vector<Arg> arguments;
  for (NodeId id : g.inputs)
    inputs.push_back(random_tensor(entropy, g.dtype(id), evaluate(g.shape(id), sizes), false));
  for (const Output &o : g.outputs)
    outputs.emplace_back(g.dtype(o.node), evaluate(g.shape(o.node), sizes));
  for (const Tensor &t : inputs) arguments.push_back(tensor(t.bytes.data(), t.shape));
  for (Tensor &t : outputs) {
    std::fill(t.bytes.begin(), t.bytes.end(), std::byte{0xff});
    arguments.push_back(tensor(t.bytes.data(), t.shape));
  }
  executable.launch(nullptr, arguments.data(), arguments.size());
  Evaluation expected = evaluate(g, inputs, sizes);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Comparison c = compare(expected.outputs[i], outputs[i]);
    if (!c.passed()) return g.outputs[i].name + ": " + to_string(c);
  }
  return "";
}

std::string text_of(const Bindings &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes) text += name + "=" + std::to_string(size) + " ";
  return text;
}

struct Case {
  const char *name, *text;
  std::int64_t longest;  // size of one symbol
  std::size_t variants;  // at most: tiers of the rows, times what divides them
};

// Symbols may be 0 wherever the operations allow it: not those that a max is taken over.
constexpr const char *kPointwise = R"(graph @pointwise(%x: bf16[B, N]) {
  symbol B min=0
  symbol N min=0
  %y = gelu %x
  return %y as y
})";

constexpr const char *kRows = R"(graph @rows(%x: f32[B, N]) {
  symbol B min=0
  symbol N min=1
  %y = softmax %x axis=1
  return %y as y
})";

constexpr const char *kNorm = R"(graph @norm(%x: bf16[B, N], %w: f32[N], %b: f32[N]) {
  symbol B min=0
  symbol N min=0
  %y = layer_norm %x, %w, %b axes=[1]
  return %y as y
})";

constexpr const char *kColumns = R"(graph @columns(%x: f32[B, N]) {
  symbol B min=0
  symbol N min=0
  %c = sum %x axes=[0]
  %t = sum %x axes=[0, 1]
  return %c as c, %t as t
})";

constexpr const char *kViews = R"(graph @views(%x: f32[B, N], %y: f32[N, B]) {
  symbol B min=0
  symbol N min=0
  %t = transpose %y perm=[1, 0]
  %c = concat %x, %t axis=1
  %p = pad %c, 1.5 lo=[0, 1] hi=[1, 0]
  %f = flip %p axes=[1]
  return %f as f
})";

constexpr const char *kIntegers = R"(graph @integers(%x: i32[B], %i: i64[N]) {
  symbol B min=0
  symbol N min=0
  %g = gather %x, %i axis=0
  %s = sum %x axes=[0]
  %y = add %g, %s
  return %y as y
})";

const Case kCases[] = {{"pointwise", kPointwise, 70, 1}, {"rows", kRows, 5000, 11 * 2},
                       {"norm", kNorm, 3000, 10 * 2},    {"columns", kColumns, 300, 11 * 3},
                       {"views", kViews, 90, 9},         {"integers", kIntegers, 2000, 10}};

std::int64_t pick_size(Entropy &entropy, std::int64_t min, std::int64_t longest) {
  const std::vector<std::int64_t> edges = {0,  1,  2,   3,   7,   8,   9,  31,
                                           32, 33, 127, 128, 129, 256, 257};
  std::int64_t size =
      entropy.one_in(2) ? entropy.pick(edges) : std::int64_t(entropy.below(std::size_t(longest)));
  return std::clamp(size, min, longest);
}

class Sizes : public testing::TestWithParam<Case> {};

TEST_P(Sizes, OneExecutableServesThemAll) {
  const Case &c = GetParam();
  Graph graph = parse(c.text), canonical = canonicalize(graph);
  CompileOptions options;
  options.executor = Executor::Host;
  Executable executable = compile(graph, options);
  Entropy entropy(17);
  for (int i = 0; i < 40; ++i) {
    Bindings sizes;
    for (const Symbol &s : graph.data().symbols)
      sizes[s.name] = pick_size(entropy, s.bounds.min, c.longest);
    // Two long symbols make tensors that the evaluator takes long for.
    if (sizes["B"] * sizes["N"] > 60000) sizes["B"] = 1;
    EXPECT_EQ(launch_and_judge(executable, canonical, sizes, entropy), "") << text_of(sizes);
  }
  EXPECT_LE(executable.compilations().size(), c.variants) << "more variants than classes";
}

INSTANTIATE_TEST_SUITE_P(Cases, Sizes, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

// Random graphs have one symbol, of at least 2.
TEST(RandomSizes, OneExecutableServesThemAll) {
  int tried = 0;
  for (std::uint64_t seed = 0; tried < 12; ++seed) {
    Entropy entropy(seed);
    RandomGraph random = random_graph(entropy, {});
    bool has_scalars =
        std::any_of(random.graph.data().inputs.begin(), random.graph.data().inputs.end(),
                    [&](NodeId id) { return random.graph.data().attr<InputAttr>(id).is_scalar; });
    if (random.symbols.empty() || has_scalars) continue;
    ++tried;
    CompileOptions options;
    options.executor = Executor::Host;
    Executable executable = compile(random.graph, options);
    Graph canonical = canonicalize(random.graph);
    for (std::int64_t size : {37, 2, 64, 3, 16, 7, 37}) {
      Bindings sizes = {{random.symbols.begin()->first, size}};
      std::string fault;
      try {
        fault = launch_and_judge(executable, canonical, sizes, entropy);
      } catch (const Error &e) {
        // A symbol that no shape determines is a call for bind(), which is tested elsewhere.
        if (e.code() != ErrorCode::InvalidArgument) fault = e.what();
      }
      EXPECT_EQ(fault, "") << "seed " << seed << ", size " << size << "\n"
                           << to_string(random.graph);
    }
  }
}

}  // namespace
}  // namespace fuse
