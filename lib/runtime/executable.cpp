// The public faces: views, Launcher, Executable.
#include "ir/format.h"
#include "ir/instances.h"
#include "runtime/executable_impl.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

TensorView make_view(const void *data, const std::int64_t *shape, std::size_t rank) {
  if (rank > kMaxRank)
    fail(ErrorCode::InvalidArgument, "a tensor of rank {}: at most {} is possible", rank, kMaxRank);
  TensorView view;
  view.data = data;
  view.rank = static_cast<int>(rank);
  std::copy_n(shape, rank, view.shape);
  return view;
}

TensorView make_view(const void *data, const std::int64_t *shape, std::size_t rank,
                     const std::int64_t *strides, std::size_t num_strides) {
  if (num_strides != rank)
    fail(ErrorCode::InvalidArgument, "a tensor of rank {} with {} strides", rank, num_strides);
  TensorView view = make_view(data, shape, rank);
  view.contiguous = false;
  std::copy_n(strides, rank, view.strides);
  return view;
}

/// Runs the function; an error of what it was given begins with the program's name.
template <class Function>
auto named(const ExecutableImpl &impl, Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const Error &error) {
    rethrow_named(impl.interface().name, error);
  }
}

/// The largest alignment that a kernel of the program relies on for the argument.
int wanted_alignment(const Program &program, Binding::Kind kind, std::size_t index) {
  int wanted = 1;
  for (const Step &step : program.steps) {
    if (step.is_extern) continue;
    const Kernel &kernel = program.kernels[step.kernel];
    std::vector<LaunchBuffer> buffers = launch_buffers(kernel);
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (step.bindings[i].kind == kind && step.bindings[i].index == index)
        wanted = std::max(wanted, kernel.buffers[buffers[i].buffer].alignment);
  }
  return wanted;
}

std::vector<ArgumentInfo> describe_all(const std::vector<Argument> &arguments,
                                       const Program &program, Binding::Kind kind) {
  std::vector<ArgumentInfo> infos;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument &a = arguments[i];
    int wanted = std::max(wanted_alignment(program, kind, i), static_cast<int>(size_of(a.dtype)));
    infos.push_back({a.name, a.dtype, a.shape, a.is_scalar, a.is_scalar ? 1 : wanted});
  }
  return infos;
}

}  // namespace

TensorView tensor(const void *data, const std::vector<std::int64_t> &shape) {
  return make_view(data, shape.data(), shape.size());
}

TensorView tensor(const void *data, const std::vector<std::int64_t> &shape,
                  const std::vector<std::int64_t> &strides) {
  return make_view(data, shape.data(), shape.size(), strides.data(), strides.size());
}

TensorView tensor(const void *data, std::initializer_list<std::int64_t> shape) {
  return make_view(data, shape.begin(), shape.size());
}

TensorView tensor(const void *data, std::initializer_list<std::int64_t> shape,
                  std::initializer_list<std::int64_t> strides) {
  return make_view(data, shape.begin(), shape.size(), strides.begin(), strides.size());
}

Launcher::Launcher(std::shared_ptr<const ExecutableImpl> owner,
                   std::shared_ptr<const BoundLaunch> bound)
    : owner_(std::move(owner)), bound_(std::move(bound)) {}

void Launcher::operator()(CUstream_st *stream, const void *const *arguments, std::size_t count,
                          const LaunchOptions &options) const {
  ObservedLaunch::run(*this, stream, {arguments, count}, options, {});
}

void ObservedLaunch::run(const Launcher &launcher, CUstream_st *stream,
                         std::span<const void *const> arguments, const LaunchOptions &options,
                         const StepObserver &observer) {
  const ExecutableImpl &owner = *launcher.owner_;
  const BoundLaunch &bound = *launcher.bound_;
  named(owner, [&] {
    bound.check_addresses(arguments.data(), arguments.size());
    if (!bound.context().handle)
      return owner.run(bound, stream, arguments.data(), options, observer);
    ContextScope scope(bound.context().handle);
    owner.run(bound, stream, arguments.data(), options, observer);
  });
}

std::size_t Launcher::workspace_bytes() const {
  return static_cast<std::size_t>(bound_->workspace_size().total());
}

Executable::Executable(std::shared_ptr<ExecutableImpl> impl) : impl_(std::move(impl)) {}
Executable::~Executable() = default;
Executable::Executable(const Executable &) noexcept = default;
Executable::Executable(Executable &&) noexcept = default;
Executable &Executable::operator=(const Executable &) noexcept = default;
Executable &Executable::operator=(Executable &&) noexcept = default;

void Executable::launch(CUstream_st *stream, const Arg *arguments, std::size_t count,
                        const LaunchOptions &options) const {
  named(*impl_, [&] { impl_->launch(stream, arguments, count, options); });
}

Launcher Executable::bind(const Dims &dims, const BindOptions &options) const {
  return Launcher(impl_, named(*impl_, [&] { return impl_->bind(dims, options); }));
}

std::vector<Compilation> Executable::prepare(const std::vector<Dims> &sizes,
                                             const PrepareOptions &options) const {
  return named(*impl_, [&] { return impl_->prepare(sizes, options); });
}

std::string Executable::serialize() const {
  return named(*impl_, [&] { return impl_->serialize(); });
}

std::vector<std::string> Executable::targets() const { return impl_->targets(); }

std::vector<ArgumentInfo> Executable::inputs() const {
  return describe_all(impl_->interface().inputs, impl_->first_variant().program(),
                      Binding::Kind::Input);
}

std::vector<ArgumentInfo> Executable::outputs() const {
  return describe_all(impl_->interface().outputs, impl_->first_variant().program(),
                      Binding::Kind::Output);
}

std::vector<std::string> Executable::symbols() const {
  std::vector<std::string> names;
  for (const Symbol &s : impl_->interface().symbols) names.push_back(s.name);
  return names;
}

std::vector<std::vector<std::int64_t>> Executable::output_shapes(const Dims &dims) const {
  const SizeSolver &solver = impl_->solver();
  Bindings sizes = solver.bindings(named(*impl_, [&] { return solver.values_of(dims); }).data());
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Argument &a : impl_->interface().outputs) shapes.push_back(evaluate(a.shape, sizes));
  return shapes;
}

std::size_t Executable::workspace_bytes(const Dims &dims) const {
  return static_cast<std::size_t>(
      named(*impl_, [&] { return impl_->inspect(dims); })->workspace_size().total());
}

std::vector<InPlacePair> Executable::in_place_pairs() const {
  const Program &program = impl_->first_variant().program();
  std::vector<InPlacePair> pairs;
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    for (std::size_t o = 0; o < program.outputs.size(); ++o)
      if (!obstacle_to_sharing(program, {i, o}))
        pairs.push_back({program.inputs[i].name, program.outputs[o].name});
  return pairs;
}

std::string_view Executable::executor() const {
  switch (impl_->executor()) {
    case Executor::Gpu: return "gpu";
    case Executor::Host: return "host";
    case Executor::None:
    case Executor::Auto: break;
  }
  return "none";
}

std::vector<Decision> Executable::decisions() const {
  return impl_->first_variant().program().plan.decisions;
}

std::vector<Compilation> Executable::compilations() const { return impl_->compilations(); }

FUSE_END_NAMESPACE
