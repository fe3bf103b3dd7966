// Forward and backward as kernels on the host give what the joint graph gives.
#include "ir/evaluate.h"
#include "passes/passes.h"
#include "property/random_graph.h"
#include "property/run_program.h"
#include "unit/partition/parts.h"

#include <gtest/gtest.h>

#include <map>

namespace fuse {
namespace {

using Arguments = std::map<std::string, Tensor>;

/// Runs the kernels of a graph on arguments by name, and adds its outputs to them.
void run(const Graph &graph, bool strict, const Bindings &sizes, Arguments &arguments) {
  LowerOptions options;
  options.strict = strict;
  options.sizes = options.fixed = sizes;  // axes may be empty, which programs of all sizes refuse
  Program program = lower(graph, Target::named("h200"), options);
  const GraphData &g = graph.data();
  std::vector<Tensor> inputs;
  for (NodeId id : g.inputs) inputs.push_back(arguments.at(g.attr<InputAttr>(id).name));
  ProgramRun ran = run_program(program, inputs, sizes, host_executor());
  ASSERT_EQ(ran.fault, "");
  for (std::size_t i = 0; i < g.outputs.size(); ++i) arguments[g.outputs[i].name] = ran.outputs[i];
}

Arguments random_arguments(const Graph &graph, const Bindings &sizes) {
  Entropy entropy(7);
  Arguments arguments;
  const GraphData &g = graph.data();
  for (NodeId id : g.inputs)
    arguments[g.attr<InputAttr>(id).name] =
        random_tensor(entropy, g.dtype(id), evaluate(g.shape(id), sizes), false);
  return arguments;
}

Arguments run_parts(const Graph &joint, const PartitionOptions &options, const Bindings &sizes,
                    Arguments arguments) {
  Partition p = partition(joint, options);
  run(p.forward, true, sizes, arguments);
  run(p.backward, true, sizes, arguments);
  return arguments;
}

/// Both ways to divide give the bits of the joint graph.
void expect_same_bits(const Graph &joint, const Bindings &sizes = {}) {
  Arguments given = random_arguments(joint, sizes), whole = given;
  run(joint, false, sizes, whole);
  PartitionOptions free, tight;
  tight.budget_bytes = partition(joint, free).frontier.front().kept_bytes;
  for (const PartitionOptions &options : {free, tight}) {
    Arguments parts = run_parts(joint, options, sizes, given);
    for (const Output &o : joint.data().outputs)
      EXPECT_EQ(parts.at(o.name).bytes, whole.at(o.name).bytes) << o.name;
  }
}

TEST(PartitionRun, SigmoidsInBf16) {
  expect_same_bits(joint_of(
      [](Graph &g) { return sigmoid(sigmoid(sigmoid(g.input("x", bf16, {64, 96})))); }, {"x"}));
}

TEST(PartitionRun, ChainsThatAreWidened) {
  expect_same_bits(joint_of(
      [](Graph &g) {
        Value x = g.input("x", bf16, {64, 96}), w = g.input("w", bf16, {64, 96});
        return gelu(x * w + x) * silu(w);
      },
      {"x", "w"}));
}

TEST(PartitionRun, DropoutMakesItsMaskAgain) {
  expect_same_bits(joint_of(
      [](Graph &g) {
        Value x = g.input("x", f32, {64, 96}), seed = g.scalar("seed", u64);
        return dropout(sin(x), 0.25, seed) * x;
      },
      {"x"}));
}

/// Sums of other kernels add in another order: the evaluator judges.
void expect_right(const Graph &joint, const Bindings &sizes) {
  Arguments given = random_arguments(joint, sizes);
  Graph canonical = canonicalize(joint);
  std::vector<Tensor> inputs;
  for (NodeId id : canonical.data().inputs)
    inputs.push_back(given.at(canonical.data().attr<InputAttr>(id).name));
  Evaluation judge = evaluate(canonical.data(), inputs, sizes);
  Arguments parts = run_parts(joint, {}, sizes, given);
  const auto &outputs = joint.data().outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Comparison c = compare(judge.outputs[i], parts.at(outputs[i].name));
    EXPECT_TRUE(c.passed()) << outputs[i].name << ": " << to_string(c);
  }
}

TEST(PartitionRun, LayerNormOfSymbolicRows) {
  Graph joint = joint_of(
      [](Graph &g) {
        Dim b = g.dim("B");
        Value x = g.input("x", bf16, {b, 96}), w = g.input("w", bf16, {96});
        return layer_norm(x, {1}, w, g.input("b", bf16, {96}));
      },
      {"x", "w", "b"});
  expect_right(joint, {{"B", 37}});
}

TEST(PartitionRun, SoftmaxAndCrossEntropy) {
  expect_right(joint_of([](Graph &g) { return softmax(g.input("x", f32, {16, 200})); }, {"x"}), {});
  expect_right(joint_of(
                   [](Graph &g) {
                     Value x = g.input("x", f32, {16, 200});
                     return cross_entropy(x, g.input("t", i64, {16}));
                   },
                   {"x"}),
               {});
}

// --- A block with products that others run -------------------------------------------------------

using Floats = std::map<std::string, std::vector<float>>;

float *floats(const TensorView &view) {
  return static_cast<float *>(const_cast<void *>(view.data));
}

/// c = a b, of a [n, k] and b [k, m]; of transposed operands the strides change.
void multiply(float *c, const float *a, const float *b, std::int64_t n, std::int64_t k,
              std::int64_t m, bool a_transposed, bool b_transposed) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += double(a[a_transposed ? l * n + i : i * k + l]) *
               b[b_transposed ? j * k + l : l * m + j];
      c[i * m + j] = static_cast<float>(sum);
    }
}

void run_product(const ExternCall &call) {
  const TensorView *in = call.operands, *out = call.results;
  if (call.name == "mm")
    return multiply(floats(out[0]), floats(in[0]), floats(in[1]), in[0].shape[0], in[0].shape[1],
                    in[1].shape[1], false, false);
  std::int64_t n = in[1].shape[0], k = in[1].shape[1], m = in[2].shape[1];
  multiply(floats(out[0]), floats(in[0]), floats(in[2]), n, m, k, false, true);
  multiply(floats(out[1]), floats(in[1]), floats(in[0]), k, n, m, true, false);
}

void launch_on_host(const Graph &graph, bool strict, Floats &values) {
  CompileOptions options;
  options.executor = Executor::Host;
  options.strict = strict;
  Executable exe = compile(graph, options);
  const GraphData &g = graph.data();
  std::vector<Arg> arguments;
  auto add = [&](const std::string &name, NodeId id) {
    std::vector<std::int64_t> shape = evaluate(g.shape(id), {});
    values[name].resize(static_cast<std::size_t>(count_elements(shape)));
    arguments.push_back(tensor(values[name].data(), shape));
  };
  for (NodeId id : g.inputs) add(g.attr<InputAttr>(id).name, id);
  for (const Output &o : g.outputs) add(o.name, o.node);
  LaunchOptions launching;
  launching.run_extern = run_product;
  exe.launch(nullptr, arguments.data(), arguments.size(), launching);
}

TEST(PartitionRun, AnMlpWithItsProducts) {
  std::vector<std::string> inputs = {"x", "w", "w1", "w2"};
  Graph joint = joint_of(
      [](Graph &g) {
        Value x = g.input("x", f32, {24, 32});
        Value n = rms_norm(x, {1}, g.input("w", f32, {32}));
        Value u = gelu(product(n, g.input("w1", f32, {32, 64}), g));
        return x + product(u, g.input("w2", f32, {64, 32}), g);
      },
      inputs);
  Floats whole;
  Entropy entropy(3);
  for (NodeId id : joint.data().inputs) {
    std::vector<float> &v = whole[joint.data().attr<InputAttr>(id).name];
    v.resize(static_cast<std::size_t>(num_elements(joint.data().shape(id)).value()));
    for (float &f : v) f = static_cast<float>(entropy.uniform(-1, 1));
  }
  Floats parts = whole;
  launch_on_host(joint, false, whole);
  Partition p = partition(joint);
  launch_on_host(p.forward, true, parts);
  launch_on_host(p.backward, true, parts);
  for (const Output &o : joint.data().outputs)
    for (std::size_t i = 0; i < whole[o.name].size(); ++i)
      ASSERT_NEAR(parts[o.name][i], whole[o.name][i], 1e-4) << o.name << " " << i;
}

TEST(PartitionRun, RandomGraphs) {
  RandomGraphOptions shape;
  shape.operations = 8;
  shape.special_values = false;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Entropy entropy(seed);
    RandomGraph random = random_graph(entropy, shape);
    const GraphData &g = random.graph.data();
    std::vector<std::string> inputs, outputs;
    for (NodeId id : g.inputs)
      if (is_float(g.dtype(id))) inputs.push_back(g.attr<InputAttr>(id).name);
    for (const Output &o : g.outputs)
      if (is_float(g.dtype(o.node))) outputs.push_back(o.name);
    if (inputs.empty() || outputs.empty()) continue;
    SCOPED_TRACE(seed);
    expect_right(vjp(random.graph, inputs, outputs), random.symbols);
  }
}

}  // namespace
}  // namespace fuse
