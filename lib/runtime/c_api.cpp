// The C face: exceptions become statuses, and their words are kept for the thread.
#include <fuse/c_api.h>

#include "ir/float_bits.h"
#include "ir/format.h"
#include "runtime/arguments.h"

#include <fuse/jit.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

struct fuse_graph {
  fuse::Graph graph;
};
struct fuse_executable {
  fuse::Executable executable;
  std::vector<fuse::ArgumentInfo> arguments;  // inputs, then outputs
  std::size_t num_inputs;
  std::string explained, serialized;
  std::vector<fuse::KernelReport> reports;
};
struct fuse_launcher {
  fuse::Launcher launcher;
};

namespace {

using fuse::ErrorCode;

thread_local std::string last_error;

fuse_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return FUSE_INVALID_ARGUMENT;
    case ErrorCode::Shape: return FUSE_SHAPE;
    case ErrorCode::DType: return FUSE_DTYPE;
    case ErrorCode::Parse: return FUSE_PARSE;
    case ErrorCode::Unsupported: return FUSE_UNSUPPORTED;
    case ErrorCode::NoDevice: return FUSE_NO_DEVICE;
    case ErrorCode::OutOfMemory: return FUSE_OUT_OF_MEMORY;
    case ErrorCode::Driver: return FUSE_DRIVER_ERROR;
    case ErrorCode::Io: return FUSE_IO;
    case ErrorCode::Internal: return FUSE_INTERNAL;
  }
  return FUSE_INTERNAL;
}

fuse_status failed(fuse_status status, const char *text) noexcept {
  try {
    last_error = text;
  } catch (...) {  // no memory for the words: the status has to do
    last_error.clear();
  }
  return status;
}

/// Runs the function; nothing it throws reaches C.
template <class Function>
fuse_status guarded(Function &&function) noexcept {
  try {
    function();
    return FUSE_OK;
  } catch (const fuse::Error &error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc &) {
    return failed(FUSE_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception &error) {
    return failed(FUSE_INTERNAL, error.what());
  } catch (...) {
    return failed(FUSE_INTERNAL, "an exception of unknown type");
  }
}

void require(const void *pointer, const char *name) {
  if (!pointer) fuse::fail(ErrorCode::InvalidArgument, "{} is null", name);
}

void require_below(size_t index, size_t count, const char *what) {
  if (index >= count)
    fuse::fail(ErrorCode::InvalidArgument, "{} {} of {} does not exist", what, index, count);
}

/// Not one more is read than there are symbols, whatever the count says.
fuse::Dims dims_of(const fuse_executable *executable, const int64_t *dims, size_t count) {
  size_t symbols = executable->executable.symbols().size();
  if (count > symbols)
    throw fuse::Error(fuse::ErrorCode::InvalidArgument,
                      fmt::format("there are {} symbols: {} sizes were given", symbols, count));
  if (count > 0) require(dims, "dims");
  return std::vector<std::int64_t>(dims, dims + count);
}

fuse::LaunchOptions launch_options(const fuse_workspace *workspace) {
  fuse::LaunchOptions options;
  if (workspace) options.workspace = {workspace->data, workspace->bytes, workspace->zeroed != 0};
  return options;
}

fuse::Executor executor_of(fuse_executor executor) {
  switch (executor) {
    case FUSE_EXECUTOR_AUTO: return fuse::Executor::Auto;
    case FUSE_EXECUTOR_GPU: return fuse::Executor::Gpu;
    case FUSE_EXECUTOR_HOST: return fuse::Executor::Host;
    case FUSE_EXECUTOR_NONE: return fuse::Executor::None;
  }
  fuse::fail(ErrorCode::InvalidArgument, "{} is no executor", static_cast<int>(executor));
}

/// "h100,h200".
std::vector<fuse::Target> targets_of(std::string_view names) {
  std::vector<fuse::Target> targets;
  while (!names.empty()) {
    std::size_t comma = std::min(names.find(','), names.size());
    targets.push_back(fuse::Target::named(names.substr(0, comma)));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return targets;
}

fuse_executable *handle_of(fuse::Executable executable) {
  std::vector<fuse::ArgumentInfo> arguments = executable.inputs();
  std::size_t num_inputs = arguments.size();
  for (fuse::ArgumentInfo &output : executable.outputs()) arguments.push_back(std::move(output));
  return new fuse_executable{std::move(executable), std::move(arguments), num_inputs, {}, {}, {}};
}

fuse::CompileOptions options_of(const fuse_compile_options *given) {
  fuse::CompileOptions options;
  if (!given) return options;
  if (given->target) options.target = fuse::Target::named(given->target);
  options.executor = executor_of(given->executor);
  options.device = given->device;
  options.strict = given->strict != 0;
  options.batch_invariant = given->batch_invariant != 0;
  options.no_recompile = given->no_recompile != 0;
  if (given->targets) options.targets = targets_of(given->targets);
  return options;
}

fuse::DeserializeOptions options_of(const fuse_deserialize_options *given) {
  fuse::DeserializeOptions options;
  if (!given) return options;
  options.executor = executor_of(given->executor);
  options.device = given->device;
  if (given->target) options.target = given->target;
  options.no_recompile = given->no_recompile != 0;
  return options;
}

fuse::Arg scalar_of(const fuse_tensor &given, fuse::DType dtype) {
  require(given.data, "the value of a scalar");
  fuse::Literal literal{dtype, 0};
  std::memcpy(&literal.bits, given.data, fuse::size_of(dtype));
  return fuse::scalar_argument(literal);
}

fuse::Arg argument_of(const fuse_tensor &given, const fuse::ArgumentInfo &info) {
  if (given.rank < 0) return scalar_of(given, info.dtype);
  if (given.rank > fuse::kMaxRank)
    fuse::fail(ErrorCode::InvalidArgument, "{} has rank {}: at most {} is possible", info.name,
               given.rank, fuse::kMaxRank);
  fuse::TensorView view;
  view.data = given.data;
  view.rank = given.rank;
  view.contiguous = given.strides == nullptr;
  std::copy_n(given.shape, given.rank, view.shape);
  if (given.strides) std::copy_n(given.strides, given.rank, view.strides);
  return view;
}

}  // namespace

extern "C" {

const char *fuse_version(void) { return fuse::version(); }

const char *fuse_status_name(fuse_status status) {
  if (status == FUSE_OK) return "ok";
  if (status < FUSE_OK || status > FUSE_INTERNAL) return "unknown";
  return fuse::to_string(static_cast<ErrorCode>(status - 1)).data();
}

const char *fuse_last_error(void) { return last_error.c_str(); }

fuse_status fuse_graph_parse(const char *text, fuse_graph **graph) {
  return guarded([&] {
    require(text, "text");
    require(graph, "graph");
    *graph = new fuse_graph{fuse::parse(text)};
  });
}

fuse_status fuse_graph_grad(const fuse_graph *graph, const char *output, const char *const *inputs,
                            size_t num_inputs, fuse_graph **joint) {
  return guarded([&] {
    require(graph, "graph");
    require(joint, "joint");
    if (num_inputs > 0) require(inputs, "inputs");
    for (size_t i = 0; i < num_inputs; ++i) require(inputs[i], "a name");
    *joint = new fuse_graph{
        fuse::grad(graph->graph, {inputs, inputs + num_inputs}, output ? output : "")};
  });
}

void fuse_graph_free(fuse_graph *graph) { delete graph; }

fuse_status fuse_compile(const fuse_graph *graph, const fuse_compile_options *options,
                         fuse_executable **executable) {
  return guarded([&] {
    require(graph, "graph");
    require(executable, "executable");
    *executable = handle_of(fuse::compile(graph->graph, options_of(options)));
  });
}

void fuse_executable_free(fuse_executable *executable) { delete executable; }

fuse_status fuse_launch(const fuse_executable *executable, struct CUstream_st *stream,
                        const fuse_tensor *arguments, size_t count,
                        const fuse_workspace *workspace) {
  return guarded([&] {
    require(executable, "executable");
    if (count > 0) require(arguments, "arguments");
    if (count != executable->arguments.size())
      fuse::fail(ErrorCode::InvalidArgument, "{} arguments were given: {} are needed", count,
                 executable->arguments.size());
    std::vector<fuse::Arg> converted;
    for (size_t i = 0; i < count; ++i)
      converted.push_back(argument_of(arguments[i], executable->arguments[i]));
    executable->executable.launch(stream, converted.data(), count, launch_options(workspace));
  });
}

fuse_status fuse_bind(const fuse_executable *executable, const int64_t *dims, size_t num_dims,
                      fuse_launcher **launcher) {
  return guarded([&] {
    require(executable, "executable");
    require(launcher, "launcher");
    *launcher = new fuse_launcher{executable->executable.bind(dims_of(executable, dims, num_dims))};
  });
}

fuse_status fuse_launcher_call(const fuse_launcher *launcher, struct CUstream_st *stream,
                               const void *const *arguments, size_t count,
                               const fuse_workspace *workspace) {
  return guarded([&] {
    require(launcher, "launcher");
    if (count > 0) require(arguments, "arguments");
    launcher->launcher(stream, arguments, count, launch_options(workspace));
  });
}

fuse_status fuse_prepare(const fuse_executable *executable, const int64_t *dims, size_t num_dims,
                         size_t num_sizes, unsigned threads) {
  return guarded([&] {
    require(executable, "executable");
    std::vector<fuse::Dims> sizes;
    for (size_t i = 0; i < num_sizes; ++i)
      sizes.push_back(dims_of(executable, dims ? dims + i * num_dims : dims, num_dims));
    fuse::PrepareOptions options;
    options.threads = threads;
    executable->executable.prepare(sizes, options);
  });
}

fuse_status fuse_serialize(fuse_executable *executable, const void **bytes, size_t *size) {
  return guarded([&] {
    require(executable, "executable");
    require(bytes, "bytes");
    require(size, "size");
    executable->serialized = executable->executable.serialize();
    *bytes = executable->serialized.data();
    *size = executable->serialized.size();
  });
}

fuse_status fuse_deserialize(const void *bytes, size_t size,
                             const fuse_deserialize_options *options,
                             fuse_executable **executable) {
  return guarded([&] {
    require(bytes, "bytes");
    require(executable, "executable");
    *executable =
        handle_of(fuse::deserialize({static_cast<const char *>(bytes), size}, options_of(options)));
  });
}

void fuse_launcher_free(fuse_launcher *launcher) { delete launcher; }

size_t fuse_num_inputs(const fuse_executable *executable) {
  return executable ? executable->num_inputs : 0;
}

size_t fuse_num_outputs(const fuse_executable *executable) {
  return executable ? executable->arguments.size() - executable->num_inputs : 0;
}

fuse_status fuse_argument_info(const fuse_executable *executable, size_t index,
                               fuse_argument *argument) {
  return guarded([&] {
    require(executable, "executable");
    require(argument, "argument");
    require_below(index, executable->arguments.size(), "argument");
    const fuse::ArgumentInfo &info = executable->arguments[index];
    *argument = {info.name.c_str(), fuse::to_string(info.dtype).data(),
                 static_cast<int>(info.shape.size()), info.is_scalar,
                 static_cast<size_t>(info.alignment)};
  });
}

fuse_status fuse_output_shape(const fuse_executable *executable, size_t output, const int64_t *dims,
                              size_t num_dims, int64_t *shape, int *rank) {
  return guarded([&] {
    require(executable, "executable");
    require(shape, "shape");
    require(rank, "rank");
    auto shapes = executable->executable.output_shapes(dims_of(executable, dims, num_dims));
    require_below(output, shapes.size(), "output");
    std::copy(shapes[output].begin(), shapes[output].end(), shape);
    *rank = static_cast<int>(shapes[output].size());
  });
}

fuse_status fuse_num_kernels(const fuse_executable *executable, const int64_t *dims,
                             size_t num_dims, size_t *count) {
  return guarded([&] {
    require(executable, "executable");
    require(count, "count");
    *count = executable->executable.kernels(dims_of(executable, dims, num_dims)).size();
  });
}

fuse_status fuse_kernel(fuse_executable *executable, size_t index, const int64_t *dims,
                        size_t num_dims, fuse_kernel_info *kernel) {
  return guarded([&] {
    require(executable, "executable");
    require(kernel, "kernel");
    executable->reports = executable->executable.kernels(dims_of(executable, dims, num_dims));
    require_below(index, executable->reports.size(), "kernel");
    const fuse::KernelReport &r = executable->reports[index];
    *kernel = {r.name.c_str(), r.predicted_us, r.bound.c_str(), r.bytes,
               r.grid,         r.threads,      r.registers,     r.spills,
               r.text.c_str(), r.llvm.c_str(), r.ptx.c_str()};
  });
}

fuse_status fuse_workspace_bytes(const fuse_executable *executable, const int64_t *dims,
                                 size_t num_dims, size_t *bytes) {
  return guarded([&] {
    require(executable, "executable");
    require(bytes, "bytes");
    *bytes = executable->executable.workspace_bytes(dims_of(executable, dims, num_dims));
  });
}

fuse_status fuse_explain(fuse_executable *executable, const int64_t *dims, size_t num_dims,
                         const char **text) {
  return guarded([&] {
    require(executable, "executable");
    require(text, "text");
    executable->explained = executable->executable.explain(dims_of(executable, dims, num_dims));
    *text = executable->explained.c_str();
  });
}

}  // extern "C"
