// Events around single runs. The flush keeps the GPU busy while the host enqueues the run behind
// it, so launch latency stays out of the time.
#include "runtime/gpu_timer.h"

#include <algorithm>
#include <vector>

namespace fuse {

using namespace cuda;

namespace {

constexpr int kWarmUps = 3;
constexpr std::size_t kCopyBytes = std::size_t{2} << 30, kLeastFlush = std::size_t{256} << 20;

std::size_t flush_bytes(int device) {
  int l2 = 0;
  FUSE_CUDA(cuDeviceGetAttribute, &l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
  return std::max(kLeastFlush, 2 * static_cast<std::size_t>(l2));
}

CUdeviceptr address(const DeviceBuffer &buffer) {
  return reinterpret_cast<CUdeviceptr>(buffer.data());
}

struct Events {
  Events() {
    FUSE_CUDA(cuEventCreate, &start, 0);
    FUSE_CUDA(cuEventCreate, &end, 0);
  }
  ~Events() {
    driver().cuEventDestroy(start);
    driver().cuEventDestroy(end);
  }
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;

  CUevent start = nullptr, end = nullptr;
};

}  // namespace

double seconds_on(CUstream stream, const std::function<void()> &work) {
  Events events;
  FUSE_CUDA(cuEventRecord, events.start, stream);
  work();
  FUSE_CUDA(cuEventRecord, events.end, stream);
  FUSE_CUDA(cuEventSynchronize, events.end);
  float milliseconds = 0;
  FUSE_CUDA(cuEventElapsedTime, &milliseconds, events.start, events.end);
  return 1e-3 * static_cast<double>(milliseconds);
}

GpuTimer::GpuTimer(int device, int runs)
    : runs_(runs), flushed_(DeviceBuffer::device(flush_bytes(device), device)) {
  FUSE_CUDA(cuEventCreate, &start_, 0);
  FUSE_CUDA(cuEventCreate, &end_, 0);
}

GpuTimer::~GpuTimer() {
  driver().cuEventDestroy(start_);
  driver().cuEventDestroy(end_);
}

void GpuTimer::flush() const {
  FUSE_CUDA(cuMemsetD8Async, address(flushed_), 0, flushed_.size(), nullptr);
}

double GpuTimer::median_us(const std::function<void()> &work) const {
  for (int i = 0; i < kWarmUps; ++i) work();
  std::vector<float> times;
  for (int i = 0; i < runs_; ++i) {
    flush();
    FUSE_CUDA(cuEventRecord, start_, nullptr);
    work();
    FUSE_CUDA(cuEventRecord, end_, nullptr);
    FUSE_CUDA(cuEventSynchronize, end_);
    FUSE_CUDA(cuEventElapsedTime, &times.emplace_back(), start_, end_);
  }
  std::nth_element(times.begin(), times.begin() + runs_ / 2, times.end());
  return 1e3 * static_cast<double>(times[static_cast<std::size_t>(runs_ / 2)]);
}

double GpuTimer::copy_bandwidth() const {
  DeviceBuffer from = DeviceBuffer::device(kCopyBytes), to = DeviceBuffer::device(kCopyBytes);
  // Not zeros: the memory's power draw, and with it the clock, can depend on the data.
  FUSE_CUDA(cuMemsetD8Async, address(from), 0x5A, kCopyBytes, nullptr);
  double us = median_us(
      [&] { FUSE_CUDA(cuMemcpyDtoDAsync, address(to), address(from), kCopyBytes, nullptr); });
  return 2e6 * static_cast<double>(kCopyBytes) / us;
}

}  // namespace fuse
