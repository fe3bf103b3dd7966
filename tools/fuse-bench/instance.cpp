// Compilation, memory and launches of a row.
#include "instance.h"

#include "random_tensor.h"

#include "codegen/codegen.h"
#include "ir/format.h"
#include "passes/passes.h"
#include "runtime/fill.h"
#include "runtime/kernel_program.h"
#include "runtime/module.h"
#include "runtime/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <set>

namespace fuse::bench {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::int64_t bytes_of(const std::vector<std::int64_t> &shape, DType dtype) {
  return count_elements(shape) * static_cast<std::int64_t>(size_of(dtype));
}

/// What is drawn at random: a small tensor whole, of a large one some elements to repeat.
std::vector<std::int64_t> drawn_shape(std::vector<std::int64_t> shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  return count_elements(shape) <= kMost ? std::move(shape) : std::vector<std::int64_t>{kMost};
}

Executable compile_source(const Source &source, Executor executor, bool tune) {
  CompileOptions options;
  options.executor = executor;
  options.tune = tune;
  options.target = source.target;
  options.strict = source.strict;
  return source.graph ? compile(*source.graph, options)
                      : compile_kernel(parse_kernel(source.kernel), options);
}

/// Loads the code once more than any cache needs it, and drops it.
void load_once(const std::string &cubin, const Kernel &kernel) {
  cuda::CUmodule module = nullptr;
  cuda::CUfunction function = nullptr;
  FUSE_CUDA(cuModuleLoadData, &module, cubin.data());
  FUSE_CUDA(cuModuleGetFunction, &function, module, kernel.name.c_str());
  FUSE_CUDA(cuModuleUnload, module);
}

/// The code of each kernel, made at once as compile() makes it.
std::vector<std::string> make_code(std::size_t kernels,
                                   const std::function<std::string(std::size_t)> &make) {
  std::vector<std::string> code(kernels);
  run_on_workers(kernels, 0, [&](std::size_t i) { code[i] = make(i); });
  return code;
}

/// Bytes read of inputs that only gathers read: what they take, at most.
std::map<std::string, std::int64_t> gathered_bytes(const GraphData &g) {
  std::map<NodeId, std::int64_t> taken;
  std::set<NodeId> read_whole;
  for (NodeId id = 0; id < g.size(); ++id)
    for (std::size_t i = 0; i < g.operands(id).size(); ++i) {
      NodeId operand = g.operand(id, i);
      if (g.node(id).op != Op::Gather || i > 0)
        read_whole.insert(operand);
      else
        taken[operand] += bytes_of(evaluate(g.shape(id), {}), g.dtype(id));
    }
  std::map<std::string, std::int64_t> by_name;
  for (NodeId input : g.inputs)
    if (taken.contains(input) && !read_whole.contains(input))
      by_name[g.attr<InputAttr>(input).name] = taken[input];
  return by_name;
}

/// Extern operations by name, without what their calls need besides tensors.
std::map<std::string, int> count_externs(const GraphData &g) {
  std::map<std::string, int> counts;
  for (NodeId id = 0; id < g.size(); ++id) {
    if (g.node(id).op != Op::Extern) continue;
    const std::string &name = g.attr<ExternAttr>(id).name;
    ++counts[name.substr(0, name.find('('))];
  }
  return counts;
}

}  // namespace

Source::Source(const Row &row, const Bindings &sizes) {
  std::string text = read_file(row.path);
  if (row.is_kernel()) {
    kernel = std::move(text);
    symbols = sizes;
  } else {
    graph = parse(with_sizes(text, sizes), row.path);
  }
}

std::vector<Tensor> random_inputs(const Row &row, const Bindings &sizes,
                                  const std::vector<ArgumentInfo> &inputs,
                                  const Bindings &symbols) {
  constexpr std::uint64_t kSeed = 20;
  std::mt19937_64 random(kSeed);
  std::vector<Tensor> tensors;
  for (const ArgumentInfo &info : inputs)
    tensors.push_back(random_tensor(info.dtype, drawn_shape(evaluate(info.shape, symbols)),
                                    index_limit(row, info.name, sizes), random));
  return tensors;
}

CompileTimes time_compilation(const Source &source, int device) {
  Target target = target_of(device);
  CompileTimes times;
  auto start = Clock::now();
  Program program =
      source.graph ? lower(*source.graph, target, {}) : program_of(parse_kernel(source.kernel));
  times.lower = milliseconds_since(start);
  const std::vector<Kernel> &kernels = program.kernels;
  start = Clock::now();
  std::vector<std::string> ptx =
      make_code(kernels.size(), [&](std::size_t i) { return emit_ptx({&kernels[i]}, target); });
  times.emit = milliseconds_since(start);
  start = Clock::now();
  Context context = context_of(nullptr, device);
  std::vector<std::string> cubins = make_code(kernels.size(), [&](std::size_t i) {
    ContextScope scope(context.handle);
    return assemble(ptx[i]);
  });
  times.assemble = milliseconds_since(start);
  start = Clock::now();
  for (std::size_t i = 0; i < kernels.size(); ++i) load_once(cubins[i], kernels[i]);
  times.load = milliseconds_since(start);
  return times;
}

double time_from_disk(const Source &source) {
  std::array<double, 5> times{};
  for (double &time : times) {
    auto start = Clock::now();
    Executable executable = compile_source(source, Executor::Gpu, false);
    time = milliseconds_since(start);
    const char *expected = source.graph ? "(plan and code from disk)" : "(code from disk)";
    if (executable.compilations()[0].reason.find(expected) == std::string::npos) return 0;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Instance::Instance(const Source &source, Executor executor, bool tune)
    : symbols_(source.symbols), executable_(compile_source(source, executor, tune)) {
  if (!source.graph) return;
  gathered_ = gathered_bytes(source.graph->data());
  externs_ = count_externs(source.graph->data());
}

std::int64_t Instance::ideal_bytes() const {
  std::int64_t total = 0;
  for (const auto &arguments : {executable_.inputs(), executable_.outputs()})
    for (const ArgumentInfo &a : arguments) {
      if (a.is_scalar) continue;
      std::int64_t bytes = bytes_of(shape_of(a), a.dtype);
      auto gathered = gathered_.find(a.name);
      total += gathered == gathered_.end() ? bytes : std::min(bytes, gathered->second);
    }
  return total;
}

DeviceBuffer Instance::allocate(std::size_t bytes) const {
  return executable_.executor() == "host" ? DeviceBuffer::host(bytes) : DeviceBuffer::device(bytes);
}

void Instance::set_input(const ArgumentInfo &info, const Tensor &tensor) {
  if (info.is_scalar) {
    scalars_.push_back(tensor);
    arguments_.push_back(scalars_.back().bytes.data());
    return;
  }
  auto elements = static_cast<std::size_t>(count_elements(shape_of(info)));
  DeviceBuffer buffer = allocate(elements * size_of(info.dtype));
  fill_with(place_of(buffer), tensor);
  arguments_.push_back(buffer.data());
  buffers_.push_back(std::move(buffer));
}

void Instance::add_output(const ArgumentInfo &info) {
  auto elements = static_cast<std::size_t>(count_elements(shape_of(info)));
  DeviceBuffer buffer = allocate(elements * size_of(info.dtype));
  fill_bytes(place_of(buffer), 0xFF);
  arguments_.push_back(buffer.data());
  buffers_.push_back(std::move(buffer));
}

void Instance::set_arguments(const std::vector<Tensor> &inputs) {
  std::vector<ArgumentInfo> infos = executable_.inputs();
  scalars_.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) set_input(infos[i], inputs[i]);
  finish_arguments();
}

void Instance::set_arguments(const std::map<std::string, Tensor> &inputs, const Addresses &lying) {
  std::vector<ArgumentInfo> infos = executable_.inputs();
  scalars_.reserve(infos.size());
  for (const ArgumentInfo &info : infos)
    if (auto there = lying.find(info.name); there != lying.end())
      arguments_.push_back(there->second);
    else
      set_input(info, inputs.at(info.name));
  finish_arguments();
}

void Instance::finish_arguments() {
  for (const ArgumentInfo &info : executable_.outputs()) add_output(info);
  launcher_ = executable_.bind(Dims(symbols_));
}

Addresses Instance::addresses() const {
  Addresses by_name;
  std::size_t next = 0;
  for (const auto &infos : {executable_.inputs(), executable_.outputs()})
    for (const ArgumentInfo &info : infos) by_name[info.name] = arguments_[next++];
  return by_name;
}

void Instance::run() const {
  run({}, [](const ExternCall &) {});
}

void Instance::run(const StepObserver &observer, const ExternHandler &run_extern) const {
  LaunchOptions options;
  options.run_extern = run_extern;
  ObservedLaunch::run(*launcher_, nullptr, arguments_, options, observer);
}

void Instance::fill(void *data, std::size_t bytes, const Tensor &tensor) const {
  fill_with({data, bytes, executable_.executor() == "host"}, tensor);
}

std::int64_t Instance::memory_bytes() const {
  std::size_t total = launcher_->workspace_bytes();
  for (const DeviceBuffer &buffer : buffers_) total += buffer.size();
  return static_cast<std::int64_t>(total);
}

std::vector<Tensor> Instance::outputs() const {
  std::vector<Tensor> tensors;
  for (const ArgumentInfo &info : executable_.outputs()) tensors.push_back(*output(info.name));
  return tensors;
}

std::optional<Tensor> Instance::output(std::string_view name) const {
  std::vector<ArgumentInfo> infos = executable_.outputs();
  std::size_t first = buffers_.size() - infos.size();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name != name) continue;
    Tensor tensor(infos[i].dtype, shape_of(infos[i]));
    buffers_[first + i].copy_to_host(tensor.bytes.data(), tensor.bytes.size());
    return tensor;
  }
  return std::nullopt;
}

}  // namespace fuse::bench
