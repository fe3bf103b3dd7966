// Launching: arguments -> sizes and facts -> a bound launch, found or made -> kernels.
#include "runtime/executable_impl.h"

#include "ir/format.h"
#include "runtime/hash.h"
#include "runtime/overlap.h"
#include "runtime/scratch.h"

#include <algorithm>
#include <bit>
#include <set>

FUSE_BEGIN_NAMESPACE

using namespace cuda;

ExecutableImpl::ExecutableImpl(Interface interface, Lower lower, const CompileOptions &options,
                               Target target, Executor executor)
    : interface_(std::move(interface)),
      lower_(std::move(lower)),
      options_(options),
      target_(std::move(target)),
      executor_(executor),
      solver_(interface_.inputs, interface_.outputs, interface_.symbols),
      in_place_(resolve_in_place()),
      variants_([this](const VariantClass &arguments, const Bindings &sizes) {
        return build(arguments, sizes);
      }),
      workspaces_(options.allocator) {
  for (const auto &[extent, words] : interface_.not_empty) solver_.require_elements(extent, words);
  first_ = variants_.start(default_class(), options_.expected_sizes);
  if (executor_ != Executor::Gpu) return;
  Context context = context_of(nullptr, options_.device);
  ContextScope scope(context.handle);
  first_->functions(context);
}

std::vector<SharedMemory> ExecutableImpl::resolve_in_place() const {
  std::set<std::string> seen;
  auto find = [&](const std::vector<Argument> &arguments, const std::string &name,
                  const char *kind) {
    auto it = std::find_if(arguments.begin(), arguments.end(),
                           [&](const Argument &a) { return a.name == name; });
    if (it == arguments.end())
      fail(ErrorCode::InvalidArgument, "in_place: {} has no {} named '{}'", interface_.name, kind,
           name);
    if (!seen.insert(name).second)
      fail(ErrorCode::InvalidArgument, "in_place: {} stands in two pairs", name);
    return static_cast<std::size_t>(it - arguments.begin());
  };
  std::vector<SharedMemory> pairs;
  for (const auto &[input, output] : options_.in_place)
    pairs.push_back(
        {find(interface_.inputs, input, "input"), find(interface_.outputs, output, "output")});
  return pairs;
}

VariantClass ExecutableImpl::default_class() const {
  VariantClass arguments(num_arguments());
  if (!options_.no_recompile) return arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!argument(i).is_scalar) arguments[i] = {true, static_cast<int>(size_of(argument(i).dtype))};
  return arguments;
}

std::shared_ptr<const Variant> ExecutableImpl::build(const VariantClass &arguments,
                                                     const Bindings &sizes) const {
  LowerOptions options;
  options.strict = options_.strict;
  options.batch_invariant = options_.batch_invariant;
  auto outputs = arguments.begin() + static_cast<std::ptrdiff_t>(interface_.inputs.size());
  options.inputs.assign(arguments.begin(), outputs);
  options.outputs.assign(outputs, arguments.end());
  options.sizes = sizes;
  options.overrides = options_.overrides;
  for (const SharedMemory &pair : in_place_) options.in_place.emplace_back(pair.input, pair.output);
  Lowered lowered = [&] {
    std::lock_guard lock(lower_mutex_);
    return lower_(options);
  }();
  share_memory(lowered.program, in_place_);
  return std::make_shared<const Variant>(std::move(lowered), arguments, target_, executor_);
}

std::string ExecutableImpl::reason_for(const VariantClass &arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].strided) return fmt::format("{} is strided", argument(i).name);
    if (arguments[i].alignment < 16)
      return fmt::format("{} is aligned to {} bytes", argument(i).name, arguments[i].alignment);
  }
  return "contiguous and aligned arguments";
}

void ExecutableImpl::require_launchable(CUstream_st *stream) const {
  if (executor_ == Executor::None)
    fail(ErrorCode::Unsupported, "{} was compiled with Executor::None and cannot be launched",
         interface_.name);
  if (executor_ == Executor::Host && stream)
    fail(ErrorCode::InvalidArgument, "{} runs on the host: its stream is null", interface_.name);
}

void ExecutableImpl::check_kinds(const Arg *arguments, std::size_t count) const {
  if (count != num_arguments())
    fail(ErrorCode::InvalidArgument, "{} takes {} inputs and {} outputs: {} arguments were given",
         interface_.name, interface_.inputs.size(), interface_.outputs.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    bool is_tensor = arguments[i].kind == Arg::Kind::Tensor;
    if (is_tensor == argument(i).is_scalar)
      fail(ErrorCode::InvalidArgument, "{} is a {}: a {} was given", argument(i).name,
           argument(i).is_scalar ? "scalar" : "tensor", is_tensor ? "tensor" : "scalar");
  }
}

ArgumentFacts ExecutableImpl::facts_of(std::size_t i, const std::int64_t *strides, int alignment,
                                       const std::int64_t *values) const {
  if (argument(i).is_scalar) return {};
  std::int64_t extents[kMaxRank];
  for (std::size_t d = 0; d < solver_.rank(i); ++d) extents[d] = solver_.extent(i, d, values);
  ArgumentFacts facts =
      describe(argument(i), i >= interface_.inputs.size(), extents, strides, alignment);
  if (options_.no_recompile) facts.kind = {true, static_cast<int>(size_of(argument(i).dtype))};
  return facts;
}

ArgumentFacts ExecutableImpl::facts_of(std::size_t i, const Arg &given,
                                       const std::int64_t *values) const {
  const TensorView &view = given.view;
  int alignment = alignment_of(view.data);
  ArgumentFacts facts = facts_of(i, view.contiguous ? nullptr : view.strides, alignment, values);
  facts.data = view.data;
  if (argument(i).is_scalar) return facts;
  if (alignment < static_cast<int>(size_of(argument(i).dtype)))
    fail(ErrorCode::InvalidArgument, "the address of {} is not aligned to its {} elements",
         argument(i).name, to_string(argument(i).dtype));
  if (facts.bytes > 0 && !view.data)
    fail(ErrorCode::InvalidArgument, "{} has no address", argument(i).name);
  if (view.rank < 0 && static_cast<std::size_t>(facts.bytes) > given.bytes)
    fail(ErrorCode::InvalidArgument, "the buffer of {} has {} bytes: {} are needed",
         argument(i).name, given.bytes, facts.bytes);
  return facts;
}

std::size_t ExecutableImpl::fill_key(std::int64_t *key, const ArgumentFacts *facts,
                                     const std::int64_t *values, const Context &context) const {
  std::int64_t *end = key;
  *end++ = static_cast<std::int64_t>(context.id);
  for (std::size_t i = 0; i < num_arguments(); ++i) {
    *end++ = facts[i].kind.alignment | (facts[i].kind.strided ? 256 : 0);
    if (facts[i].kind.strided) end = std::copy_n(facts[i].strides, solver_.rank(i), end);
  }
  end = std::copy_n(values, solver_.num_symbols(), end);
  return static_cast<std::size_t>(end - key);
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::find_or_bind(const ArgumentFacts *facts,
                                                                const std::int64_t *values,
                                                                const Context &context) const {
  Scratch<std::int64_t, 512> key(1 + num_arguments() * (1 + kMaxRank) + solver_.num_symbols());
  std::size_t size = fill_key(key.data(), facts, values, context);
  std::string_view bytes(reinterpret_cast<const char *>(key.data()), size * sizeof key[0]);
  auto &slot = slots_[hash128(bytes).lo % kSlots];
  auto bound = slot.load(std::memory_order_acquire);
  if (bound &&
      std::equal(bound->key().begin(), bound->key().end(), key.begin(), key.begin() + size))
    return bound;
  bound = bind_now(facts, values, context, {key.begin(), key.begin() + size});
  slot.store(bound, std::memory_order_release);
  return bound;
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::bind_now(const ArgumentFacts *facts,
                                                            const std::int64_t *values,
                                                            const Context &context,
                                                            std::vector<std::int64_t> key) const {
  VariantClass arguments;
  Bindings sizes = solver_.bindings(values), all = sizes;
  for (std::size_t i = 0; i < num_arguments(); ++i) {
    arguments.push_back(facts[i].kind);
    for (std::size_t d = 0; facts[i].kind.strided && d < solver_.rank(i); ++d)
      all[fmt::format("{}.stride{}", argument(i).name, d)] = facts[i].strides[d];
  }
  auto variant = variants_.get(arguments, sizes, reason_for(arguments), !options_.no_recompile);
  return std::make_shared<BoundLaunch>(std::move(variant), std::move(all), context, std::move(key));
}

void ExecutableImpl::launch(CUstream_st *stream, const Arg *arguments, std::size_t count,
                            const LaunchOptions &options) const {
  require_launchable(stream);
  check_kinds(arguments, count);
  Scratch<std::int64_t, 64> values(solver_.num_symbols());
  solver_.solve(arguments, values.data());
  Scratch<ArgumentFacts, 32> facts(count);
  Scratch<const void *, 64> addresses(count);
  Scratch<std::uint64_t, 64> scalars(count);
  for (std::size_t i = 0; i < count; ++i) {
    facts[i] = facts_of(i, arguments[i], values.data());
    addresses[i] = facts[i].data;
    if (!argument(i).is_scalar) continue;
    scalars[i] = scalar_bits(argument(i), arguments[i]);
    addresses[i] = &scalars[i];
  }
  check_overlap(interface_.inputs, interface_.outputs, in_place_, facts.data());
  if (executor_ == Executor::Host)
    return run(*find_or_bind(facts.data(), values.data(), {}), stream, addresses.data(), options);
  Context context = context_of(stream, options.device);
  ContextScope scope(context.handle);
  run(*find_or_bind(facts.data(), values.data(), context), stream, addresses.data(), options);
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::bind(const Dims &dims,
                                                        const BindOptions &options) const {
  require_launchable(options.stream);
  if (options.alignment < 1 || !std::has_single_bit(static_cast<unsigned>(options.alignment)))
    fail(ErrorCode::InvalidArgument, "alignment {} is not a power of two", options.alignment);
  std::vector<std::int64_t> values = solver_.values_of(dims);
  std::vector<ArgumentFacts> facts(num_arguments());
  std::size_t used = 0;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    auto it = options.strides.find(argument(i).name);
    bool given = it != options.strides.end() && ++used;
    if (given && it->second.size() != solver_.rank(i))
      fail(ErrorCode::InvalidArgument, "{} has rank {}: {} strides were given", it->first,
           solver_.rank(i), it->second.size());
    facts[i] = facts_of(i, given ? it->second.data() : nullptr, std::min(options.alignment, 16),
                        values.data());
  }
  if (used != options.strides.size())
    fail(ErrorCode::InvalidArgument, "strides are given for an argument that {} does not have",
         interface_.name);
  if (executor_ == Executor::Host) return find_or_bind(facts.data(), values.data(), {});
  Context context = context_of(options.stream, options.device);
  ContextScope scope(context.handle);
  return find_or_bind(facts.data(), values.data(), context);
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::inspect(const Dims &dims) const {
  Bindings sizes = solver_.bindings(solver_.values_of(dims).data());
  // Row-major strides, for a first variant that takes strides.
  for (std::size_t i = 0; i < num_arguments(); ++i) {
    std::vector<std::int64_t> values = solver_.values_of(dims);
    ArgumentFacts facts = facts_of(i, nullptr, 16, values.data());
    for (std::size_t d = 0; facts.kind.strided && d < solver_.rank(i); ++d)
      sizes[fmt::format("{}.stride{}", argument(i).name, d)] = facts.strides[d];
  }
  return std::make_shared<BoundLaunch>(first_, std::move(sizes), Context{},
                                       std::vector<std::int64_t>{});
}

void ExecutableImpl::run(const BoundLaunch &bound, CUstream_st *stream,
                         const void *const *arguments, const LaunchOptions &options) const {
  WorkspaceSize size = bound.workspace_size();
  const bool on_host = executor_ == Executor::Host;
  if (options.workspace.data || size.total() == 0) {
    WorkspaceMemory memory;
    if (size.total() > 0) memory = use_workspace(options.workspace, size, stream, on_host);
    return bound.run(stream, arguments, memory, options.run_extern);
  }
  if (!on_host)
    return bound.run(stream, arguments, workspaces_.acquire(bound.context(), stream, size),
                     options.run_extern);
  // The call ends when the work does, so its memory need not outlive it.
  DeviceBuffer buffer =
      DeviceBuffer::host(static_cast<std::size_t>(size.total()), options_.allocator);
  Workspace own{buffer.data(), buffer.size(), false};
  bound.run(stream, arguments, use_workspace(own, size, stream, on_host), options.run_extern);
}

FUSE_END_NAMESPACE
