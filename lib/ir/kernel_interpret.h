// The interpreter of kernels: runs a schedule thread by thread on the host, without LLVM.
//
// It checks what no verifier can know before sizes are bound (every offset is inside its buffer,
// vectors are contiguous and aligned, no two threads store different values to one element, no
// thread reads what another writes or what nobody stored, shared memory offsets do not collide, as
// many blocks arrive at a last_block as it counts), and it counts what the machine would do for
// each access: sectors of memory and cycles of shared memory banks.
#pragma once

#include "ir/kernel.h"

#include <cstdint>
#include <vector>

namespace fuse {

/// Host memory of a buffer, or the value of a scalar.
struct InterpreterBuffer {
  void *data = nullptr;
  std::int64_t elements = 1;
  /// Elements from a 32-byte boundary to element 0: what an address would be modulo 32 bytes.
  std::int64_t phase = 0;
};

struct InterpreterLaunch {
  std::vector<InterpreterBuffer> buffers;  // as launch_buffers(kernel)
  Bindings symbols;
  std::uint64_t seed = 0;  // not 0: instances and clusters run in a random order
};

/// What one load, store or move did over the whole launch, in all instances.
struct AccessStats {
  const Stmt *stmt = nullptr;
  std::int64_t vector_accesses = 0;   // of full width, per thread; width 1 counts as elements
  std::int64_t element_accesses = 0;  // per thread
  std::int64_t sectors = 0;           // of 32 bytes, touched by each warp's access
  std::int64_t ideal_sectors = 0;     // that the bytes would fill
  std::int64_t bank_cycles = 0;       // moves: of shared memory, writing and reading
  std::int64_t ideal_bank_cycles = 0;
};

/// Runs a kernel that verifies. Gives the counts of its loads, stores and moves in textual order.
/// Throws Error{Internal} naming statement, block and thread where a check fails, and
/// Error{InvalidArgument} for a launch that does not fit the kernel.
std::vector<AccessStats> interpret(const Kernel &kernel, const InterpreterLaunch &launch);

}  // namespace fuse
