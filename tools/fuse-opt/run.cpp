// Runs a graph and judges every element by the evaluator.
#include "arguments.h"
#include "files.h"
#include "npy.h"
#include "stages.h"
#include "targets.h"

#include "ir/evaluate.h"
#include "ir/float_bits.h"
#include "passes/passes.h"
#include "text.h"

#include <algorithm>

using namespace fuse;

namespace {

constexpr std::int64_t kShown = 6;           // elements of an output
constexpr std::size_t kShownMismatches = 5;  // of an output

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

std::vector<Tensor> launch(const Executable &executable, const RunArguments &run) {
  Arguments arguments(executable.executor() == "host");
  std::vector<ArgumentInfo> infos = executable.inputs();
  for (std::size_t i = 0; i < run.inputs.size(); ++i)
    arguments.add(run.inputs[i], infos[i].is_scalar);
  std::vector<Tensor> outputs;
  for (const ArgumentInfo &o : executable.outputs()) {
    outputs.push_back(make_tensor(o.name, o.dtype, evaluate(o.shape, run.sizes)));
    // Not zeros: an element that nobody writes must show.
    std::fill(outputs.back().bytes.begin(), outputs.back().bytes.end(), std::byte{0xFF});
    arguments.add(outputs.back(), false);
  }
  executable.launch(nullptr, arguments.args().data(), arguments.args().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) arguments.read(outputs[i], outputs.size() - i);
  return outputs;
}

std::string text_of(const Literal &literal) {
  if (is_float(literal.dtype)) return formatted("{:.9g}", without_nan_sign(as_double(literal)));
  if (literal.dtype == DType::U64) return std::to_string(literal.bits);
  return std::to_string(as_int(literal));
}

/// "[3, 17]" of a row-major position.
std::string index_of(std::int64_t position, const std::vector<std::int64_t> &shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
    text = std::to_string(position % shape[d]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

std::string describe(const std::string &name, const Tensor &tensor, const Mismatch &m) {
  std::string text;
  append(text, "  {}{}: {}, expected {}", name, index_of(m.index, tensor.shape), text_of(m.actual),
         text_of(m.expected));
  if (m.ulps) append(text, ", {} ulp", *m.ulps);
  if (m.bound > 0) append(text, ", bound {:.3g}", m.bound);
  return text + "\n";
}

std::string describe(const ArgumentInfo &info, const Tensor &tensor) {
  std::string text;
  append(text, "{}: {}{} =", info.name, to_string(tensor.dtype), to_string(info.shape));
  for (std::int64_t i = 0; i < std::min(kShown, tensor.size()); ++i)
    append(text, " {:.6g}", without_nan_sign(as_double(tensor.literal(i))));
  return text + (tensor.size() > kShown ? " ...\n" : "\n");
}

/// The file's values with the evaluator's bounds.
Expected expected_of(const std::string &name, const std::string &path, Expected judged) {
  Expected given = exactly(read_tensor(name, path, judged.dtype, judged.shape));
  if (!judged.error.empty()) {
    given.error.assign(static_cast<std::size_t>(given.size()), judged.error[0]);
    if (!judged.splat) given.error = std::move(judged.error);
  }
  return given;
}

/// How the outputs compare; false where one does not pass.
class Judge {
 public:
  Judge(const Graph &graph, const RunArguments &run, const Options &options) : options_(options) {
    if (!options.verify) return;
    // Rounding points are those of the canonical graph, unless strict ones were asked for.
    Graph judged = options.strict ? graph.clone() : canonicalize(graph, false);
    expected_ = evaluate(judged.data(), run.inputs, run.sizes).outputs;
  }

  bool passes(std::size_t i, const std::string &name, const Tensor &tensor, std::string &text) {
    if (!options_.verify) return true;
    Expected expected = std::move(expected_[i]);
    if (auto file = options_.expect.find(name); file != options_.expect.end())
      expected = expected_of(name, file->second, std::move(expected));
    Comparison comparison = compare(expected, tensor);
    append(text, "  {}\n", to_string(comparison));
    for (const Mismatch &m : mismatches(expected, tensor, kShownMismatches))
      text += describe(name, tensor, m);
    return comparison.passed();
  }

 private:
  const Options &options_;
  std::vector<Expected> expected_;
};

std::vector<std::string> names_of(const std::vector<ArgumentInfo> &infos) {
  std::vector<std::string> names;
  for (const ArgumentInfo &info : infos) names.push_back(info.name);
  return names;
}

void require_no_extern(const GraphData &graph) {
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph.node(id).op == Op::Extern)
      refuse(ErrorCode::Unsupported, "extern \"{}\": a program that runs it must launch the graph",
             graph.attr<ExternAttr>(id).name);
}

}  // namespace

bool run_graph(const Graph &graph, const Options &options, std::string &text) {
  require_no_extern(graph.data());
  RunArguments run = make_arguments(graph, options);
  CompileOptions compiling;
  compiling.executor = options.on;
  compiling.target = run_target(options);
  compiling.strict = options.strict;
  compiling.batch_invariant = options.batch_invariant;
  compiling.expected_sizes = run.sizes;
  compiling.overrides = options.overrides;
  Executable executable = compile(graph, compiling);
  std::vector<ArgumentInfo> infos = executable.outputs();
  check_names("--out", options.out, names_of(infos));
  check_names("--expect", options.expect, names_of(infos));
  std::vector<Tensor> outputs = launch(executable, run);
  Judge judge(graph, run, options);
  bool passed = true;
  append(text, "{} on {}\n", graph.name(), executable.executor());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    text += describe(infos[i], outputs[i]);
    passed = judge.passes(i, infos[i].name, outputs[i], text) && passed;
    if (auto file = options.out.find(infos[i].name); file != options.out.end())
      write_file(file->second, to_npy(outputs[i]));
  }
  return passed;
}
