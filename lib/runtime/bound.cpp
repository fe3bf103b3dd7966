// Binding of sizes, and the launch path.
#include "runtime/bound.h"

#include "codegen/codegen.h"
#include "ir/bulk.h"
#include "ir/format.h"
#include "ir/instances.h"
#include "runtime/arguments.h"
#include "runtime/scratch.h"

#include <algorithm>
#include <climits>

FUSE_BEGIN_NAMESPACE

using namespace cuda;

namespace {

std::int64_t round_up(std::int64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

bool is_captured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long id = 0;
  FUSE_CUDA(cuStreamGetCaptureInfo, stream, &status, &id, nullptr, nullptr, nullptr);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// An early kernel is set up while those before it in the stream still run.
void launch_on_gpu(CUfunction function, const Kernel &kernel, std::uint64_t grid,
                   unsigned shared_bytes, CUstream stream, bool is_early, void **parameters) {
  CUlaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (kernel.cluster > 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.cluster = {static_cast<unsigned>(kernel.cluster), 1, 1};
  }
  if (is_early) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[count++].value.programmatic_stream_serialization_allowed = 1;
  }
  CUlaunchConfig config{};
  config.grid_x = static_cast<unsigned>(grid);
  config.grid_y = config.grid_z = 1;
  config.block_x = static_cast<unsigned>(kernel.threads);
  config.block_y = config.block_z = 1;
  config.shared_bytes = shared_bytes;
  config.stream = stream;
  config.attributes = attributes;
  config.num_attributes = count;
  FUSE_CUDA(cuLaunchKernelEx, &config, function, parameters, nullptr);
}

}  // namespace

BoundLaunch::BoundLaunch(std::shared_ptr<const Variant> variant, Bindings sizes,
                         const Context &context, std::vector<std::int64_t> key)
    : variant_(std::move(variant)),
      sizes_(std::move(sizes)),
      context_(context),
      key_(std::move(key)) {
  const Program &program = variant_->program();
  lay_out_workspace();
  for (std::size_t i = 0; i < program.inputs.size() + program.outputs.size(); ++i)
    addresses_.push_back(rule_for(i));
  for (const Step &step : program.steps) {
    if (step.is_extern)
      externs_.push_back(bind_extern(step));
    else
      kernels_.push_back(bind_kernel(step));
  }
}

std::int64_t BoundLaunch::evaluate(const Index &index) const {
  return fuse::evaluate(index, [&](const Atom &atom) {
    auto it = sizes_.find(atom.symbol);
    FUSE_CHECK(atom.kind == Atom::Kind::Symbol && it != sizes_.end(),
               "{} uses '{}', which is no size", variant_->program().name, atom.symbol);
    return it->second;
  });
}

void BoundLaunch::lay_out_workspace() {
  for (const WorkspaceBuffer &buffer : variant_->program().workspace) {
    std::int64_t &end = buffer.counter ? workspace_size_.counter_bytes : workspace_size_.data_bytes;
    offsets_.push_back(end);
    end += round_up(evaluate(buffer.bytes));
  }
}

BoundLaunch::Parameter BoundLaunch::parameter(const Binding &binding) const {
  const Program &program = variant_->program();
  std::size_t index = binding.index;
  Source source = Source::Tensor;
  switch (binding.kind) {
    case Binding::Kind::Input:
      if (program.inputs[index].is_scalar) source = Source::Scalar;
      break;
    case Binding::Kind::Output: index += program.inputs.size(); break;
    case Binding::Kind::Workspace: source = Source::Workspace; break;
  }
  return {source, static_cast<std::uint32_t>(index)};
}

BoundLaunch::BoundKernel BoundLaunch::bind_kernel(const Step &step) {
  const Kernel &kernel = variant_->program().kernels[step.kernel];
  BoundKernel bound;
  bound.index = step.kernel;
  bound.grid = static_cast<std::uint64_t>(num_blocks(kernel, sizes_));
  bound.shared_bytes = static_cast<unsigned>(dynamic_shared_bytes(kernel));
  if (bound.grid > INT_MAX)
    fail(ErrorCode::Unsupported, "kernel {} needs {} blocks: a launch takes {} at most",
         kernel.name, bound.grid, INT_MAX);
  if (context_.handle) bound.function = variant_->functions(context_)[step.kernel];
  if (variant_->executor() == Executor::Host)
    bound.host = &variant_->host_kernels().at(step.kernel);
  bind_buffers(step, bound);
  for (const std::string &symbol : symbols_of(kernel)) {
    bound.parameters.push_back({Source::Size, static_cast<std::uint32_t>(size_values_.size())});
    size_values_.push_back(evaluate(Index::symbol(symbol)));
  }
  if (kernel.instances > 0) bound.table = make_table(kernel, sizes_);
  return bound;
}

void BoundLaunch::bind_buffers(const Step &step, BoundKernel &bound) const {
  const Kernel &kernel = variant_->program().kernels[step.kernel];
  TableShape shape = table_shape(kernel);
  std::vector<LaunchBuffer> buffers = launch_buffers(kernel);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto [buffer, instance] = buffers[i];
    if (kernel.buffers[buffer].each)
      bound.entries.push_back({shape.buffers[buffer], instance, parameter(step.bindings[i])});
    else
      bound.parameters.push_back(parameter(step.bindings[i]));
  }
}

BoundLaunch::BoundExtern BoundLaunch::bind_extern(const Step &step) const {
  BoundExtern bound;
  for (std::size_t i = 0; i < step.bindings.size(); ++i) {
    bound.parameters.push_back(parameter(step.bindings[i]));
    bound.views.push_back(extern_view(step, i));
  }
  return bound;
}

/// An operand or result of an extern operation: a strided argument as it lies, in the shape that
/// the operation takes.
TensorView BoundLaunch::extern_view(const Step &step, std::size_t operand) const {
  const Program &program = variant_->program();
  std::vector<std::int64_t> shape = fuse::evaluate(step.shapes[operand], sizes_);
  auto [kind, index] = step.bindings[operand];
  if (kind == Binding::Kind::Workspace) return tensor(nullptr, shape);
  const Argument &argument =
      kind == Binding::Kind::Input ? program.inputs[index] : program.outputs[index];
  if (!argument.strided) return tensor(nullptr, shape);
  std::vector<std::int64_t> extents = fuse::evaluate(argument.shape, sizes_), strides;
  for (std::size_t d = 0; d < extents.size(); ++d)
    strides.push_back(sizes_.at(fmt::format("{}.stride{}", argument.name, d)));
  std::optional<std::vector<std::int64_t>> result = strides_of_reshape(extents, strides, shape);
  if (!result)
    fail(ErrorCode::Unsupported,
         "{} is strided and extern \"{}\" takes it in another shape: make it contiguous",
         argument.name, step.extern_name);
  return tensor(nullptr, shape, *result);
}

std::uint64_t BoundLaunch::grid(std::size_t kernel) const {
  for (const BoundKernel &k : kernels_)
    if (k.index == kernel) return k.grid;
  return 0;
}

const Argument &BoundLaunch::argument(std::size_t i) const {
  const Program &program = variant_->program();
  return i < program.inputs.size() ? program.inputs[i] : program.outputs[i - program.inputs.size()];
}

BoundLaunch::AddressRule BoundLaunch::rule_for(std::size_t i) const {
  if (argument(i).is_scalar) return {0, true};
  std::vector<std::int64_t> extents = fuse::evaluate(argument(i).shape, sizes_);
  bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  return {static_cast<std::uintptr_t>(variant_->arguments()[i].alignment) - 1, !is_empty};
}

void BoundLaunch::fail_address(std::size_t i, const void *address) const {
  const std::string &name = argument(i).name;
  if (address)
    fail(ErrorCode::InvalidArgument, "the address of {} is not aligned to {} bytes, as was bound",
         name, addresses_[i].mask + 1);
  if (argument(i).is_scalar)
    fail(ErrorCode::InvalidArgument, "{} has no address: pass that of a value of {}", name,
         to_string(argument(i).dtype));
  fail(ErrorCode::InvalidArgument, "{} has no address", name);
}

void BoundLaunch::check_addresses(const void *const *arguments, std::size_t count) const {
  if (count != addresses_.size())
    fail(ErrorCode::InvalidArgument, "{} takes {} arguments: {} were given",
         variant_->program().name, addresses_.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    auto [mask, is_needed] = addresses_[i];
    auto address = reinterpret_cast<std::uintptr_t>(arguments[i]);
    if ((address & mask) != 0 || (is_needed && address == 0)) fail_address(i, arguments[i]);
  }
}

void BoundLaunch::run(CUstream_st *stream, const void *const *arguments,
                      const WorkspaceMemory &memory, const ExternHandler &run_extern,
                      const StepObserver &observer) const {
  const Program &program = variant_->program();
  Scratch<void *, 256> workspace(program.workspace.size());
  for (std::size_t i = 0; i < workspace.size(); ++i)
    workspace[i] = (program.workspace[i].counter ? memory.counters : memory.data) + offsets_[i];
  const bool is_early = may_launch_early(stream);
  std::size_t next_kernel = 0, next_extern = 0;
  for (const Step &step : program.steps) {
    if (observer.before) observer.before(step);
    if (step.is_extern)
      call_extern(step, externs_[next_extern++], stream, arguments, workspace.data(), run_extern);
    else
      run_kernel(kernels_[next_kernel++], stream, is_early, arguments, workspace.data());
    if (observer.after) observer.after(step);
  }
}

/// The address of what the kernel takes.
const void *BoundLaunch::value_of(const Parameter &parameter, const void *const *arguments,
                                  void *const *workspace) const {
  auto [source, k] = parameter;
  switch (source) {
    case Source::Tensor: return &arguments[k];
    case Source::Scalar: return arguments[k];
    case Source::Workspace: return &workspace[k];
    case Source::Size: return &size_values_[k];
  }
  return nullptr;
}

/// One kernel has little to gain. Graphs gain nothing, and edges that let a kernel begin early are
/// more than some users of theirs can read.
bool BoundLaunch::may_launch_early(CUstream_st *stream) const {
  return kernels_.size() > 1 && context_.handle && awaits_grids(variant_->target()) &&
         !is_captured(stream);
}

void BoundLaunch::run_kernel(const BoundKernel &bound, CUstream_st *stream, bool is_early,
                             const void *const *arguments, void *const *workspace) const {
  if (bound.grid == 0) return;
  std::size_t count = bound.parameters.size();
  Scratch<void *, 512> pointers(count + 1);
  for (std::size_t i = 0; i < count; ++i)  // the driver's signature is not const; it only reads
    pointers[i] = const_cast<void *>(value_of(bound.parameters[i], arguments, workspace));
  Scratch<std::uint64_t, kMaxParameterBytes / 8> table(bound.table.size());
  std::copy(bound.table.begin(), bound.table.end(), table.begin());
  for (const Entry &entry : bound.entries)
    set_entry(table.data(), entry.column, entry.instance,
              value_of(entry.parameter, arguments, workspace));
  pointers[count] = table.data();
  if (bound.function)
    return launch_on_gpu(bound.function, variant_->program().kernels[bound.index], bound.grid,
                         bound.shared_bytes, stream, is_early, pointers.data());
  HostLaunch launch;
  launch.grid = bound.grid;
  launch.arguments = pointers.data();
  bound.host->launch(launch);
}

void BoundLaunch::call_extern(const Step &step, const BoundExtern &bound, CUstream_st *stream,
                              const void *const *arguments, void *const *workspace,
                              const ExternHandler &run_extern) const {
  if (!run_extern)
    fail(ErrorCode::InvalidArgument, "{} calls extern \"{}\": set LaunchOptions::run_extern",
         variant_->program().name, step.extern_name);
  Scratch<TensorView, 16> views(bound.views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    auto [source, k] = bound.parameters[i];
    views[i] = bound.views[i];
    views[i].data = source == Source::Workspace ? workspace[k] : arguments[k];
  }
  run_extern({step.extern_name, views.data(), step.num_operands, views.data() + step.num_operands,
              views.size() - step.num_operands, stream});
}

FUSE_END_NAMESPACE
