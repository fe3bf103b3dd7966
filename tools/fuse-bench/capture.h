// CUDA graphs of launches, and the kernels in them.
#pragma once

#include "runtime/driver.h"

#include <functional>
#include <vector>

namespace fuse::bench {

class Stream {
 public:
  Stream() { FUSE_CUDA(cuStreamCreate, &stream_, cuda::CU_STREAM_NON_BLOCKING); }
  ~Stream() { driver().cuStreamDestroy(stream_); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  operator cuda::CUstream() const { return stream_; }
  void wait() const { FUSE_CUDA(cuStreamSynchronize, stream_); }

 private:
  cuda::CUstream stream_ = nullptr;
};

/// What `work` launches on the stream, recorded.
class Capture {
 public:
  Capture(cuda::CUstream stream, const std::function<void()> &work);
  ~Capture();
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;

  /// Kernels in no order, with their arguments, which live as long as the capture.
  std::vector<cuda::CUkernelNodeParams> kernels() const;
  /// Runs it all.
  void replay(cuda::CUstream stream) const { FUSE_CUDA(cuGraphLaunch, executable_, stream); }

 private:
  cuda::CUgraph graph_ = nullptr;
  cuda::CUgraphExec executable_ = nullptr;
};

}  // namespace fuse::bench
