// Code of a variant: host kernels at once, machine code when a context first needs it.
#include "runtime/variant.h"

#include "codegen/codegen.h"
#include "ir/bulk.h"
#include "ir/env.h"
#include "ir/format.h"
#include "runtime/build_id.h"
#include "runtime/disk_cache.h"

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

/// The kernel, from the disk cache where it has it; `from_disk` stays true only then.
HostKernel host_kernel_of(const Kernel &kernel, const Target &target, bool &from_disk) {
  DiskCache &cache = DiskCache::process();
  if (cache.folder().empty()) {
    from_disk = false;
    return HostKernel(kernel, target);
  }
  std::string key = host_key(kernel, target);
  if (std::optional<std::string> stored = cache.load(key)) return HostKernel::link(*stored);
  from_disk = false;
  std::string compiled = compile_host_kernel(kernel, target);
  cache.store(key, compiled);
  return HostKernel::link(compiled);
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

Variant::Variant(Lowered lowered, VariantClass arguments, const Target &target, Executor executor)
    : program_(std::move(lowered.program)),
      arguments_(std::move(arguments)),
      plan_from_disk_(lowered.from_disk) {
  if (executor == Executor::Host) compile_for_host(target);
  if (executor != Executor::Gpu || program_.kernels.empty()) return;
  ptx_ = ptx_of(program_.kernels, target, &code_from_disk_);
  dump("ptx", program_.name, ptx_);
}

void Variant::compile_for_host(const Target &target) {
  code_from_disk_ = !program_.kernels.empty();
  for (const Kernel &k : program_.kernels)
    host_kernels_.push_back(host_kernel_of(k, target, code_from_disk_));
}

std::string Variant::origin() const {
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

const std::vector<CUfunction> &Variant::functions(const Context &context) const {
  std::lock_guard lock(mutex_);
  auto it = functions_.find(context.id);
  if (it != functions_.end()) return it->second;
  std::vector<FunctionSettings> all;
  for (std::size_t i = 0; i < program_.kernels.size(); ++i) all.push_back(settings(i));
  std::vector<CUfunction> loaded;
  if (!all.empty())
    loaded = load_functions(context, assemble(ptx_, compute_capability(context)), all);
  return functions_[context.id] = std::move(loaded);
}

FunctionSettings Variant::settings(std::size_t kernel) const {
  const Kernel &k = program_.kernels[kernel];
  return {k.name, k.threads, k.cluster, dynamic_shared_bytes(k)};
}

}  // namespace fuse
