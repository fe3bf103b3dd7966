// What an embedder may rely on, on the host executor: extern operations of every kind of memory,
// outputs written over inputs, and values that outlive what made them.
#include "expect_error.h"

#include <fuse/jit.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

using namespace fuse;
using ::testing::HasSubstr;

namespace {

CompileOptions on_host() {
  CompileOptions options;
  options.executor = Executor::Host;
  return options;
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

/// Elements of a view of rank 2, wherever they lie.
float &element(const TensorView &view, std::int64_t i, std::int64_t j) {
  auto *data = static_cast<float *>(const_cast<void *>(view.data));
  std::int64_t rows = view.contiguous ? view.shape[1] : view.strides[0];
  return data[i * rows + j * (view.contiguous ? 1 : view.strides[1])];
}

/// extern "negate", which honours strides.
LaunchOptions negating() {
  LaunchOptions options;
  options.run_extern = [](const ExternCall &call) {
    ASSERT_EQ(call.name, "negate");
    for (std::int64_t i = 0; i < call.results[0].shape[0]; ++i)
      for (std::int64_t j = 0; j < call.results[0].shape[1]; ++j)
        element(call.results[0], i, j) = -element(call.operands[0], i, j);
  };
  return options;
}

Executable negate_twice_shown() {
  Graph g("negated");
  Value x = g.input("x", f32, {g.dim("B"), 4});
  Value y = g.extern_op("negate", {x}, {{f32, x.shape()}})[0];
  g.output("y", y);
  g.output("again", y);
  g.output("flat", reshape(y, {g.dim("B") * Dim(4)}));
  return compile(g, on_host());
}

}  // namespace

TEST(ExternResults, AreCopiedToFurtherOutputs) {
  Executable exe = negate_twice_shown();
  std::vector<float> x = ramp(12), y(12), again(12), flat(12);
  exe.launch(nullptr,
             {tensor(x.data(), {3, 4}), tensor(y.data(), {3, 4}), tensor(again.data(), {3, 4}),
              tensor(flat.data(), {12})},
             negating());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(y[i], -x[i]);
  EXPECT_EQ(again, y);
  EXPECT_EQ(flat, y);
}

TEST(ExternOperands, SeeStridesOfArguments) {
  Graph g("negated");
  Value x = g.input("x", f32, {g.dim("B"), 4});
  g.output("y", g.extern_op("negate", {x}, {{f32, x.shape()}})[0]);
  Executable exe = compile(g, on_host());
  std::vector<float> x_data = ramp(24), y(24);
  exe.launch(nullptr, {tensor(x_data.data(), {3, 4}, {8, 2}), tensor(y.data(), {3, 4}, {1, 3})},
             negating());
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(y[i + 3 * j], -x_data[8 * i + 2 * j]);
}

TEST(ExternOperands, AReshapeThatNoStridesGiveIsRefused) {
  Graph g("negated");
  Value x = g.input("x", f32, {6, 4});
  Value flat = reshape(x, {4, 6});
  g.output("y", g.extern_op("negate", {flat}, {{f32, {4, 6}}})[0]);
  Executable exe = compile(g, on_host());
  std::vector<float> data = ramp(48), y(24);
  exe.launch(nullptr, {tensor(data.data(), {6, 4}), tensor(y.data(), {4, 6})}, negating());
  EXPECT_EQ(y[23], -24.0f);
  EXPECT_EQ(
      error_of(ErrorCode::Unsupported,
               [&] {
                 exe.launch(nullptr,
                            {tensor(data.data(), {6, 4}, {8, 1}), tensor(y.data(), {4, 6})},
                            negating());
               }),
      "negated: x is strided and extern \"negate\" takes it in another shape: make it contiguous");
}

TEST(Compile, ExpectedSizesAreThoseOfSymbols) {
  Graph g("rows");
  Value x = g.input("x", f32, {g.dim("Batch", {4, 64, 4}), 8});
  g.output("y", 2.0 * x);
  auto refusal = [&](const char *name, std::int64_t size) {
    CompileOptions options = on_host();
    options.expected_sizes = {{name, size}};
    return error_of(ErrorCode::InvalidArgument, [&] { compile(g, options); });
  };
  EXPECT_EQ(refusal("Bach", 8),
            "rows: expected_sizes: Bach is no symbol of the graph; did you mean Batch?");
  EXPECT_EQ(refusal("Batch", -4), "rows: expected_sizes: Batch = -4 is outside its bounds [4, 64]");
  EXPECT_EQ(refusal("Batch", 68), "rows: expected_sizes: Batch = 68 is outside its bounds [4, 64]");
  EXPECT_EQ(refusal("Batch", 6), "rows: expected_sizes: Batch = 6 is not a multiple of 4");
}

TEST(Compile, AGraphHasOutputs) {
  Graph g("nothing");
  g.input("x", f32, {8});
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { compile(g, on_host()); }),
            "graph nothing has no output: call output()");
}

namespace {

Executable softmax_in_place(std::vector<InPlacePair> pairs) {
  Graph g("softmax");
  Value x = g.input("x", f32, {g.dim("B"), 100});
  g.output("y", softmax(x, 1));
  CompileOptions options = on_host();
  options.in_place = std::move(pairs);
  return compile(g, options);
}

}  // namespace

TEST(InPlace, ADeclaredPairSharesMemory) {
  Executable apart = softmax_in_place({}), shared = softmax_in_place({{"x", "y"}});
  ASSERT_EQ(apart.in_place_pairs().size(), 1u);
  EXPECT_EQ(apart.in_place_pairs()[0].input, "x");
  EXPECT_EQ(apart.in_place_pairs()[0].output, "y");
  alignas(16) float x[700], y[700];
  for (int i = 0; i < 700; ++i) x[i] = static_cast<float>(i % 13);
  apart.launch(nullptr, {tensor(x, {7, 100}), tensor(y, {7, 100})});
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument,
                       [&] { apart.launch(nullptr, {tensor(x, {7, 100}), tensor(x, {7, 100})}); }),
              HasSubstr("x and y overlap in memory"));
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument,
               [&] { shared.launch(nullptr, {tensor(x, {5, 100}), tensor(x + 4, {5, 100})}); }),
      HasSubstr("x and y overlap in memory: pass one address for both, or memory apart"));
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] {
                       BindOptions options;
                       options.strides = {{"out", {200, 1}}};
                       shared.bind({7}, options);
                     }),
            "softmax: strides are given for out, which is none of x -> y");
  EXPECT_THAT(shared.kernels({7})[0].text, HasSubstr("coherent"));
  shared.launch(nullptr, {tensor(x, {7, 100}), tensor(x, {7, 100})});
  EXPECT_EQ(std::memcmp(x, y, sizeof y), 0);
}

TEST(InPlace, WhatKernelsDoNotAllowIsRefused) {
  Graph g("flipped");
  Value x = g.input("x", f32, {64}), w = g.input("w", f32, {32});
  g.output("y", flip(x, {0}));
  g.output("z", 2.0 * w);
  CompileOptions options = on_host();
  EXPECT_EQ(compile(g, options).in_place_pairs().size(), 1u);
  options.in_place = {{"x", "y"}};
  EXPECT_THAT(error_of(ErrorCode::Unsupported, [&] { compile(g, options); }),
              HasSubstr("y cannot be written over x: kernel"));
  options.in_place = {{"x", "z"}};
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { compile(g, options); }),
            "flipped: z cannot be written over x: their sizes differ");
  options.in_place = {{"w", "z"}, {"w", "z"}};
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { compile(g, options); }),
            "flipped: in_place: w stands in two pairs");
  options.in_place = {{"q", "z"}};
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { compile(g, options); }),
            "flipped: in_place: no input is named 'q'");
}

TEST(InPlace, InstancesWriteOverTheirOwnInputs) {
  const std::vector<std::int64_t> sizes = {1000, 7, 2, 333, 64};
  Graph g("steps");
  CompileOptions options = on_host();
  std::vector<std::vector<float>> p, d, q;
  std::vector<Arg> apart, shared;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::string number = std::to_string(i);
    Value own = g.input("p" + number, f32, {sizes[i]}),
          step = g.input("d" + number, f32, {sizes[i]});
    g.output("q" + number, own - 0.5 * step);
    options.in_place.push_back({"p" + number, "q" + number});
    p.push_back(ramp(static_cast<std::size_t>(sizes[i])));
    d.push_back(std::vector<float>(p.back().size(), 3.0f));
    q.push_back(p.back());
    for (auto *list : {&apart, &shared}) {
      list->push_back(tensor(p.back().data(), {sizes[i]}));
      list->push_back(tensor(d.back().data(), {sizes[i]}));
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    apart.push_back(tensor(q[i].data(), {sizes[i]}));
    shared.push_back(tensor(p[i].data(), {sizes[i]}));
  }
  Executable exe = compile(g, options);
  EXPECT_LE(exe.kernels({}).size(), 2u);
  EXPECT_EQ(compile(g, on_host()).in_place_pairs().size(), 2 * sizes.size());
  compile(g, on_host()).launch(nullptr, apart.data(), apart.size());
  exe.launch(nullptr, shared.data(), shared.size());
  EXPECT_EQ(p, q);
  EXPECT_NE(q[0], ramp(1000));
}

/// z is not written over p before y has been computed of it, though both are one body.
TEST(InPlace, InstancesDoNotReadWhatOthersWrite) {
  Graph g("crossed");
  Value p = g.input("p", f32, {64}), r = g.input("r", f32, {64});
  g.output("y", sum(p * r, {0}));
  g.output("z", r - p);
  g.output("w", r - exp(r));
  CompileOptions options = on_host();
  Executable apart = compile(g, options);
  std::vector<InPlacePair> pairs = apart.in_place_pairs();
  ASSERT_FALSE(pairs.empty());
  using Memory = std::map<std::string, std::vector<float>>;
  auto launch = [](const Executable &exe, Memory &m, const std::string &z, const std::string &w) {
    exe.launch(nullptr,
               {tensor(m["p"].data(), {64}), tensor(m["r"].data(), {64}), tensor(m["y"].data(), {}),
                tensor(m[z].data(), {64}), tensor(m[w].data(), {64})});
  };
  const Memory before = {{"p", ramp(64)},
                         {"r", std::vector<float>(64, 0.75f)},
                         {"y", {0.0f}},
                         {"z", std::vector<float>(64)},
                         {"w", std::vector<float>(64)}};
  Memory expected = before;
  launch(apart, expected, "z", "w");
  for (const InPlacePair &pair : pairs) {
    options.in_place = {pair};
    Memory m = before;
    auto memory_of = [&](const std::string &out) { return pair.output == out ? pair.input : out; };
    std::string z = memory_of("z"), w = memory_of("w");
    launch(compile(g, options), m, z, w);
    EXPECT_EQ(m["y"], expected["y"]) << pair.input << pair.output;
    EXPECT_EQ(m[z], expected["z"]) << pair.input << pair.output;
    EXPECT_EQ(m[w], expected["w"]) << pair.input << pair.output;
  }
}

TEST(InPlace, AnInputThatIsReadLaterIsRefused) {
  Graph g("later");
  Value x = g.input("x", f32, {64, 64});
  g.output("y", x + 1.0);
  g.output("t", transpose(x, {1, 0}) * 2.0);
  CompileOptions options = on_host();
  options.overrides.no_fuse = {};
  for (const InPlacePair &pair : compile(g, options).in_place_pairs()) {
    options.in_place = {pair};
    Executable exe = compile(g, options);
    std::vector<float> data = ramp(64 * 64), other(64 * 64), expected = data;
    bool is_y = pair.output == "y";
    exe.launch(nullptr,
               {tensor(data.data(), {64, 64}), tensor(is_y ? data.data() : other.data(), {64, 64}),
                tensor(is_y ? other.data() : data.data(), {64, 64})});
    const std::vector<float> &y = is_y ? data : other, &t = is_y ? other : data;
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t j = 0; j < 64; ++j) {
        EXPECT_EQ(y[64 * i + j], expected[64 * i + j] + 1);
        EXPECT_EQ(t[64 * i + j], expected[64 * j + i] * 2);
      }
  }
}

TEST(EmptyAxes, OfAMaximumAreRefusedWhereSizesAreKnown) {
  Graph g("largest");
  Value x = g.input("x", f32, {g.dim("B", {0, 100, 1}), g.dim("N", {0, 100, 1})});
  g.output("m", reduce_max(x, {1}));
  g.output("s", sum(x, {1}));
  Executable exe = compile(g, on_host());
  std::vector<float> x_data(6, 2.0f), m(3), s(3);
  exe.launch(nullptr,
             {tensor(x_data.data(), {3, 2}), tensor(m.data(), {3}), tensor(s.data(), {3})});
  EXPECT_EQ(m[2] + s[2], 6.0f);
  exe.launch(nullptr,
             {tensor(x_data.data(), {0, 2}), tensor(m.data(), {0}), tensor(s.data(), {0})});
  EXPECT_EQ(error_of(ErrorCode::Shape,
                     [&] {
                       exe.launch(nullptr, {tensor(x_data.data(), {3, 0}), tensor(m.data(), {3}),
                                            tensor(s.data(), {3})});
                     }),
            "largest: max: axis 1 of f32[B, N] is empty");
  error_of(ErrorCode::Shape, [&] { exe.bind({3, 0}); });
}

TEST(Lifetime, ALauncherOutlivesItsExecutableAndGraph) {
  Launcher launch = [] {
    Graph g("doubled");
    Value x = g.input("x", f32, {g.dim("B")});
    g.output("y", 2.0 * x);
    return compile(g, on_host()).bind({100});
  }();
  alignas(16) float x[100], y[100];
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  launch(nullptr, {x, y});
  EXPECT_EQ(y[99], 198.0f);
}

TEST(Lifetime, AnExecutableMayBeDroppedWhileAThreadLaunchesIt) {
  auto exe = std::make_unique<Executable>(softmax_in_place({}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([copy = *exe] {
      alignas(16) float x[300] = {}, y[300];
      for (int i = 0; i < 20; ++i) copy.launch(nullptr, {tensor(x, {3, 100}), tensor(y, {3, 100})});
      EXPECT_EQ(y[0], 0.01f);
    });
  exe.reset();
  for (std::thread &t : threads) t.join();
}

TEST(Allocators, WorkspacesOfTheHostComeFromTheHook) {
  Graph g("two");
  Value x = g.input("x", f32, {64, 64});
  Value negated = g.extern_op("negate", {exp(x)}, {{f32, {64, 64}}})[0];
  g.output("y", negated + 1.0);
  std::size_t live = 0, total = 0;
  CompileOptions options = on_host();
  options.allocator = {[&](std::size_t bytes) {
                         live += bytes;
                         total += bytes;
                         return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
                       },
                       [&](void *address, std::size_t bytes) {
                         live -= bytes;
                         std::free(address);
                       }};
  {
    Executable exe = compile(g, options);
    std::vector<float> data(64 * 64), y(64 * 64);
    exe.launch(nullptr, {tensor(data.data(), {64, 64}), tensor(y.data(), {64, 64})}, negating());
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_GE(total, exe.workspace_bytes({}));
  }
  EXPECT_GT(total, 0u);
  EXPECT_EQ(live, 0u);
}
