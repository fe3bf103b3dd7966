#include "runtime/kernel_code.h"

#include "codegen/codegen.h"
#include "codegen/host.h"
#include "ir/format.h"
#include "runtime/build_id.h"
#include "runtime/disk_cache.h"
#include "runtime/module.h"
#include "runtime/worker.h"

#include <algorithm>
#include <functional>

namespace fuse {

namespace {

using ByNumber = std::function<std::string(std::size_t)>;

/// Everything that the PTX depends on.
std::string ptx_key(const Kernel &kernel, const Target &target) {
  return fmt::format("ptx {} sm_{} isa {}\n{}", library_build(), target.sm, target.ptx,
                     to_string(kernel));
}

/// Everything that a compiled host kernel depends on.
std::string host_key(const Kernel &kernel, const Target &target) {
  return fmt::format("host {} cpu {} sm_{} isa {}\n{}", library_build(), host_cpu(), target.sm,
                     target.ptx, to_string(kernel));
}

/// One is not worth a thread.
void run_at_once(const std::vector<std::size_t> &numbers, unsigned threads,
                 const std::function<void(std::size_t)> &function) {
  if (numbers.size() == 1) return function(numbers[0]);
  run_on_workers(numbers.size(), threads, [&](std::size_t i) { function(numbers[i]); });
}

/// `count` texts from the disk cache, or made and stored there.
std::vector<std::string> cached(std::size_t count, const ByNumber &key, const ByNumber &make,
                                Making &making) {
  DiskCache &cache = DiskCache::process();
  bool has_cache = !cache.folder().empty();
  std::vector<std::string> texts(count), keys(count);
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < count; ++i) {
    if (has_cache) keys[i] = key(i);
    if (std::optional<std::string> stored = cache.load(keys[i]))
      texts[i] = std::move(*stored);
    else
      missing.push_back(i);
  }
  making.from_disk = missing.empty();
  run_at_once(missing, making.threads, [&](std::size_t i) {
    texts[i] = make(i);
    cache.store(keys[i], texts[i]);
  });
  return texts;
}

int compute_capability(const Context &context) {
  using namespace cuda;
  int device = device_of(context.handle), major = 0, minor = 0;
  FUSE_CUDA(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  FUSE_CUDA(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return 10 * major + minor;
}

}  // namespace

const Cubin *GpuCode::find(int sm, int driver) const {
  auto serves = [&](const Cubin &cubin) { return cubin.sm == sm && cubin.driver <= driver; };
  auto it = std::find_if(cubins.begin(), cubins.end(), serves);
  return it == cubins.end() ? nullptr : &*it;
}

std::vector<std::string> ptx_of(const std::vector<Kernel> &kernels, const Target &target,
                                Making &making) {
  return cached(
      kernels.size(), [&](std::size_t i) { return ptx_key(kernels[i], target); },
      [&](std::size_t i) { return emit_ptx({&kernels[i]}, target); }, making);
}

std::vector<std::string> host_code_of(const std::vector<Kernel> &kernels, const Target &target,
                                      Making &making) {
  return cached(
      kernels.size(), [&](std::size_t i) { return host_key(kernels[i], target); },
      [&](std::size_t i) { return compile_host_kernel(kernels[i], target); }, making);
}

std::vector<const std::string *> cubins_of(std::vector<GpuCode> &kernels, const Context &context,
                                           unsigned threads) {
  int sm = compute_capability(context), version = driver().version;
  std::vector<GpuCode *> lacking;
  for (GpuCode &kernel : kernels)
    if (!kernel.find(sm, version)) lacking.push_back(&kernel);
  Making making{threads};
  std::vector<std::string> images = cached(
      lacking.size(),
      [&](std::size_t i) {
        return fmt::format("cubin sm_{} driver {}\n{}", sm, version, lacking[i]->ptx);
      },
      [&](std::size_t i) {
        ContextScope scope(context.handle);
        return assemble(lacking[i]->ptx);
      },
      making);
  for (std::size_t i = 0; i < lacking.size(); ++i)
    lacking[i]->cubins.push_back({sm, version, std::move(images[i])});
  std::vector<const std::string *> all;
  for (const GpuCode &kernel : kernels) all.push_back(&kernel.find(sm, version)->image);
  return all;
}

}  // namespace fuse
