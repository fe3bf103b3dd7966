// Code of a variant: host kernels at once, machine code when a context first needs it.
#include "runtime/variant.h"

#include "ir/bulk.h"
#include "ir/env.h"
#include "ir/format.h"
#include "runtime/worker.h"

#include <utility>

namespace fuse {

using namespace cuda;

namespace {

std::int64_t value_of(const Index &index, const Bindings &sizes) {
  return evaluate(index, [&](const Atom &atom) { return sizes.at(atom.symbol); });
}

}  // namespace

const Limit *broken_limit(const Program &program, const Bindings &sizes) {
  for (const Limit &limit : program.limits)
    if (value_of(limit.value, sizes) > limit.max) return &limit;
  return nullptr;
}

const SizeRange *broken_range(const Program &program, const Bindings &sizes) {
  for (const SizeRange &range : program.ranges) {
    std::int64_t value = value_of(range.value, sizes);
    if (value < range.min || value > range.max) return &range;
  }
  return nullptr;
}

Machine machine_of(const Target &target, Executor executor) {
  bool is_host =
      executor == Executor::Host || (executor == Executor::None && target.name == "host");
  return {target, executor, is_host ? CodeKind::Host : CodeKind::Gpu};
}

Variant::Variant(Lowered lowered, VariantClass arguments, const Machine &machine)
    : program_(std::move(lowered.program)),
      arguments_(std::move(arguments)),
      machine_(machine),
      plan_from_disk_(lowered.from_disk) {}

Variant::Variant(Program program, VariantClass arguments, const Machine &machine, VariantCode code)
    : program_(std::move(program)),
      arguments_(std::move(arguments)),
      machine_(machine),
      has_code_(true),
      code_(std::move(code)) {}

/// With mutex_ held.
void Variant::generate(unsigned threads) const {
  if (has_code_) return;
  const std::vector<Kernel> &kernels = program_.kernels;
  Making making{threads ? threads : machine_.threads};
  VariantCode code;
  if (machine_.code == CodeKind::Host) {
    code.host = host_code_of(kernels, machine_.target, making);
  } else {
    for (std::string &ptx : ptx_of(kernels, machine_.target, making)) {
      dump("ptx", kernels[code.gpu.size()].name, ptx);
      code.gpu.push_back({std::move(ptx), {}});
    }
  }
  code_ = std::move(code);
  code_from_disk_ = making.from_disk && !kernels.empty();
  has_code_ = true;
}

/// With mutex_ held.
void Variant::link_for_host() const {
  if (!host_kernels_.empty()) return;
  std::vector<HostKernel> linked;
  for (const std::string &compiled : code_.host) linked.push_back(HostKernel::link(compiled));
  host_kernels_ = std::move(linked);
}

void Variant::prepare(unsigned threads) const {
  if (machine_.executor == Executor::None) return;
  std::lock_guard lock(mutex_);
  generate(threads);
  if (machine_.executor == Executor::Host) link_for_host();
}

VariantCode Variant::code(unsigned threads) const {
  std::lock_guard lock(mutex_);
  generate(threads);
  return code_;
}

const std::vector<HostKernel> &Variant::host_kernels() const {
  std::lock_guard lock(mutex_);
  if (host_kernels_.empty() && !code_.host.empty()) run_on_worker([&] { link_for_host(); });
  return host_kernels_;
}

std::string Variant::origin() const {
  std::lock_guard lock(mutex_);
  if (plan_from_disk_ && code_from_disk_) return "plan and code from disk";
  if (plan_from_disk_) return "plan from disk";
  return code_from_disk_ ? "code from disk" : "";
}

std::string Variant::objection(const Bindings &sizes) const {
  if (const SizeRange *range = broken_range(program_, sizes)) {
    std::string text = to_string(range->value, [](const Atom &) { return std::string(); });
    std::int64_t value = value_of(range->value, sizes);
    return range->max == INT64_MAX
               ? fmt::format("{} = {} is below {}", text, value, range->min)
               : fmt::format("{} = {} is outside {} to {}", text, value, range->min, range->max);
  }
  const Limit *limit = broken_limit(sizes);
  return limit ? "sizes beyond a limit: " + limit->why : "";
}

const std::vector<CUfunction> &Variant::functions(const Context &context, unsigned threads) const {
  std::lock_guard lock(mutex_);
  auto it = functions_.find(context.id);
  if (it != functions_.end()) return it->second;
  std::vector<CUfunction> loaded;
  for (const std::string *cubin :
       cubins_of(code_.gpu, context, threads ? threads : machine_.threads))
    loaded.push_back(load_function(context, *cubin, settings(loaded.size())));
  return functions_[context.id] = std::move(loaded);
}

FunctionSettings Variant::settings(std::size_t kernel) const {
  const Kernel &k = program_.kernels[kernel];
  return {k.name, k.threads, k.cluster, dynamic_shared_bytes(k)};
}

}  // namespace fuse
