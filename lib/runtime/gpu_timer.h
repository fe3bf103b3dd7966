// Times of work on the GPU, and the copy bandwidth that they are set beside.
#pragma once

#include "runtime/driver.h"

#include <fuse/buffer.h>

#include <functional>
#include <vector>

namespace fuse {

/// Seconds between what the stream reaches before the work and behind it, which is waited for.
double seconds_on(cuda::CUstream stream, const std::function<void()> &work);

/// Uses the default stream of the current context.
class GpuTimer {
 public:
  /// `runs` timed runs each, after warm-up.
  GpuTimer(int device, int runs);
  ~GpuTimer();
  GpuTimer(const GpuTimer &) = delete;
  GpuTimer &operator=(const GpuTimer &) = delete;

  /// Median microseconds of the work, which is enqueued and not waited for. Before each run the L2
  /// cache is overwritten.
  double median_us(const std::function<void()> &work) const;

  /// Microseconds that a run of the work adds to a queue of runs, each behind a write to more than
  /// the L2 cache: the time of the queue less that of its writes alone. Launch latency stays out of
  /// it. A run pays for the lines that it leaves to be written back; median_us() charges it for
  /// those of the write before it instead, which weighs where a run only reads.
  double queued_us(const std::function<void()> &work) const;

  /// Overwrites the L2 cache.
  void flush() const;

  /// How many flushes keep the GPU busy until the host has enqueued the work, so that its kernels
  /// follow one another without waiting. Runs the work as a warm-up.
  int flushes_to_cover(const std::function<void()> &work) const;

  int runs() const { return runs_; }

  /// Bytes read and written per second by a device-to-device copy of 2 GiB, by median_us() and by
  /// queued_us().
  struct Bandwidth {
    double timed = 0, queued = 0;
  };
  Bandwidth copy_bandwidth() const;

 private:
  double time_us(const std::function<void()> &work, int flushes) const;

  int runs_;
  DeviceBuffer flushed_;
  cuda::CUevent start_ = nullptr, end_ = nullptr;
};

double median(std::vector<double> values);

}  // namespace fuse
