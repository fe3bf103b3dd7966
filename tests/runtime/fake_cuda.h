// Controls of the fake driver: what it was asked, and what it shall answer.
#pragma once

#include "runtime/driver_types.h"

#include <dlfcn.h>

#include <string>
#include <vector>

/// What a kernel launch carried.
struct FakeLaunch {
  const char *name;
  unsigned grid, threads, cluster;
  void *stream;
  void **arguments;
  bool is_early;  // may begin while kernels before it run
};

/// One table, which the exported pointer `fake_cuda_controls` leads to.
struct FakeCuda {
  /// Calls since the last reset, "name(details)", in order.
  std::vector<std::string> calls;
  /// The next call of this name gives this result.
  std::string failing_call;
  int failing_result = 0;
  /// Attributes of the one device.
  std::string device_name = "NVIDIA H200";
  int major = 9, minor = 0, num_sms = 132, num_devices = 1;
  int num_clusters = 66;     // resident, whatever the kernel
  int capture_mode = 0;      // of the thread that set it last
  long long live_bytes = 0;  // allocated and not freed
  unsigned long long context_id = 7;
  unsigned long long capture_id = 0;  // of the capture that all streams are in; 0: none
  void (*on_launch)(const FakeLaunch &launch) = nullptr;

  void reset() {
    *this = FakeCuda{{}, "", 0, "NVIDIA H200", 9, 0, 132, 1, 66, 0, live_bytes, 7, 0, nullptr};
  }
  int count(const std::string &prefix) const {
    int n = 0;
    for (const std::string &c : calls) n += c.compare(0, prefix.size(), prefix) == 0;
    return n;
  }
};

/// The controls of the library that the process's driver is loaded from.
inline FakeCuda &fake_cuda() {
  static FakeCuda &controls = **static_cast<FakeCuda **>(
      ::dlsym(::dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL), "fake_cuda_controls"));
  return controls;
}
