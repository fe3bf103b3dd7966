// Contexts are never released: code and streams of others may use them until the process ends.
#include "runtime/device.h"

#include "ir/format.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

namespace fuse {

using namespace cuda;

namespace {

int attribute(CUdevice_attribute which, CUdevice device) {
  int value = 0;
  FUSE_CUDA(cuDeviceGetAttribute, &value, which, device);
  return value;
}

CUdevice device_handle(int ordinal) {
  int count = device_count();
  if (ordinal < 0 || ordinal >= count)
    fail(ErrorCode::InvalidArgument, "device {} of {} does not exist", ordinal, count);
  CUdevice device = 0;
  FUSE_CUDA(cuDeviceGet, &device, ordinal);
  return device;
}

std::string device_name(CUdevice device) {
  char name[256] = "";
  FUSE_CUDA(cuDeviceGetName, name, sizeof name, device);
  return name;
}

/// "NVIDIA H200" -> "h200": the known target whose name is a word of the device's name.
std::string known_target(const std::string &device_name) {
  std::string words = " ";
  for (char c : device_name)
    words += std::isalnum(static_cast<unsigned char>(c))
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                 : ' ';
  words += " ";
  for (const std::string &name : Target::names())
    if (words.find(" " + name + " ") != std::string::npos) return name;
  return {};
}

/// Rates that attributes do not tell are taken per SM from the nearest known generation.
Target estimated_target(CUdevice device, int sm) {
  Target t = Target::named(sm >= 100 ? "b200" : sm >= 90 ? "h100" : "a100");
  double old_rate = t.num_sms * t.clock_hz;
  t.num_sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  t.clock_hz = 1e3 * attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
  t.l2_bytes *= t.num_sms * t.clock_hz / old_rate;
  t.l2_capacity = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
  // Two transfers a clock; a copy reaches about nine tenths of the bus.
  double bus_bytes = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device) / 8.0;
  double clock = 1e3 * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device);
  if (bus_bytes > 0 && clock > 0) t.hbm_bytes = 0.9 * 2 * clock * bus_bytes;
  return t;
}

void apply_limits(Target &t, CUdevice device) {
  t.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
  t.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, device);
  t.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
  t.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device);
  t.shared_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device);
  t.shared_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
}

int minimum_ptx(int sm) {
  if (sm >= 120) return 87;
  if (sm > 100) return 88;
  if (sm == 100) return 86;
  return sm >= 89 ? 78 : 71;
}

}  // namespace

int device_count() {
  int count = 0;
  FUSE_CUDA(cuDeviceGetCount, &count);
  return count;
}

CUcontext primary_context(int device) {
  static std::mutex mutex;
  static std::map<int, CUcontext> &contexts = *new std::map<int, CUcontext>;
  std::lock_guard lock(mutex);
  CUcontext &context = contexts[device];
  if (!context) FUSE_CUDA(cuDevicePrimaryCtxRetain, &context, device_handle(device));
  return context;
}

Context context_of(CUstream stream, int device) {
  Context context;
  if (stream)
    FUSE_CUDA(cuStreamGetCtx, stream, &context.handle);
  else
    FUSE_CUDA(cuCtxGetCurrent, &context.handle);
  if (!context.handle) context.handle = primary_context(device);
  unsigned long long id = 0;
  FUSE_CUDA(cuCtxGetId, context.handle, &id);
  context.id = id;
  return context;
}

ContextScope::ContextScope(CUcontext context) {
  CUcontext current = nullptr;
  FUSE_CUDA(cuCtxGetCurrent, &current);
  if (current == context) return;
  FUSE_CUDA(cuCtxPushCurrent, context);
  pushed_ = true;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) driver().cuCtxPopCurrent(&popped);
}

RelaxedCapture::RelaxedCapture() { FUSE_CUDA(cuThreadExchangeStreamCaptureMode, &mode_); }

RelaxedCapture::~RelaxedCapture() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }

int device_of(CUcontext context) {
  ContextScope scope(context);
  CUdevice device = 0;
  FUSE_CUDA(cuCtxGetDevice, &device);
  return device;
}

Target target_of(int ordinal) {
  CUdevice device = device_handle(ordinal);
  std::string name = device_name(device);
  int sm = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) +
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (sm < 80)
    fail(ErrorCode::Unsupported, "{} has compute capability {}.{}: fuse needs 8.0 or later", name,
         sm / 10, sm % 10);
  std::string known = known_target(name);
  Target t = known.empty() ? estimated_target(device, sm) : Target::named(known);
  if (known.empty()) {
    t.name = name;
    t.measured = false;
  }
  t.sm = sm;
  t.num_sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  apply_limits(t, device);
  t.max_cluster = sm >= 90 ? (sm < 120 ? 16 : 8) : 1;
  t.ptx = ptx_version_of(driver().version);
  if (t.ptx < minimum_ptx(sm))
    fail(ErrorCode::Unsupported, "the driver of CUDA {}.{} is too old for {}: update it",
         driver().version / 1000, driver().version % 1000 / 10, name);
  t.parameter_bytes = sm >= 70 && t.ptx >= 81 ? 32764 : 4096;
  return t;
}

int ptx_version_of(int cuda_version) {
  struct Row {
    int cuda, ptx;
  };
  constexpr Row kRows[] = {{13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85},
                           {12040, 84}, {12030, 83}, {12020, 82}, {12010, 81}, {12000, 80}};
  for (const Row &row : kRows)
    if (cuda_version >= row.cuda) return row.ptx;
  fail(ErrorCode::NoDevice, "the driver is of CUDA {}.{}: fuse needs 12.0 or later",
       cuda_version / 1000, cuda_version % 1000 / 10);
}

}  // namespace fuse
