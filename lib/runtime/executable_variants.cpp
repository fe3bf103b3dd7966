// Programs for classes of sizes: which one serves a launch, and how the planner is asked for it.
#include "ir/format.h"
#include "passes/size_class.h"
#include "runtime/executable_impl.h"
#include "runtime/tune_device.h"

#include <algorithm>
#include <utility>

FUSE_BEGIN_NAMESPACE

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
  Lowered lowered = source_.lower(options);
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

/// Leaves the options that led to the program.
Lowered ExecutableImpl::lower_for(const VariantClass &arguments, const Bindings &sizes,
                                  LowerOptions &options) const {
  options = lowering_of(arguments);
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

/// The same, with what measurements say of its mappings.
Lowered ExecutableImpl::lower_tuned(const VariantClass &arguments, const Bindings &sizes) const {
  LowerOptions options;
  Lowered by_rule = lower_for(arguments, sizes, options);
  bool is_tunable = options_.tune && source_.plan && machine_.executor == Executor::Gpu &&
                    options.fixed.empty() && !by_rule.program.kernels.empty();
  if (!is_tunable) return by_rule;
  TuneCase launches{arguments, sizes, machine_, options_.device};
  std::vector<TunedKernel> kernels = tune_cached(by_rule.program, source_.plan(options), launches);
  options.tunings = tunings_of(kernels);
  Lowered tuned = lower(options);
  add_decisions(kernels, tuned.program.plan);
  return tuned;
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
  Lowered lowered = is_general ? lower_for_all_sizes() : lower_tuned(arguments, sizes);
  share_memory(lowered.program, in_place_);
  return std::make_shared<const Variant>(std::move(lowered), arguments, machine_);
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

std::shared_ptr<const Variant> ExecutableImpl::variant_of(const VariantClass &arguments,
                                                          const Bindings &sizes) const {
  if (!options_.no_recompile) return variants_.get(arguments, sizes, reason_for(arguments), true);
  if (auto variant = variants_.find(arguments, sizes)) return variant;
  return variants_.get(general_ ? general_class() : arguments, sizes, reason_for(arguments), false);
}

/// "prepared for B = 8: x is strided".
std::string ExecutableImpl::reason_to_prepare(const Demand &demand) const {
  std::string text = "prepared";
  for (std::size_t i = 0; i < interface_.symbols.size(); ++i) {
    const std::string &name = interface_.symbols[i].name;
    append(text, "{} {} = {}", i ? "," : " for", name, demand.sizes.at(name));
  }
  if (demand.arguments != VariantClass(num_arguments()))
    append(text, ": {}", reason_for(demand.arguments));
  return text;
}

std::vector<Compilation> ExecutableImpl::prepare(const std::vector<Dims> &sizes,
                                                 const PrepareOptions &options) const {
  std::vector<VariantSet::Request> requests;
  for (const Dims &dims : sizes) {
    std::vector<std::int64_t> values = solver_.values_of(dims);
    Demand demand = demand_of(facts_of(values.data(), options.arguments).data(), values.data());
    std::string reason = reason_to_prepare(demand);
    requests.push_back({std::move(demand.arguments), std::move(demand.sizes), std::move(reason)});
  }
  Context context;
  if (machine_.executor == Executor::Gpu)
    context = context_of(options.arguments.stream, options.arguments.device);
  auto use = [&](const Variant &variant, unsigned threads) {
    if (machine_.executor == Executor::None) variant.code(threads);
    if (machine_.executor != Executor::Gpu) return;
    ContextScope scope(context.handle);
    variant.functions(context, threads);
  };
  std::vector<Compilation> done = variants_.prepare(requests, options.threads, use);
  for (const auto &other : others_)
    for (Compilation &c : other->prepare(sizes, options)) done.push_back(std::move(c));
  return done;
}

void ExecutableImpl::add_target(std::shared_ptr<const ExecutableImpl> other) {
  others_.push_back(std::move(other));
}

FUSE_END_NAMESPACE
