// Every path of one case.
#include "cases/case_run.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "runtime/arguments.h"
#include "runtime/driver.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace fuse::cases {

namespace {

constexpr std::size_t kGuard = 256;
constexpr std::byte kPattern{0xa5};

double ulp_of(DType type, double value) {
  int digits = 53, least = -1074;
  if (type == DType::F32) digits = 24, least = -149;
  if (type == DType::F16) digits = 11, least = -24;
  if (type == DType::BF16) digits = 8, least = -133;
  if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(value) - digits + 1, least));
}

/// A tensor in memory of its executor, between guard zones.
class GuardedBuffer {
 public:
  GuardedBuffer(bool on_gpu, const Tensor &content, int offset)
      : tensor_(content), start_(kGuard + offset * size_of(content.dtype)) {
    std::size_t bytes = start_ + content.bytes.size() + kGuard;
    image_.assign(bytes, kPattern);
    std::copy(content.bytes.begin(), content.bytes.end(), image_.begin() + start());
    buffer_ = on_gpu ? DeviceBuffer::device(bytes) : DeviceBuffer::host(bytes);
    buffer_.copy_from_host(image_.data(), bytes);
  }

  Arg argument() const {
    return tensor(static_cast<const std::byte *>(buffer_.data()) + start_, tensor_.shape);
  }

  /// What it holds now.
  Tensor read() const {
    std::vector<std::byte> now(image_.size());
    buffer_.copy_to_host(now.data(), now.size());
    Tensor result = tensor_;
    auto end = now.begin() + start() + std::ptrdiff_t(result.bytes.size());
    std::copy(now.begin() + start(), end, result.bytes.begin());
    auto is_intact = [](std::byte b) { return b == kPattern; };
    EXPECT_TRUE(std::all_of(now.begin(), now.begin() + start(), is_intact)) << "written before";
    EXPECT_TRUE(std::all_of(end, now.end(), is_intact)) << "written behind";
    return result;
  }

 private:
  std::ptrdiff_t start() const { return static_cast<std::ptrdiff_t>(start_); }

  Tensor tensor_;
  std::size_t start_;
  std::vector<std::byte> image_;
  DeviceBuffer buffer_;
};

/// Every node an output too, behind the graph's own.
Graph expose(const Graph &graph) {
  Graph all = graph.clone();
  GraphData &g = all.data();
  for (NodeId id = 0; id < g.size(); ++id)
    if (info(g.node(id).op).kind != OpKind::Leaf) add_output(g, "node" + std::to_string(id), id);
  return all;
}

bool is_elementwise(const GraphData &g) {
  for (NodeId id = 0; id < g.size(); ++id) {
    OpKind kind = info(g.node(id).op).kind;
    bool accumulates = kind == OpKind::Reduce || kind == OpKind::Scan;
    if (accumulates || kind == OpKind::Random || kind == OpKind::Extern || kind == OpKind::Gradient)
      return false;
    if (kind == OpKind::View && g.node(id).op != Op::Broadcast) return false;
    if (g.node(id).op == Op::Iota) return false;
  }
  return true;
}

/// The graph with element i of every input in the input's place.
Graph substitute(const Graph &graph, const std::vector<Tensor> &inputs, std::int64_t i) {
  const GraphData &from = graph.data();
  Graph result(graph.name());
  GraphData &to = result.data();
  for (const Symbol &s : from.symbols) add_symbol(to, s.name, s.bounds);
  std::vector<NodeId> made(from.size());
  std::size_t input = 0;
  for (NodeId id = 0; id < from.size(); ++id) {
    const Node &node = from.node(id);
    std::vector<NodeId> operands;
    for (NodeId operand : from.operands(id)) operands.push_back(made[operand]);
    if (node.op == Op::Input) {
      const Tensor &x = inputs[input++];
      made[id] = build_constant(to, x.literal(i % x.size()), from.shape(id));
    } else {
      made[id] = to.add(node.op, node.dtype, from.shape(id), operands, from.any_attr(id));
    }
  }
  for (const Output &o : from.outputs) add_output(to, o.name, made[o.node]);
  return result;
}

/// Element i of what is wanted, alone.
Expected element(const Expected &all, std::int64_t i) {
  Expected one{all.dtype, {1}, true, {}, {}, {}, {}};
  auto at = static_cast<std::size_t>(all.splat ? 0 : i);
  if (!all.value.empty()) one.value = {all.value[at]};
  if (!all.low.empty()) one.low = {all.low[at]};
  if (!all.bits.empty()) one.bits = {all.bits[at]};
  if (!all.error.empty()) one.error = {all.error[at]};
  return one;
}

/// The elements again and again.
Expected repeated(const Expected &all, std::int64_t size) {
  auto append_to = [](auto &to, const auto &from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  Expected result{all.dtype, {size}, false, {}, {}, {}, {}};
  for (std::int64_t i = 0; i < size; ++i) {
    Expected one = element(all, i % all.size());
    append_to(result.value, one.value);
    append_to(result.low, one.low);
    append_to(result.bits, one.bits);
    append_to(result.error, one.error);
  }
  return result;
}

/// Elements of an elementwise graph, one at a time, as constants: all of it must fold away.
void check_folding(const Graph &graph, const Sample &sample, bool strict) {
  std::int64_t elements = std::min<std::int64_t>(sample.wanted[0].size(), 16);
  for (std::int64_t i = 0; i < elements; ++i) {
    Graph folded = canonicalize(substitute(graph, sample.inputs, i), strict);
    const GraphData &g = folded.data();
    for (std::size_t k = 0; k < g.outputs.size(); ++k) {
      NodeId id = g.outputs[k].node;
      std::string path = "folding of element " + std::to_string(i) + (strict ? ", strict" : "");
      ASSERT_EQ(g.node(id).op, Op::Constant) << path;
      Tensor value(g.dtype(id), {1});
      value.set_bits(0, g.attr<Literal>(id).bits);
      judge(element(sample.wanted[k], i), value, path);
    }
  }
}

/// What the evaluator allows, itself judged.
std::vector<Expected> check_evaluator(const Graph &graph, const Sample &sample) {
  std::vector<Expected> outputs = evaluate(graph.data(), sample.inputs, sample.symbols).outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    judge(sample.wanted[i], rounded(outputs[i]), "evaluator, " + graph.data().outputs[i].name);
  return outputs;
}

/// Runs one executable, which may have further outputs, on every sample.
void check_executable(const Executable &executable, const std::vector<Sample> &samples,
                      const std::vector<std::vector<Expected>> &evaluated, int offset,
                      const std::string &path) {
  std::vector<ArgumentInfo> outputs = executable.outputs();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::vector<Tensor> results = execute(executable, samples[s], offset);
    for (std::size_t i = 0; i < samples[s].wanted.size(); ++i) {
      std::string where = path + ", sample " + std::to_string(s) + ", " + outputs[i].name;
      judge(samples[s].wanted[i], results[i], where);
      if (!evaluated.empty()) judge(evaluated[s][i], results[i], where + ", by the evaluator");
    }
  }
}

}  // namespace

Tensor floats(DType type, std::vector<std::int64_t> shape, const std::vector<double> &values) {
  return Tensor(type, std::move(shape), values);
}

Tensor ints(DType type, std::vector<std::int64_t> shape, const std::vector<std::int64_t> &values) {
  Tensor result(type, std::move(shape));
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.set_bits(
        i, wrap_int(type, std::uint64_t(values[static_cast<std::size_t>(i) % values.size()])));
  return result;
}

Expected within(DType type, std::vector<std::int64_t> shape, const std::vector<double> &values,
                Within tolerance) {
  Expected result{type, std::move(shape), false, {}, {}, {}, {}};
  for (std::int64_t i = 0; i < result.size(); ++i) {
    double value = values[static_cast<std::size_t>(i) % values.size()];
    double error = std::max({tolerance.abs, tolerance.rel * std::fabs(value),
                             tolerance.ulp * ulp_of(type, round_float(type, value))});
    bool exact = !std::isfinite(value);
    result.value.push_back(tolerance.ulp > 0 ? round_float(type, value) : value);
    result.error.push_back(exact ? 0 : error);
  }
  return result;
}

void judge(const Expected &wanted, const Tensor &actual, const std::string &path) {
  ASSERT_EQ(wanted.shape, actual.shape) << path;
  ASSERT_EQ(wanted.dtype, actual.dtype) << path;
  Comparison c = compare(wanted, actual);
  EXPECT_TRUE(c.passed()) << path << ": " << to_string(c);
}

std::vector<Tensor> execute(const Executable &executable, const Sample &sample, int offset) {
  bool on_gpu = executable.executor() == "gpu";
  std::vector<GuardedBuffer> buffers;
  std::vector<Arg> arguments;
  std::vector<ArgumentInfo> in = executable.inputs(), out = executable.outputs();
  buffers.reserve(in.size() + out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_scalar) {
      arguments.push_back(scalar_argument(sample.inputs[i].literal(0)));
    } else {
      buffers.emplace_back(on_gpu, sample.inputs[i], offset);
      arguments.push_back(buffers.back().argument());
    }
  }
  std::size_t first = buffers.size();
  for (const ArgumentInfo &o : out) {
    Tensor blank(o.dtype, evaluate(o.shape, sample.symbols));
    std::fill(blank.bytes.begin(), blank.bytes.end(), kPattern);
    buffers.emplace_back(on_gpu, blank, offset);
    arguments.push_back(buffers.back().argument());
  }
  executable.launch(nullptr, arguments.data(), arguments.size());
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Tensor now = buffers[i].read();
    if (i >= first) results.push_back(std::move(now));
  }
  return results;
}

void run_samples(const Graph &graph, const std::vector<Sample> &samples,
                 const RunOptions &options) {
  SCOPED_TRACE(graph.data().size() < 100 ? to_string(graph) : std::string(graph.name()));
  std::vector<std::vector<Expected>> evaluated;
  for (const Sample &s : samples) {
    ASSERT_EQ(graph.data().outputs.size(), s.wanted.size());
    if (options.evaluator) evaluated.push_back(check_evaluator(graph, s));
  }
  for (bool strict : {true, false}) {
    if (is_elementwise(graph.data())) check_folding(graph, samples[0], strict);
    for (Executor executor : executors()) {
      CompileOptions compile_options;
      compile_options.executor = executor;
      compile_options.strict = strict;
      std::string path = executor == Executor::Gpu ? "gpu" : "host";
      path += strict ? ", strict" : "";
      try {
        check_executable(compile(graph, compile_options), samples, evaluated, options.offset,
                         path + ", fused");
        if (options.op_by_op)
          check_executable(compile(expose(graph), compile_options), samples, evaluated,
                           options.offset, path + ", op by op");
      } catch (const Error &error) {
        ADD_FAILURE() << path << ": " << error.what();
      }
    }
  }
}

void run_case(const Graph &graph, const std::vector<Tensor> &inputs,
              const std::vector<Expected> &wanted, const RunOptions &options) {
  run_samples(graph, {{inputs, wanted}}, options);
}

void run_case(std::string_view text, const std::vector<Tensor> &inputs,
              const std::vector<Expected> &wanted, const RunOptions &options) {
  run_case(parse(text), inputs, wanted, options);
}

void run_elementwise(std::string_view text, const std::vector<Tensor> &inputs,
                     const std::vector<Expected> &wanted) {
  constexpr std::int64_t kMany = 1027;
  std::int64_t few = inputs[0].size();
  Sample longer{{}, {}, {{"N", kMany}}};
  for (const Tensor &x : inputs) {
    Tensor t(x.dtype, x.shape.empty() ? x.shape : std::vector{kMany});
    for (std::int64_t i = 0; i < t.size(); ++i) t.set_bits(i, x.bits(i % x.size()));
    longer.inputs.push_back(std::move(t));
  }
  for (const Expected &w : wanted) longer.wanted.push_back(repeated(w, kMany));
  run_samples(parse(text), {{inputs, wanted, {{"N", few}}}, longer});
}

}  // namespace fuse::cases
