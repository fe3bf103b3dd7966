// Launching: arguments -> sizes and facts -> a bound launch, found or made -> kernels.
#include "runtime/executable_impl.h"

#include "ir/format.h"
#include "passes/size_class.h"
#include "runtime/hash.h"
#include "runtime/overlap.h"
#include "runtime/scratch.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

FUSE_BEGIN_NAMESPACE

using namespace cuda;

ExecutableImpl::ExecutableImpl(Interface interface, Source source, const CompileOptions &options,
                               const Machine &machine, Stored stored)
    : interface_(std::move(interface)),
      source_(std::move(source)),
      options_(options),
      machine_(machine),
      solver_(interface_.inputs, interface_.outputs, interface_.symbols),
      in_place_(resolve_in_place()),
      expected_(expected_sizes(interface_.symbols, options_.expected_sizes)),
      variants_([this](const VariantClass &arguments, const Bindings &sizes) {
        return build(arguments, sizes);
      }),
      workspaces_(options.allocator) {
  for (std::size_t i = 0; i < num_arguments(); ++i)
    element_sizes_.push_back(static_cast<int>(size_of(argument(i).dtype)));
  for (const LeastExtent &least : interface_.least_extents) solver_.require(least);
  stored.variants.empty() ? compile_first() : restore(std::move(stored));
  for (const SizeRange &range : first_->program().ranges)
    for (const std::string &symbol : symbols_of(range.value)) tiered_.push_back(symbol);
  if (machine_.executor == Executor::Gpu) load_first();
}

void ExecutableImpl::compile_first() {
  if (!options_.no_recompile || !options_.expected_sizes.empty())
    first_ = variants_.start(VariantClass(num_arguments()), expected_);
  if (options_.no_recompile) general_ = variants_.start(general_class(), {});
  if (!first_) first_ = general_;
}

void ExecutableImpl::restore(Stored stored) {
  first_ = stored.variants[0];
  if (stored.has_general) general_ = stored.variants[stored.variants.size() > 1 ? 1 : 0];
  for (std::size_t i = 0; i < stored.variants.size(); ++i)
    variants_.add(stored.variants[i], std::move(stored.how[i]));
}

void ExecutableImpl::load_first() const {
  Context context = context_of(nullptr, options_.device);
  ContextScope scope(context.handle);
  first_->functions(context);
  if (general_) general_->functions(context);
}

std::vector<SharedMemory> ExecutableImpl::resolve_in_place() const {
  std::set<std::string> seen;
  auto find = [&](const std::vector<Argument> &arguments, const std::string &name,
                  const char *kind) {
    auto it = std::find_if(arguments.begin(), arguments.end(),
                           [&](const Argument &a) { return a.name == name; });
    if (it == arguments.end())
      fail(ErrorCode::InvalidArgument, "in_place: no {} is named '{}'", kind, name);
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

void ExecutableImpl::require_launchable(CUstream_st *stream) const {
  if (machine_.executor == Executor::None)
    fail(ErrorCode::Unsupported, "{} was compiled with Executor::None and cannot be launched",
         interface_.name);
  if (machine_.executor == Executor::Host && stream)
    fail(ErrorCode::InvalidArgument, "{} runs on the host: its stream is null", interface_.name);
}

/// "x, s -> y": the arguments as a launch takes them.
std::string ExecutableImpl::names_in_order() const {
  std::string text;
  for (std::size_t i = 0; i < num_arguments(); ++i)
    append(text, "{}{}", i == interface_.inputs.size() ? " -> " : i ? ", " : "", argument(i).name);
  return text;
}

void ExecutableImpl::check_kinds(const Arg *arguments, std::size_t count) const {
  if (count != num_arguments())
    fail(ErrorCode::InvalidArgument, "{} takes {}: {} arguments were given", interface_.name,
         names_in_order(), count);
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
  return describe(argument(i), i >= interface_.inputs.size(), extents, strides, alignment);
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
    const ArgumentClass &kind = facts[i].kind;
    *end++ = kind.alignment | (kind.strided ? 256 : 0) | (kind.shifted ? 512 : 0);
    if (kind.strided) end = std::copy_n(facts[i].strides, solver_.rank(i), end);
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

void ExecutableImpl::add_strides(std::size_t i, const ArgumentFacts &facts, Bindings &sizes) const {
  for (std::size_t d = 0; d < solver_.rank(i); ++d)
    sizes[fmt::format("{}.stride{}", argument(i).name, d)] = facts.strides[d];
}

ExecutableImpl::Demand ExecutableImpl::demand_of(const ArgumentFacts *facts,
                                                 const std::int64_t *values) const {
  Demand demand;
  demand.sizes = demand.all = solver_.bindings(values);
  for (std::size_t i = 0; i < num_arguments(); ++i) {
    demand.arguments.push_back(facts[i].kind);
    if (facts[i].kind.strided) add_strides(i, facts[i], demand.sizes);
    // The general variant takes strides, whatever they are.
    if (general_ && !argument(i).is_scalar) add_strides(i, facts[i], demand.all);
  }
  demand.all.insert(demand.sizes.begin(), demand.sizes.end());
  return demand;
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::bind_now(const ArgumentFacts *facts,
                                                            const std::int64_t *values,
                                                            const Context &context,
                                                            std::vector<std::int64_t> key) const {
  Demand demand = demand_of(facts, values);
  return std::make_shared<BoundLaunch>(variant_of(demand.arguments, demand.sizes),
                                       std::move(demand.all), context, std::move(key));
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
  find_shifted(facts.data(), element_sizes_.data(), count);
  if (machine_.executor == Executor::Host)
    return run(*find_or_bind(facts.data(), values.data(), {}), stream, addresses.data(), options);
  Context context = context_of(stream, options.device);
  ContextScope scope(context.handle);
  run(*find_or_bind(facts.data(), values.data(), context), stream, addresses.data(), options);
}

void ExecutableImpl::fail_strides(const BindOptions &options) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < num_arguments(); ++i) known.push_back(argument(i).name);
  auto unknown = std::find_if(options.strides.begin(), options.strides.end(), [&](const auto &s) {
    return std::find(known.begin(), known.end(), s.first) == known.end();
  });
  fail(ErrorCode::InvalidArgument, "strides are given for {}, which is none of {}", unknown->first,
       names_in_order());
}

std::vector<ArgumentFacts> ExecutableImpl::facts_of(const std::int64_t *values,
                                                    const BindOptions &options) const {
  if (options.alignment < 1 || !std::has_single_bit(static_cast<unsigned>(options.alignment)))
    fail(ErrorCode::InvalidArgument, "alignment {} is not a power of two", options.alignment);
  std::vector<ArgumentFacts> facts(num_arguments());
  std::size_t used = 0;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    auto it = options.strides.find(argument(i).name);
    bool given = it != options.strides.end() && ++used;
    if (given && it->second.size() != solver_.rank(i))
      fail(ErrorCode::InvalidArgument, "{} has rank {}: {} strides were given", it->first,
           solver_.rank(i), it->second.size());
    facts[i] =
        facts_of(i, given ? it->second.data() : nullptr, std::min(options.alignment, 16), values);
  }
  if (used != options.strides.size()) fail_strides(options);
  return facts;
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::bind(const Dims &dims,
                                                        const BindOptions &options) const {
  require_launchable(options.stream);
  std::vector<std::int64_t> values = solver_.values_of(dims);
  std::vector<ArgumentFacts> facts = facts_of(values.data(), options);
  if (machine_.executor == Executor::Host) return find_or_bind(facts.data(), values.data(), {});
  Context context = context_of(options.stream, options.device);
  ContextScope scope(context.handle);
  return find_or_bind(facts.data(), values.data(), context);
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::inspect(const Dims &dims) const {
  std::vector<std::int64_t> values = solver_.values_of(dims);
  std::vector<ArgumentFacts> facts = facts_of(values.data(), {});
  return bind_now(facts.data(), values.data(), {}, {});
}

void ExecutableImpl::run(const BoundLaunch &bound, CUstream_st *stream,
                         const void *const *arguments, const LaunchOptions &options,
                         const StepObserver &observer) const {
  WorkspaceSize size = bound.workspace_size();
  const bool on_host = machine_.executor == Executor::Host;
  if (options.workspace.data || size.total() == 0) {
    WorkspaceMemory memory;
    if (size.total() > 0) memory = use_workspace(options.workspace, size, stream, on_host);
    return bound.run(stream, arguments, memory, options.run_extern, observer);
  }
  if (!on_host)
    return bound.run(stream, arguments, workspaces_.acquire(bound.context(), stream, size),
                     options.run_extern, observer);
  // The call ends when the work does, so its memory need not outlive it.
  DeviceBuffer buffer =
      DeviceBuffer::host(static_cast<std::size_t>(size.total()), options_.allocator);
  Workspace own{buffer.data(), buffer.size(), false};
  bound.run(stream, arguments, use_workspace(own, size, stream, on_host), options.run_extern,
            observer);
}

void rethrow_named(const std::string &program, const Error &error) {
  std::string_view text = error.what();
  bool is_named = text.substr(0, program.size()) == program &&
                  text.find_first_of(" :", program.size()) == program.size();
  bool is_of_caller = error.code() == ErrorCode::InvalidArgument ||
                      error.code() == ErrorCode::Shape || error.code() == ErrorCode::DType ||
                      error.code() == ErrorCode::Unsupported;
  if (is_named || !is_of_caller) throw;
  fail(error.code(), "{}: {}", program, text);
}

FUSE_END_NAMESPACE
