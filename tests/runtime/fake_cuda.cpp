// A CUDA driver for tests: host memory for device memory, streams that are always done, modules
// that hold their PTX. Every call is recorded. PTX that contains "reject" does not assemble.
#define FAKE_CUDA ""
#include "fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

using namespace fuse::cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

// Never destroyed, as a driver is not: programs call it from static destructors.
EXPORT FakeCuda *fake_cuda_controls;
FakeCuda *fake_cuda_controls = new FakeCuda;

struct CUlinkState_st {
  std::string image;
  char *error_log = nullptr;
};
struct CUmod_st {
  std::string image;
  std::map<std::string, CUfunc_st> functions;
};
struct CUfunc_st {
  std::string name;
};
struct CUgraphNode_st {
  CUfunction function;
  unsigned grid, threads;
};
struct CUgraph_st {
  std::vector<CUgraphNode_st> nodes;
};

namespace {

FakeCuda &fake = *fake_cuda_controls;
std::mutex &mutex = *new std::mutex;
constexpr int kMaxDevices = 4;
char context_objects[kMaxDevices], stream_object;  // one context for each device
constexpr int kMaxDepth = 16;
thread_local CUcontext stack[kMaxDepth];
thread_local int depth = 0;     // of the stack
CUgraph_st *capture = nullptr;  // what launches go to
auto &blocks = *new std::map<unsigned long long, std::size_t>;

CUcontext current() { return depth == 0 ? nullptr : stack[depth - 1]; }

CUcontext context_of(CUdevice device) {
  return reinterpret_cast<CUcontext>(&context_objects[device]);
}

CUdevice device_of(CUcontext context) {
  return static_cast<CUdevice>(reinterpret_cast<char *>(context) - context_objects);
}

/// A driver that shuts down takes the memory of its contexts along.
void shut_down() {
  for (const auto &[address, bytes] : blocks) std::free(reinterpret_cast<void *>(address));
  blocks.clear();
  fake.live_bytes = 0;
}

/// Records the call; the result is what the test asked for.
CUresult record(const std::string &name, const std::string &details = "") {
  std::lock_guard lock(mutex);
  fake.calls.push_back(name + "(" + details + ")");
  if (fake.failing_call != name) return CUDA_SUCCESS;
  fake.failing_call.clear();
  if (fake.failing_result == CUDA_ERROR_DEINITIALIZED) shut_down();
  return static_cast<CUresult>(fake.failing_result);
}

int attribute(int which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return fake.major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return fake.minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return fake.num_sms;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1500000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 2000000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 4096;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 50 << 20;
    default: return 1024;  // threads of a block
  }
}

}  // namespace

EXPORT CUresult cuInit(unsigned) { return record("cuInit"); }
EXPORT CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return record("cuDriverGetVersion");
}
EXPORT CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "the test asked for it";
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return record("cuDeviceGet");
}
EXPORT CUresult cuDeviceGetCount(int *count) {
  *count = fake.num_devices;
  return record("cuDeviceGetCount");
}
EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  std::strncpy(name, fake.device_name.c_str(), static_cast<std::size_t>(size));
  return record("cuDeviceGetName");
}
EXPORT CUresult cuDeviceGetAttribute(int *value, int which, CUdevice) {
  *value = attribute(which);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = context_of(device);
  return record("cuDevicePrimaryCtxRetain");
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = current();
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  CUresult result = record("cuCtxPushCurrent");
  if (result == CUDA_SUCCESS) stack[depth++] = context;
  return result;
}
EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  *context = stack[--depth];
  return record("cuCtxPopCurrent");
}
EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
  *device = current() ? device_of(current()) : 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
  *id = fake.context_id + 100 * static_cast<unsigned long long>(device_of(context));
  return CUDA_SUCCESS;
}
EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, fake.capture_mode);
  return record("cuThreadExchangeStreamCaptureMode");
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(&stream_object);
  return record("cuStreamCreate");
}
EXPORT CUresult cuStreamDestroy_v2(CUstream) { return record("cuStreamDestroy"); }
EXPORT CUresult cuStreamGetCtx(CUstream, CUcontext *context) {
  *context = context_of(0);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamGetId(CUstream stream, unsigned long long *id) {
  if (fake.capture_id != 0) return static_cast<CUresult>(900);  // unsupported in a capture
  *id = reinterpret_cast<unsigned long long>(stream);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus *status,
                                          unsigned long long *id, void *, void *, std::size_t *) {
  *status = fake.capture_id ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = fake.capture_id;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamSynchronize(CUstream) { return record("cuStreamSynchronize"); }

// Events hold no time: what lies between two of them takes a millisecond.
EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = reinterpret_cast<CUevent>(&stream_object);
  return record("cuEventCreate");
}
EXPORT CUresult cuEventDestroy_v2(CUevent) { return record("cuEventDestroy"); }
EXPORT CUresult cuEventRecord(CUevent, CUstream) { return record("cuEventRecord"); }
EXPORT CUresult cuEventSynchronize(CUevent) { return record("cuEventSynchronize"); }
EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent) {
  *milliseconds = 1;
  return record("cuEventElapsedTime");
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, std::size_t bytes) {
  CUresult result = record("cuMemAlloc", std::to_string(bytes));
  if (result != CUDA_SUCCESS) return result;
  std::lock_guard lock(mutex);
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xAB, bytes);  // nothing is zero by luck
  *address = reinterpret_cast<CUdeviceptr>(memory);
  blocks[*address] = bytes;
  fake.live_bytes += static_cast<long long>(bytes);
  return result;
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  CUresult result = record("cuMemFree");
  if (result != CUDA_SUCCESS) return result;
  std::lock_guard lock(mutex);
  auto block = blocks.find(address);
  if (block == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  fake.live_bytes -= static_cast<long long>(block->second);
  blocks.erase(block);
  std::free(reinterpret_cast<void *>(address));
  return result;
}
EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, std::size_t n, CUstream) {
  std::memcpy(reinterpret_cast<void *>(to), from, n);
  return record("cuMemcpyHtoDAsync");
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, std::size_t n, CUstream) {
  std::memcpy(to, reinterpret_cast<void *>(from), n);
  return record("cuMemcpyDtoHAsync");
}
EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t n, CUstream) {
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), n);
  return record("cuMemcpyDtoDAsync");
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t n, CUstream) {
  std::memset(reinterpret_cast<void *>(to), value, n);
  return record("cuMemsetD8Async", std::to_string(n));
}

EXPORT CUresult cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *state) {
  *state = new CUlinkState_st;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) (*state)->error_log = static_cast<char *>(values[i]);
  return record("cuLinkCreate", "capture mode " + std::to_string(fake.capture_mode));
}
EXPORT CUresult cuLinkAddData_v2(CUlinkState state, int, void *data, std::size_t bytes,
                                 const char *, unsigned, int *, void **) {
  state->image.assign(static_cast<const char *>(data), bytes);
  CUresult result = record("cuLinkAddData");
  if (state->image.find("reject") == std::string::npos) return result;
  std::strcpy(state->error_log, "ptxas fatal: line 1: rejected");
  return static_cast<CUresult>(218);
}
EXPORT CUresult cuLinkComplete(CUlinkState state, void **cubin, std::size_t *bytes) {
  *cubin = state->image.data();
  *bytes = state->image.size();
  return record("cuLinkComplete");
}
EXPORT CUresult cuLinkDestroy(CUlinkState state) {
  delete state;
  return record("cuLinkDestroy");
}
EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  *module = new CUmod_st{static_cast<const char *>(image), {}};
  return record("cuModuleLoadData", "capture mode " + std::to_string(fake.capture_mode));
}
EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  std::lock_guard lock(mutex);
  *function = &module->functions[name];
  (*function)->name = name;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetAttribute(int *value, int which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 40 : 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncSetAttribute(CUfunction, int which, int value) {
  return record("cuFuncSetAttribute", std::to_string(which) + ", " + std::to_string(value));
}
EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_per_sm, CUfunction,
                                                            int threads, std::size_t) {
  *blocks_per_sm = 2048 / threads;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return record("cuModuleUnload");
}
EXPORT CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction, const CUlaunchConfig *) {
  *clusters = fake.num_clusters;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, unsigned, CUstream, void **, void **) {
  return record("cuLaunchKernel", function->name);
}

// A capture records kernels, and a graph of them runs nothing.
EXPORT CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  capture = new CUgraph_st;
  return record("cuStreamBeginCapture");
}
EXPORT CUresult cuStreamEndCapture(CUstream, CUgraph *graph) {
  *graph = std::exchange(capture, nullptr);
  return record("cuStreamEndCapture");
}
EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, std::size_t *count) {
  for (std::size_t i = 0; nodes && i < *count; ++i) nodes[i] = &graph->nodes[i];
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphNodeGetType(CUgraphNode, CUgraphNodeType *type) {
  *type = CU_GRAPH_NODE_TYPE_KERNEL;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUkernelNodeParams *parameters) {
  *parameters = {node->function, node->grid, 1,       1,      node->threads, 1, 1, 0,
                 nullptr,        nullptr,    nullptr, nullptr};
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph, unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(&stream_object);
  return record("cuGraphInstantiate");
}
EXPORT CUresult cuGraphLaunch(CUgraphExec, CUstream) { return record("cuGraphLaunch"); }
EXPORT CUresult cuGraphExecDestroy(CUgraphExec) { return record("cuGraphExecDestroy"); }
EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return record("cuGraphDestroy");
}
#ifndef FAKE_CUDA_OLD
EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                 void **arguments, void **) {
  unsigned cluster = 1;
  bool is_early = false;
  for (unsigned i = 0; i < config->num_attributes; ++i) {
    const CUlaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) cluster = attribute.value.cluster.x;
    is_early |= attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                attribute.value.programmatic_stream_serialization_allowed;
  }
  CUresult result = record("cuLaunchKernelEx", function->name);
  if (capture) capture->nodes.push_back({function, config->grid_x, config->block_x});
  if (result == CUDA_SUCCESS && fake.on_launch)
    fake.on_launch({function->name.c_str(), config->grid_x, config->block_x, cluster,
                    config->stream, arguments, is_early});
  return result;
}
#endif
