// Runs a graph on random inputs and judges every element by the evaluator.
#include "emit.h"

#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "passes/passes.h"

#include <algorithm>
#include <random>

namespace {

using namespace fuse;

constexpr std::int64_t kShown = 6;  // elements of an output

/// Floats in (-2, 2), integers of one digit, which serve as indices too.
Tensor random_tensor(DType type, const std::vector<std::int64_t> &shape, std::mt19937_64 &random) {
  Tensor tensor(type, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    Literal literal = is_float(type)  ? float_literal(type, 4 * unit - 2)
                      : is_bool(type) ? int_literal(type, unit < 0.5)
                                      : int_literal(type, static_cast<int>(10 * unit));
    tensor.set_bits(i, literal.bits);
  }
  return tensor;
}

std::vector<Tensor> random_inputs(const Graph &graph, const Options &options) {
  std::mt19937_64 random(options.seed);
  std::vector<Tensor> tensors;
  for (Value v : graph.inputs())
    tensors.push_back(random_tensor(v.dtype(), evaluate(v.shape(), options.dims), random));
  return tensors;
}

Arg scalar_arg(const Tensor &tensor) {
  Literal literal = tensor.literal(0);
  return is_float(tensor.dtype) ? Arg(as_double(literal)) : Arg(as_int(literal));
}

/// Memory of the executor with the tensor's bytes.
class Arguments {
 public:
  explicit Arguments(bool on_host) : on_host_(on_host) {}

  void add(const Tensor &tensor, bool is_scalar) {
    if (is_scalar) {
      args_.push_back(scalar_arg(tensor));
      return;
    }
    std::size_t bytes = tensor.bytes.size();
    buffers_.push_back(on_host_ ? DeviceBuffer::host(bytes) : DeviceBuffer::device(bytes));
    buffers_.back().copy_from_host(tensor.bytes.data(), bytes);
    args_.push_back(fuse::tensor(buffers_.back().data(), tensor.shape));
  }

  void read(Tensor &tensor, std::size_t from_the_end) const {
    const DeviceBuffer &buffer = buffers_[buffers_.size() - from_the_end];
    buffer.copy_to_host(tensor.bytes.data(), tensor.bytes.size());
  }

  const std::vector<Arg> &args() const { return args_; }

 private:
  bool on_host_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<Arg> args_;
};

std::vector<Tensor> launch(const Executable &executable, const std::vector<Tensor> &inputs,
                           const Options &options) {
  Arguments arguments(executable.executor() == "host");
  std::vector<ArgumentInfo> infos = executable.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) arguments.add(inputs[i], infos[i].is_scalar);
  std::vector<Tensor> outputs;
  for (const ArgumentInfo &o : executable.outputs()) {
    outputs.emplace_back(o.dtype, evaluate(o.shape, options.dims));
    // Not zeros: an element that nobody writes must show.
    std::fill(outputs.back().bytes.begin(), outputs.back().bytes.end(), std::byte{0xFF});
    arguments.add(outputs.back(), false);
  }
  executable.launch(nullptr, arguments.args().data(), arguments.args().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) arguments.read(outputs[i], outputs.size() - i);
  return outputs;
}

std::string describe_output(const ArgumentInfo &info, const Tensor &tensor,
                            const Comparison &comparison) {
  std::string text;
  append(text, "{}: {}{} =", info.name, to_string(tensor.dtype), to_string(info.shape));
  for (std::int64_t i = 0; i < std::min(kShown, tensor.size()); ++i)
    append(text, " {:.6g}", as_double(tensor.literal(i)));
  append(text, "{}\n  {}\n", tensor.size() > kShown ? " ..." : "", to_string(comparison));
  return text;
}

}  // namespace

bool run_graph(const Graph &graph, const Options &options, std::string &text) {
  CompileOptions compiling;
  compiling.executor = options.on;
  if (!options.target.empty()) compiling.target = options.resolved_target();
  compiling.strict = options.strict;
  compiling.expected_sizes = options.dims;
  Executable executable = compile(graph, compiling);
  std::vector<Tensor> inputs = random_inputs(graph, options);
  std::vector<Tensor> outputs = launch(executable, inputs, options);
  // Rounding points are those of the canonical graph; it is what runs.
  Graph canonical = canonicalize(graph, options.strict);
  Evaluation expected = evaluate(canonical.data(), inputs, options.dims);
  std::vector<ArgumentInfo> infos = executable.outputs();
  bool passed = true;
  append(text, "{} on {}\n", graph.name(), executable.executor());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Comparison comparison = compare(expected.outputs[i], outputs[i]);
    passed = passed && comparison.passed();
    text += describe_output(infos[i], outputs[i], comparison);
  }
  return passed;
}
