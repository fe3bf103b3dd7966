// Devices, contexts and what a Target says of them.
#pragma once

#include "runtime/driver.h"

#include <fuse/target.h>

#include <cstdint>
#include <string>

namespace fuse {

int device_count();

/// Primary context of the device, retained once for the life of the process, so that pointers and
/// streams of the CUDA runtime and of frameworks work as they are.
cuda::CUcontext primary_context(int device);

/// A context and the id that tells it from a later one at the same address.
struct Context {
  cuda::CUcontext handle = nullptr;
  std::uint64_t id = 0;
};

/// Context of the stream; for the default stream the current one, else the device's primary one.
Context context_of(cuda::CUstream stream, int device);

/// Makes a context current for a scope, if it is not already.
class ContextScope {
 public:
  explicit ContextScope(cuda::CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

 private:
  bool pushed_ = false;
};

/// Lets this thread allocate and load modules although some stream is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

 private:
  cuda::CUstreamCaptureMode mode_ = cuda::CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Ordinal of the device of the context.
int device_of(cuda::CUcontext context);

/// The known target that the device is, limits taken from the driver; else one estimated from the
/// driver's attributes (measured = false). Throws Unsupported below compute capability 8.0.
Target target_of(int device);

/// PTX ISA (version * 10) that a driver of this CUDA version takes, as far as LLVM 22 knows it.
int ptx_version_of(int cuda_version);

}  // namespace fuse
