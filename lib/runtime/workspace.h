// Scratch memory between the kernels of a launch.
//
// A workspace is counters, then data. Counters are zero between launches; data is not looked at.
#pragma once

#include "runtime/device.h"

#include <fuse/executable.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace fuse {

inline constexpr std::int64_t kWorkspaceAlignment = 256;

struct WorkspaceSize {
  std::int64_t counter_bytes = 0, data_bytes = 0;  // multiples of kWorkspaceAlignment
  std::int64_t total() const { return counter_bytes + data_bytes; }
};

struct WorkspaceMemory {
  char *counters = nullptr, *data = nullptr;
};

/// Whose launches follow one another: those of a thread in a stream of a context, and in a capture
/// (0: none), whose graph may later run beside the stream and beside other graphs.
struct WorkspaceKey {
  std::uint64_t context, stream, capture, thread;
  friend bool operator==(const WorkspaceKey &, const WorkspaceKey &) = default;
};

/// The workspaces that an Executable keeps: one for each stream and launching thread, as threads
/// may interleave their kernels in a stream, and one for each capture. Look-ups take no lock.
/// Memory stays until the pool is destroyed: kernels in flight and captured graphs use it.
class WorkspacePool {
 public:
  explicit WorkspacePool(Allocator allocator) : allocator_(std::move(allocator)) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool &) = delete;
  WorkspacePool &operator=(const WorkspacePool &) = delete;

  /// The context must be current.
  WorkspaceMemory acquire(const Context &context, cuda::CUstream stream,
                          const WorkspaceSize &size) const;

 private:
  struct Entry {
    WorkspaceKey key;
    WorkspaceSize size;
    std::shared_ptr<void> memory;
    Entry *next;
  };

  Entry *add(const Context &context, const WorkspaceKey &key, const WorkspaceSize &size) const;

  Allocator allocator_;
  mutable std::atomic<Entry *> entries_{nullptr};  // newest first; only ever prepended
};

/// Splits memory given by the caller and clears its counters on the stream, unless it is zeroed.
/// Throws InvalidArgument where it is too small or not aligned.
WorkspaceMemory use_workspace(const Workspace &given, const WorkspaceSize &size,
                              cuda::CUstream stream, bool on_host);

}  // namespace fuse
