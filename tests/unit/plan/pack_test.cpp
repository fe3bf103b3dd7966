// Which kernels become instances of one launch, and which must not.
#include "ir/instances.h"
#include "passes/passes.h"
#include "passes/schedule/generalize.h"

#include <gtest/gtest.h>

#include <ctime>

namespace {

using namespace fuse;

#ifdef FUSE_SANITIZED
constexpr double kSlowdown = 20;
#else
constexpr double kSlowdown = 1;
#endif

const Target kTarget = Target::named("h200");

Program lowered(const Graph &g, const Target &target = kTarget, const LowerOptions &options = {}) {
  Program program = lower(g, target, options);
  for (const Kernel &k : program.kernels) verify(k);
  return program;
}

/// A step of gradient descent on each tensor.
Graph descent(const std::vector<Shape> &shapes) {
  Graph g("descent");
  Value rate = g.input("rate", f32, {});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Value p = g.input("p" + std::to_string(i), f32, shapes[i]);
    Value d = g.input("d" + std::to_string(i), f32, shapes[i]);
    Value step = shapes[i].empty() ? rate : broadcast(rate, shapes[i]);
    g.output("q" + std::to_string(i), p - step * d);
  }
  return g;
}

std::vector<Shape> ragged(std::size_t count) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < count; ++i) {
    auto n = static_cast<std::int64_t>(i * 7919 % 5000);
    shapes.push_back(i % 3 == 0 ? Shape{n % 70, 33} : Shape{n});
  }
  return shapes;
}

int instances_in(const Program &p) {
  int count = 0;
  for (const Kernel &k : p.kernels) count += num_instances(k);
  return count;
}

TEST(Pack, TensorsOfOneShapeAreOneLaunch) {
  Program p = lowered(descent(std::vector<Shape>(150, {64, 16})));
  ASSERT_EQ(p.kernels.size(), 1u);
  const Kernel &k = p.kernels[0];
  EXPECT_EQ(k.instances, 150);
  EXPECT_TRUE(k.table.empty());
  int shared = 0;
  for (const Buffer &b : k.buffers) shared += !b.each;
  EXPECT_EQ(shared, 1) << "the rate";
  EXPECT_EQ(p.steps[0].bindings.size(), 451u);
  EXPECT_EQ(p.plan.kernels.size(), 1u);
}

TEST(Pack, RaggedTensorsShareATable) {
  Program p = lowered(descent({{5000}, {3}, {77, 12}, {0}, {4096}, {513}, {2, 2, 2}}));
  ASSERT_EQ(p.kernels.size(), 1u);
  const Kernel &k = p.kernels[0];
  EXPECT_EQ(k.instances, 6) << "nothing runs for a tensor of no elements";
  ASSERT_EQ(k.table.size(), 1u) << to_string(k);
  std::vector<std::int64_t> sizes;
  for (const Index &value : k.table[0].values) sizes.push_back(*value.constant());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{5000, 3, 924, 4096, 513, 8}));
}

TEST(Pack, WhatAllSizesAreMultiplesOfStaysKnown) {
  Program p = lowered(descent({{5000}, {4096}, {512}}));
  ASSERT_EQ(p.kernels.size(), 1u);
  Index extent = p.kernels[0].dims[0].extent;
  EXPECT_EQ(known_divisor(extent), 8) << "so vectors have no edges";
}

TEST(Pack, ManyTensorsPlanInTime) {
  Graph g = descent(ragged(1354));
  std::clock_t start = std::clock();
  Program p = lowered(g);
  double spent = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(spent, 2.0 * kSlowdown);
  EXPECT_LE(p.kernels.size(), 4u);
  for (const Kernel &k : p.kernels) EXPECT_LE(parameter_bytes(k), kTarget.parameter_bytes);
}

TEST(Pack, AsManyInALaunchAsParametersTake) {
  Target old = kTarget;
  old.parameter_bytes = 4096;
  Program p = lowered(descent(std::vector<Shape>(1000, {100})), old);
  EXPECT_EQ(instances_in(p), 1000);
  EXPECT_EQ(p.kernels.size(), 6u) << "24 bytes each";
  for (const Kernel &k : p.kernels) EXPECT_LE(parameter_bytes(k), 4096);
}

TEST(Pack, OtherBodiesStayApart) {
  Graph g("bodies");
  for (std::string name : {"a", "b", "c"}) {
    Value x = g.input(name, f32, {100});
    g.output(name + "y", name == "c" ? x * 3.0 : x * 2.0);
  }
  Program p = lowered(g);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(instances_in(p), 3);
}

TEST(Pack, WhatWaitsForTheOtherStaysApart) {
  Graph g("chain");
  Value x = g.input("x", f32, {100});
  Value between = g.extern_op("f", {x * 2.0}, {{f32, {100}}})[0];
  g.output("y", between * 2.0);
  Program p = lowered(g);
  EXPECT_EQ(p.kernels.size(), 2u);
  ASSERT_EQ(p.steps.size(), 3u);
  EXPECT_TRUE(p.steps[1].is_extern);
}

TEST(Pack, WhatNothingWaitsForRunsTogetherAtTheEnd) {
  Graph g("ends");
  Value x = g.input("x", f32, {100});
  for (std::string name : {"f", "g", "h"}) {
    x = g.extern_op(name, {x}, {{f32, {100}}})[0];
    g.output(name, x * 2.0);
  }
  Program p = lowered(g);
  ASSERT_EQ(p.steps.size(), 4u);
  EXPECT_FALSE(p.steps[3].is_extern);
  EXPECT_EQ(p.kernels[0].instances, 3);
}

TEST(Pack, KernelsThatTakeLongStayApart) {
  Program p = lowered(descent(std::vector<Shape>(2, {1 << 28})));
  EXPECT_EQ(p.kernels.size(), 2u);
}

/// Transposed: a thread divides its number by the rows to find its element.
Graph transposes(std::int64_t scale) {
  Graph g("transposes");
  for (std::int64_t rows : {40, 56}) {
    std::string name = std::to_string(rows);
    Value x = g.input("x" + name, f32, {rows * scale, 6});  // too few columns for tiles
    g.output("y" + name, transpose(x, {1, 0}) * 2.0);
  }
  return g;
}

TEST(Pack, DivisionsBySizesAreForSmallKernels) {
  Program small = lowered(transposes(1)), large = lowered(transposes(1 << 13));
  ASSERT_EQ(small.kernels.size(), 1u);
  EXPECT_TRUE(divides_by_sizes(small.kernels[0]));
  EXPECT_EQ(large.kernels.size(), 2u);
}

TEST(Pack, Reductions) {
  Graph g("sums");
  for (std::int64_t rows : {3, 100, 1000}) {
    Value x = g.input("x" + std::to_string(rows), f32, {rows, 256});
    g.output("y" + std::to_string(rows), sum(x, {1}));
  }
  Program p = lowered(g);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(p.kernels[0].instances, 3);
}

TEST(Pack, SymbolicSizes) {
  Graph g("symbolic");
  Dim b = g.dim("B");
  for (std::int64_t n : {64, 128, 64}) {
    std::string name = std::to_string(n) + std::to_string(g.inputs().size());
    g.output("y" + name, exp(g.input("x" + name, f32, {b, n})));
  }
  LowerOptions options;
  options.sizes = {{"B", 16}};
  Program p = lowered(g, kTarget, options);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(symbols_of(p.kernels[0]), (std::vector<std::string>{"B"}));
  EXPECT_EQ(at_instance(p.kernels[0], p.kernels[0].dims[0].extent, 1), Index::symbol("B") * 128);
  ASSERT_EQ(p.limits.size(), 2u) << "one for each number of blocks";
  EXPECT_EQ(p.limits[0].max, INT32_MAX / 3);
  options.sizes = {{"B", std::int64_t{1} << 24}};
  EXPECT_EQ(lowered(g, kTarget, options).kernels.size(), 3u);
}

TEST(Pack, SizesOfOtherSymbols) {
  Graph g("symbols");
  g.output("y", exp(g.input("x", f32, {g.dim("n0"), 64})));
  g.output("z", exp(g.input("w", f32, {g.dim("C")})));
  g.output("v", exp(g.input("u", f32, {7, 5})));
  LowerOptions options;
  options.sizes = {{"n0", 16}, {"C", 100}};
  Program p = lowered(g, kTarget, options);
  ASSERT_EQ(p.kernels.size(), 1u);
  const Kernel &k = p.kernels[0];
  EXPECT_EQ(symbols_of(k), (std::vector<std::string>{"C", "n0"}));
  EXPECT_EQ(at_instance(k, k.dims[0].extent, 0), Index::symbol("n0") * 64);
  EXPECT_EQ(at_instance(k, k.dims[0].extent, 2), 35);
}

TEST(Pack, StridesOfTheirOwn) {
  LowerOptions options;
  options.inputs.assign(5, {true, 4});
  Program p = lowered(descent(std::vector<Shape>(2, {30, 70})), kTarget, options);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(p.kernels[0].instances, 2);
  EXPECT_EQ(p.kernels[0].table.size(), 4u) << to_string(p.kernels[0]);
}

TEST(Pack, MemoryThatIsOneOrdersKernels) {
  Graph g = parse(R"(graph @crossed(%p: f32[100], %q: f32[100]) {
  %y = sub %q, %p : f32[100]
  %z = sub %p, %q : f32[100]
  return %y, %z
})");
  LowerOptions options;
  options.overrides.no_fuse = {{"y", "z"}};
  Program packed = lowered(g, kTarget, options);
  ASSERT_EQ(packed.steps.size(), 1u);
  EXPECT_EQ(packed.kernels[0].instances, 2);
  options.in_place = {{0, 1}};  // z over p, which y is made of
  Program ordered = lowered(g, kTarget, options);
  ASSERT_EQ(ordered.steps.size(), 2u);
  for (const Kernel &k : ordered.kernels) EXPECT_EQ(k.instances, 0);
  auto writes = [&](std::size_t step, std::size_t output) {
    const Binding &last = ordered.steps[step].bindings.back();
    return last.kind == Binding::Kind::Output && last.index == output;
  };
  EXPECT_TRUE(writes(0, 0) && writes(1, 1));
}

TEST(Pack, IsExplained) {
  Program p = lowered(descent(std::vector<Shape>(40, {100})));
  const Decision &d = p.plan.decisions.back();
  EXPECT_EQ(d.about, "instances k0");
  EXPECT_EQ(d.chosen, "40 in one launch");
  EXPECT_EQ(d.rejected, "40 kernels");
  EXPECT_GT(d.gain_seconds, 39 * kTarget.launch_seconds);
}

/// The kernel's sizes at an instance are those of the kernel that it was made of.
TEST(Generalize, InstancesAreTheKernels) {
  std::vector<Kernel> kernels;
  for (std::int64_t rows : {4000, 5000, 12345})
    kernels.push_back(lowered(descent({{rows, 64}})).kernels[0]);
  std::vector<const Kernel *> pointers;
  for (const Kernel &k : kernels) pointers.push_back(&k);
  EXPECT_EQ(skeleton_of(kernels[0]), skeleton_of(kernels[2]));
  std::optional<Kernel> all = generalize(pointers);
  ASSERT_TRUE(all);
  for (int i = 0; i < 3; ++i) {
    const Kernel &one = kernels[static_cast<std::size_t>(i)];
    EXPECT_EQ(at_instance(*all, all->dims[0].extent, i), one.dims[0].extent);
    EXPECT_EQ(at_instance(*all, grid_size(*all), i), grid_size(one));
    EXPECT_EQ(at_instance(*all, all->buffers[1].shape[0], i), one.buffers[1].shape[0]);
  }
}

TEST(Generalize, SkeletonsTellBodiesApart) {
  auto skeleton = [](const std::string &body, const std::string &digits) {
    return skeleton_of(
        parse_kernel("kernel @k(%x: f32[N]) -> (%y: f32[N]) threads 64 cluster 1 "
                     "index 64 {\n  dims i: 100\n  layout L: i = " +
                     digits + "\n  in L {\n" + body + "\n  }\n}\n"));
  };
  const std::string body = "%a = load %x[i + 4]\nstore %y[i], %a";
  std::string own = skeleton(body, "grid 2 . thread 64");
  EXPECT_EQ(skeleton("%b = load %x[i + 8]\nstore %y[i], %b", "grid 3 . thread 64"), own);
  EXPECT_NE(skeleton("%b = load %x[i]\nstore %y[i], %b", "grid 3 . thread 64"), own);
  EXPECT_NE(skeleton(body, "grid 2 . thread 32"), own);
  EXPECT_NE(skeleton(body, "reg 2 . thread 64"), own);
  EXPECT_NE(skeleton("%a = load %x[i + 4]\n%b = neg %a\nstore %y[i], %b", "grid 2 . thread 64"),
            own);
}

}  // namespace
