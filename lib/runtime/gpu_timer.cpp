// Events around single runs. The flush keeps the GPU busy while the host enqueues the run behind
// it, so launch latency stays out of the time.
#include "runtime/gpu_timer.h"

#include <algorithm>
#include <chrono>
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

int GpuTimer::flushes_to_cover(const std::function<void()> &work) const {
  constexpr double kLeastFlushUs = 40;  // of 256 MiB, on any device
  constexpr double kMostFlushes = 63;   // they share the queue with the work
  double host_us = 0;
  for (int i = 0; i < kWarmUps; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    host_us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    FUSE_CUDA(cuStreamSynchronize, nullptr);
  }
  return 1 + static_cast<int>(std::min(host_us / kLeastFlushUs, kMostFlushes));
}

double GpuTimer::time_us(const std::function<void()> &work, int flushes) const {
  float ms = 0;
  for (int i = 0; i < flushes; ++i) flush();
  FUSE_CUDA(cuEventRecord, start_, nullptr);
  work();
  FUSE_CUDA(cuEventRecord, end_, nullptr);
  FUSE_CUDA(cuEventSynchronize, end_);
  FUSE_CUDA(cuEventElapsedTime, &ms, start_, end_);
  return 1e3 * static_cast<double>(ms);
}

double GpuTimer::median_us(const std::function<void()> &work) const {
  int flushes = flushes_to_cover(work);
  std::vector<double> times;
  for (int i = 0; i < runs_; ++i) times.push_back(time_us(work, flushes));
  return median(times);
}

double GpuTimer::queued_us(const std::function<void()> &work) const {
  constexpr int kQueued = 10, kQueues = 3;
  auto queue = [&](const std::function<void()> &each) {
    return 1e6 * seconds_on(nullptr, [&] {
             for (int i = 0; i < kQueued; ++i) {
               flush();
               each();
             }
           });
  };
  for (int i = 0; i < kWarmUps; ++i) work();
  std::vector<double> times;
  for (int i = 0; i < kQueues; ++i) times.push_back((queue(work) - queue([] {})) / kQueued);
  return median(times);
}

GpuTimer::Bandwidth GpuTimer::copy_bandwidth() const {
  DeviceBuffer from = DeviceBuffer::device(kCopyBytes), to = DeviceBuffer::device(kCopyBytes);
  // Not zeros: the memory's power draw, and with it the clock, can depend on the data.
  FUSE_CUDA(cuMemsetD8Async, address(from), 0x5A, kCopyBytes, nullptr);
  auto copy = [&] {
    FUSE_CUDA(cuMemcpyDtoDAsync, address(to), address(from), kCopyBytes, nullptr);
  };
  constexpr double kMoved = 2e6 * static_cast<double>(kCopyBytes);
  return {kMoved / median_us(copy), kMoved / queued_us(copy)};
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace fuse
