// Code of a variant: host kernels at once, machine code when a context first needs it.
#include "runtime/variant.h"

#include "codegen/codegen.h"
#include "ir/bulk.h"
#include "ir/env.h"
#include "ir/format.h"
#include "runtime/build_id.h"
#include "runtime/disk_cache.h"
#include "runtime/worker.h"

#include <utility>

namespace fuse {

using namespace cuda;

namespace {

/// Everything that the PTX depends on.
std::string ptx_key(const std::vector<Kernel> &kernels, const Target &target) {
  std::string key = fmt::format("ptx {} sm_{} isa {}\n", library_build(), target.sm, target.ptx);
  for (const Kernel &k : kernels) key += to_string(k);
  return key;
}

/// Everything that a compiled host kernel depends on.
std::string host_key(const Kernel &kernel, const Target &target) {
  return fmt::format("host {} cpu {} sm_{} isa {}\n{}", library_build(), host_cpu(), target.sm,
                     target.ptx, to_string(kernel));
}

/// The kernel compiled, from the disk cache where it has it; `from_disk` stays true only then.
std::string host_code_of(const Kernel &kernel, const Target &target, bool &from_disk) {
  DiskCache &cache = DiskCache::process();
  std::string key = cache.folder().empty() ? "" : host_key(kernel, target);
  if (std::optional<std::string> stored = cache.load(key)) return *stored;
  from_disk = false;
  std::string compiled = compile_host_kernel(kernel, target);
  cache.store(key, compiled);
  return compiled;
}

std::int64_t value_of(const Index &index, const Bindings &sizes) {
  return evaluate(index, [&](const Atom &atom) { return sizes.at(atom.symbol); });
}

int compute_capability(const Context &context) {
  int device = device_of(context.handle), major = 0, minor = 0;
  FUSE_CUDA(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  FUSE_CUDA(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * major + minor;
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

std::string ptx_of(const std::vector<Kernel> &kernels, const Target &target, bool *from_disk) {
  std::string key = ptx_key(kernels, target);
  std::optional<std::string> stored = DiskCache::process().load(key);
  if (from_disk) *from_disk = stored.has_value();
  if (stored) return *stored;
  std::vector<const Kernel *> pointers;
  for (const Kernel &k : kernels) pointers.push_back(&k);
  std::string ptx = emit_ptx(pointers, target);
  DiskCache::process().store(key, ptx);
  return ptx;
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
void Variant::generate() const {
  if (std::exchange(has_code_, true)) return;
  try {
    code_from_disk_ = !program_.kernels.empty();
    if (machine_.code == CodeKind::Host) {
      for (const Kernel &k : program_.kernels)
        code_.host.push_back(host_code_of(k, machine_.target, code_from_disk_));
    } else if (!program_.kernels.empty()) {
      code_.ptx = ptx_of(program_.kernels, machine_.target, &code_from_disk_);
      dump("ptx", program_.name, code_.ptx);
    }
  } catch (...) {
    has_code_ = false;
    code_ = {};
    throw;
  }
}

/// With mutex_ held.
void Variant::link_for_host() const {
  if (!host_kernels_.empty()) return;
  std::vector<HostKernel> linked;
  for (const std::string &compiled : code_.host) linked.push_back(HostKernel::link(compiled));
  host_kernels_ = std::move(linked);
}

void Variant::prepare() const {
  if (machine_.executor == Executor::None) return;
  std::lock_guard lock(mutex_);
  generate();
  if (machine_.executor == Executor::Host) link_for_host();
}

VariantCode Variant::code() const {
  std::lock_guard lock(mutex_);
  generate();
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

/// With mutex_ held. A driver loads what an earlier one assembled for the same device.
const std::string &Variant::cubin_for(int sm) const {
  for (const Cubin &cubin : code_.cubins)
    if (cubin.sm == sm && cubin.driver <= driver().version) return cubin.image;
  return code_.cubins.emplace_back(sm, driver().version, assemble_cached(code_.ptx, sm)).image;
}

const std::vector<CUfunction> &Variant::functions(const Context &context) const {
  std::lock_guard lock(mutex_);
  auto it = functions_.find(context.id);
  if (it != functions_.end()) return it->second;
  std::vector<FunctionSettings> all;
  for (std::size_t i = 0; i < program_.kernels.size(); ++i) all.push_back(settings(i));
  std::vector<CUfunction> loaded;
  if (!all.empty()) loaded = load_functions(context, cubin_for(compute_capability(context)), all);
  return functions_[context.id] = std::move(loaded);
}

FunctionSettings Variant::settings(std::size_t kernel) const {
  const Kernel &k = program_.kernels[kernel];
  return {k.name, k.threads, k.cluster, dynamic_shared_bytes(k)};
}

}  // namespace fuse
