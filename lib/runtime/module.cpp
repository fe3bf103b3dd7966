// Assembling and loading. Both run with the relaxed capture mode, so that the first call of an
// Executable may come while its stream is captured.
#include "runtime/module.h"

#include "ir/format.h"
#include "runtime/hash.h"

#include <memory>
#include <mutex>

namespace fuse {

using namespace cuda;

namespace {

/// A link in progress with its logs.
class Link {
 public:
  Link() {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *size = reinterpret_cast<void *>(std::uintptr_t{kLogBytes});
    void *values[] = {error_log_, size, info_log_, size};
    FUSE_CUDA(cuLinkCreate, 4, options, values, &state_);
  }
  ~Link() { driver().cuLinkDestroy(state_); }
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;

  void add_ptx(const std::string &ptx) {
    void *data = const_cast<char *>(ptx.c_str());
    require(driver().cuLinkAddData(state_, CU_JIT_INPUT_PTX, data, ptx.size() + 1, "fuse", 0,
                                   nullptr, nullptr),
            "cuLinkAddData");
  }

  std::string complete() {
    void *cubin = nullptr;
    std::size_t bytes = 0;
    require(driver().cuLinkComplete(state_, &cubin, &bytes), "cuLinkComplete");
    return std::string(static_cast<const char *>(cubin), bytes);
  }

 private:
  static constexpr std::size_t kLogBytes = 8192;

  void require(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS) return;
    error_log_[kLogBytes - 1] = info_log_[kLogBytes - 1] = '\0';
    fail_driver(driver(), result, call, std::string(error_log_) + info_log_);
  }

  CUlinkState state_ = nullptr;
  char error_log_[kLogBytes] = "", info_log_[kLogBytes] = "";
};

struct ModuleKey {
  std::uint64_t context, lo, hi;
  auto operator<=>(const ModuleKey &) const = default;
};

/// Modules of this process by context and content. Never destroyed, see the header.
struct Registry {
  std::mutex mutex;
  std::map<ModuleKey, CUmodule> modules;
};

CUmodule load_module(const Context &context, const std::string &cubin) {
  static Registry &registry = *new Registry;
  Hash128 hash = hash128(cubin);
  std::lock_guard lock(registry.mutex);
  CUmodule &module = registry.modules[{context.id, hash.lo, hash.hi}];
  if (!module) FUSE_CUDA(cuModuleLoadData, &module, cubin.data());
  return module;
}

int attribute(CUfunction_attribute which, CUfunction function) {
  int value = 0;
  FUSE_CUDA(cuFuncGetAttribute, &value, which, function);
  return value;
}

void apply(const FunctionSettings &settings, CUfunction function) {
  // Clusters of more than 8 blocks are legal on some devices only, and must be asked for.
  if (settings.cluster > 8)
    FUSE_CUDA(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (settings.dynamic_shared_bytes > 0)
    FUSE_CUDA(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              static_cast<int>(settings.dynamic_shared_bytes));
}

int device_attribute(CUdevice_attribute which) {
  CUdevice device = 0;
  int value = 0;
  FUSE_CUDA(cuCtxGetDevice, &device);
  FUSE_CUDA(cuDeviceGetAttribute, &value, which, device);
  return value;
}

/// Of the threads that the current context's device holds, the part that blocks of the kernel fill.
double occupancy_of(CUfunction function, const FunctionSettings &settings, int blocks_per_sm) {
  double blocks = blocks_per_sm;
  if (settings.cluster > 1)
    blocks = static_cast<double>(max_active_clusters(function, settings)) * settings.cluster /
             device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  int warps = (settings.threads + 31) / 32;
  return blocks * 32 * warps / device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
}

}  // namespace

std::string assemble(const std::string &ptx) {
  RelaxedCapture relaxed;
  Link link;
  link.add_ptx(ptx);
  return link.complete();
}

CUfunction load_function(const Context &context, const std::string &cubin,
                         const FunctionSettings &settings) {
  RelaxedCapture relaxed;
  CUfunction function = nullptr;
  FUSE_CUDA(cuModuleGetFunction, &function, load_module(context, cubin), settings.name.c_str());
  apply(settings, function);
  return function;
}

int max_active_clusters(CUfunction function, const FunctionSettings &settings) {
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.cluster = {static_cast<unsigned>(settings.cluster), 1, 1};
  CUlaunchConfig config{};
  config.grid_x = 1024 * static_cast<unsigned>(settings.cluster);  // more than any device holds
  config.grid_y = config.grid_z = 1;
  config.block_x = static_cast<unsigned>(settings.threads);
  config.block_y = config.block_z = 1;
  config.shared_bytes = static_cast<unsigned>(settings.dynamic_shared_bytes);
  config.attributes = &cluster;
  config.num_attributes = 1;
  int clusters = 0;
  FUSE_CUDA(cuOccupancyMaxActiveClusters, &clusters, function, &config);
  return clusters;
}

FunctionFacts facts_of(CUfunction function, const FunctionSettings &settings) {
  FunctionFacts facts;
  facts.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  facts.spill_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
  facts.shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) +
                       static_cast<int>(settings.dynamic_shared_bytes);
  FUSE_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor, &facts.blocks_per_sm, function,
            settings.threads, static_cast<std::size_t>(settings.dynamic_shared_bytes));
  facts.occupancy = occupancy_of(function, settings, facts.blocks_per_sm);
  return facts;
}

}  // namespace fuse
