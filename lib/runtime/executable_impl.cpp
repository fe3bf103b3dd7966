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

ExecutableImpl::ExecutableImpl(Interface interface, Lower lower, const CompileOptions &options,
                               Target target, Executor executor)
    : interface_(std::move(interface)),
      lower_(std::move(lower)),
      options_(options),
      target_(std::move(target)),
      executor_(executor),
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
  if (!options_.no_recompile || !options_.expected_sizes.empty())
    first_ = variants_.start(VariantClass(num_arguments()), expected_);
  if (options_.no_recompile) general_ = variants_.start(general_class(), {});
  if (!first_) first_ = general_;
  for (const SizeRange &range : first_->program().ranges)
    for (const std::string &symbol : symbols_of(range.value)) tiered_.push_back(symbol);
  if (executor_ != Executor::Gpu) return;
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

VariantClass ExecutableImpl::general_class() const {
  VariantClass arguments(num_arguments());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!argument(i).is_scalar) arguments[i] = {true, static_cast<int>(size_of(argument(i).dtype))};
  return arguments;
}

LowerOptions ExecutableImpl::lowering_of(const VariantClass &arguments) const {
  LowerOptions options;
  options.strict = options_.strict;
  options.batch_invariant = options_.batch_invariant;
  auto outputs = arguments.begin() + static_cast<std::ptrdiff_t>(interface_.inputs.size());
  options.inputs.assign(arguments.begin(), outputs);
  options.outputs.assign(outputs, arguments.end());
  options.sizes = expected_;
  options.overrides = options_.overrides;
  for (const SharedMemory &pair : in_place_) options.in_place.emplace_back(pair.input, pair.output);
  return options;
}

Lowered ExecutableImpl::lower(const LowerOptions &options) const {
  std::lock_guard lock(lower_mutex_);
  Lowered lowered = lower_(options);
  for (const auto &[name, size] : options.fixed) {
    Index more = Index::symbol(name) - size;
    std::string why = fmt::format("{} is not {}", name, size);
    lowered.program.limits.push_back({Limit::Kind::Fixed, more, 0, why});
    lowered.program.limits.push_back({Limit::Kind::Fixed, Index(0) - more, 0, why});
  }
  return lowered;
}

/// Moves the expected sizes of symbols to those of their tiers, then to the very sizes: what a
/// program is must not depend on which sizes of a class come first. False where all are there.
bool ExecutableImpl::refine(Bindings &expected, const std::vector<std::string> &symbols,
                            const Bindings &sizes) const {
  bool refined = false;
  for (const std::string &symbol : symbols) {
    auto declared = std::find_if(interface_.symbols.begin(), interface_.symbols.end(),
                                 [&](const Symbol &s) { return s.name == symbol; });
    if (declared == interface_.symbols.end()) continue;  // a stride
    std::int64_t size = sizes.at(symbol), of_tier = tier_length(size);
    of_tier = std::min(of_tier, declared->bounds.max);
    std::int64_t next = expected[symbol] == of_tier ? size : of_tier;
    refined |= expected[symbol] != size && next != expected[symbol];
    if (expected[symbol] != size) expected[symbol] = next;
  }
  return refined;
}

Lowered ExecutableImpl::lower_for(const VariantClass &arguments, const Bindings &sizes) const {
  LowerOptions options = lowering_of(arguments);
  options.divisors = divisors_of(sizes);
  options.narrow_offsets = true;
  if (first_) refine(options.sizes, tiered_, sizes);
  for (;;) {
    Lowered lowered = lower(options);
    const Limit *limit = broken_limit(lowered.program, sizes);
    const SizeRange *range = broken_range(lowered.program, sizes);
    if (!limit && !range) return lowered;
    if (limit && limit->kind == Limit::Kind::NotEmpty) {
      for (const std::string &symbol : symbols_of(limit->value))
        options.fixed[symbol] = sizes.at(symbol);
      continue;
    }
    if (limit && limit->kind == Limit::Kind::Offsets && options.narrow_offsets) {
      options.narrow_offsets = false;
      continue;
    }
    if (!refine(options.sizes, symbols_of(limit ? limit->value : range->value), sizes))
      return lowered;
  }
}

/// Rows that no chip holds are streamed, by element: right for all sizes.
Lowered ExecutableImpl::lower_for_all_sizes() const {
  LowerOptions options = lowering_of(general_class());
  Bindings longest;
  for (const Symbol &s : interface_.symbols) longest[s.name] = s.bounds.max;
  for (;;) {
    Lowered lowered = lower(options);
    lowered.program.ranges.clear();
    bool refined = false;
    for (const Limit &limit : lowered.program.limits)
      for (const std::string &symbol : symbols_of(limit.value)) {
        std::int64_t beyond = std::min(tier_length(longest[symbol]), longest[symbol]);
        refined |= std::exchange(options.sizes[symbol], beyond) != beyond;
      }
    if (!refined) return lowered;
  }
}

std::shared_ptr<const Variant> ExecutableImpl::build(const VariantClass &arguments,
                                                     const Bindings &sizes) const {
  bool is_general = options_.no_recompile && arguments == general_class();
  Lowered lowered = is_general ? lower_for_all_sizes() : lower_for(arguments, sizes);
  share_memory(lowered.program, in_place_);
  return std::make_shared<const Variant>(std::move(lowered), arguments, target_, executor_);
}

std::string ExecutableImpl::reason_for(const VariantClass &arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].shifted)
      return fmt::format("{} and others are shifted alike", argument(i).name);
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

std::shared_ptr<const BoundLaunch> ExecutableImpl::bind_now(const ArgumentFacts *facts,
                                                            const std::int64_t *values,
                                                            const Context &context,
                                                            std::vector<std::int64_t> key) const {
  VariantClass arguments;
  Bindings sizes = solver_.bindings(values), all = sizes;
  for (std::size_t i = 0; i < num_arguments(); ++i) {
    arguments.push_back(facts[i].kind);
    if (facts[i].kind.strided) add_strides(i, facts[i], sizes);
    // The general variant takes strides, whatever they are.
    if (general_ && !argument(i).is_scalar) add_strides(i, facts[i], all);
  }
  all.insert(sizes.begin(), sizes.end());
  return std::make_shared<BoundLaunch>(variant_of(arguments, sizes), std::move(all), context,
                                       std::move(key));
}

std::shared_ptr<const Variant> ExecutableImpl::variant_of(const VariantClass &arguments,
                                                          const Bindings &sizes) const {
  if (!general_) return variants_.get(arguments, sizes, reason_for(arguments), true);
  if (auto variant = variants_.find(arguments, sizes)) return variant;
  return variants_.get(general_class(), sizes, reason_for(arguments), false);
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
  if (executor_ == Executor::Host)
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
  if (used != options.strides.size()) fail_strides(options);
  if (executor_ == Executor::Host) return find_or_bind(facts.data(), values.data(), {});
  Context context = context_of(options.stream, options.device);
  ContextScope scope(context.handle);
  return find_or_bind(facts.data(), values.data(), context);
}

std::shared_ptr<const BoundLaunch> ExecutableImpl::inspect(const Dims &dims) const {
  std::vector<std::int64_t> values = solver_.values_of(dims);
  std::vector<ArgumentFacts> facts(num_arguments());
  for (std::size_t i = 0; i < facts.size(); ++i)
    facts[i] = facts_of(i, nullptr, ArgumentClass{}.alignment, values.data());
  return bind_now(facts.data(), values.data(), {}, {});
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
