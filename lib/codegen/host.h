// The host executor: the same LLVM function that goes to PTX, run on the CPU.
//
// Each GPU thread is a coroutine; barriers, shuffles and other collectives are carried out by the
// executor for a whole warp, block or cluster. Divergent or mismatched collectives are errors.
#pragma once

#include "ir/kernel.h"

#include <fuse/target.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fuse {

struct HostLaunch {
  std::uint64_t grid = 1;
  /// Addresses of the argument values, as cuLaunchKernel takes them: pointers of buffers (host
  /// memory) or values of scalars in parameter order, then an i64 for each symbol of the kernel.
  void **arguments = nullptr;
  std::uint64_t shuffle_seed = 0;  // not 0: blocks, warps and threads run in a random order
};

/// A kernel compiled for this CPU. Safe to launch from several threads at once.
class HostKernel {
 public:
  /// Lowers, optimises and links the kernel. Throws Error on what the host cannot run.
  HostKernel(const Kernel &kernel, const Target &target);
  /// Of a module with one kernel, written as LLVM IR text for NVPTX.
  HostKernel(std::string_view ir, const Target &target, int threads, int cluster);
  /// Links what compile_host_kernel() gave. Throws Error{Parse} for other bytes.
  static HostKernel link(std::string_view compiled);
  ~HostKernel();
  HostKernel(HostKernel &&) noexcept;
  HostKernel &operator=(HostKernel &&) noexcept;

  /// Runs the grid to its end. Throws Error{Internal} on a divergent or mismatched collective.
  void launch(const HostLaunch &launch) const;

  /// Bytes of shared memory of a block.
  std::uint64_t shared_bytes() const;

 private:
  struct Impl;
  explicit HostKernel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The kernel compiled for this CPU, not linked: bytes that a later process may link. Throws Error
/// on what the host cannot run.
std::string compile_host_kernel(const Kernel &kernel, const Target &target);

/// What they depend on beside kernel and target: the CPU and its features.
std::string host_cpu();

}  // namespace fuse
