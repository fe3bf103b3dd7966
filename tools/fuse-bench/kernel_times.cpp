#include "kernel_times.h"

namespace fuse::bench {

using namespace cuda;

namespace {

struct Event {
  Event() { FUSE_CUDA(cuEventCreate, &handle, 0); }
  ~Event() { driver().cuEventDestroy(handle); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  void record() const { FUSE_CUDA(cuEventRecord, handle, nullptr); }

  CUevent handle = nullptr;
};

/// Events around one kernel; a kernel of several steps is timed at the last.
struct Around {
  Event start, end;

  double microseconds() const {
    float ms = 0;
    FUSE_CUDA(cuEventSynchronize, end.handle);
    FUSE_CUDA(cuEventElapsedTime, &ms, start.handle, end.handle);
    return 1e3 * static_cast<double>(ms);
  }
};

StepObserver recorder(const std::vector<Around> &events, const GpuTimer &timer, L2 l2) {
  StepObserver observer;
  observer.before = [&events, &timer, l2](const Step &step) {
    if (step.is_extern) return;
    if (l2 == L2::Flushed) timer.flush();
    events[step.kernel].start.record();
  };
  observer.after = [&events](const Step &step) {
    if (!step.is_extern) events[step.kernel].end.record();
  };
  return observer;
}

}  // namespace

std::vector<double> kernel_times(const Instance &instance, std::size_t num_kernels,
                                 const GpuTimer &timer, L2 l2) {
  std::vector<Around> events(num_kernels);
  StepObserver observer = recorder(events, timer, l2);
  auto launch = [&] { instance.run(observer, [](const ExternCall &) {}); };
  int flushes = timer.flushes_to_cover(launch);
  std::vector<std::vector<double>> times(num_kernels);
  for (int run = 0; run < timer.runs(); ++run) {
    for (int i = 0; i < flushes; ++i) timer.flush();
    launch();
    for (std::size_t k = 0; k < num_kernels; ++k) times[k].push_back(events[k].microseconds());
  }
  std::vector<double> medians;
  for (std::vector<double> &of_kernel : times) medians.push_back(median(of_kernel));
  return medians;
}

}  // namespace fuse::bench
