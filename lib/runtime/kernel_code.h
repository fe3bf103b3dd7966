// Code of kernels, each by itself: it is made for several at once, and lies on disk by kernel.
#pragma once

#include "ir/kernel.h"
#include "runtime/device.h"

#include <fuse/target.h>

#include <string>
#include <vector>

namespace fuse {

/// PTX that a driver has assembled.
struct Cubin {
  int sm = 0;
  int driver = 0;  // version; later drivers load it too
  std::string image;
};

struct GpuCode {
  std::string ptx;
  std::vector<Cubin> cubins;

  /// Of the device, for this driver or an earlier one; null if there is none.
  const Cubin *find(int sm, int driver) const;
};

/// What functions that make code are given and tell.
struct Making {
  unsigned threads = 0;   ///< at once; 0: as many as the machine runs
  bool from_disk = true;  ///< out: whether the disk cache had all of it
};

/// PTX of each kernel. On a worker thread, for it is LLVM that makes it.
std::vector<std::string> ptx_of(const std::vector<Kernel> &kernels, const Target &target,
                                Making &making);

/// What compile_host_kernel() gives for each kernel. On a worker thread.
std::vector<std::string> host_code_of(const std::vector<Kernel> &kernels, const Target &target,
                                      Making &making);

/// Images of the kernels for the context's device. Assembles those that are not there, and keeps
/// them. Throws Error{Driver}.
std::vector<const std::string *> cubins_of(std::vector<GpuCode> &kernels, const Context &context,
                                           unsigned threads);

}  // namespace fuse
