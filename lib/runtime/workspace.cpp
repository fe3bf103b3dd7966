// Entries are never removed while the pool lives, so readers need no lock.
#include "runtime/workspace.h"

#include "ir/format.h"
#include "runtime/buffer.h"

#include <algorithm>
#include <cstring>

namespace fuse {

using namespace cuda;

namespace {

/// A number for this thread that no other thread of the process has had.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t number = next++;
  return number;
}

CUdeviceptr address(void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Clears memory outside of any capture and waits for it.
void clear_now(void *data, std::int64_t bytes) {
  RelaxedCapture relaxed;
  CUstream stream = nullptr;
  FUSE_CUDA(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CUresult cleared =
      driver().cuMemsetD8Async(address(data), 0, static_cast<std::size_t>(bytes), stream);
  CUresult waited = driver().cuStreamSynchronize(stream);
  driver().cuStreamDestroy(stream);
  check(cleared, "cuMemsetD8Async");
  check(waited, "cuStreamSynchronize");
}

WorkspaceMemory split(void *memory, const WorkspaceSize &size) {
  char *bytes = static_cast<char *>(memory);
  return {bytes, bytes + size.counter_bytes};
}

}  // namespace

WorkspacePool::~WorkspacePool() {
  for (Entry *e = entries_.load(); e;) {
    Entry *next = e->next;
    delete e;
    e = next;
  }
}

WorkspaceMemory WorkspacePool::acquire(const Context &context, CUstream stream,
                                       const WorkspaceSize &size) const {
  if (size.total() == 0) return {};
  unsigned long long stream_id = 0;
  FUSE_CUDA(cuStreamGetId, stream, &stream_id);
  std::uint64_t thread = thread_number();
  WorkspaceSize grown = size;
  for (Entry *e = entries_.load(std::memory_order_acquire); e; e = e->next) {
    if (e->context != context.id || e->stream != stream_id || e->thread != thread) continue;
    if (e->size.counter_bytes >= size.counter_bytes && e->size.data_bytes >= size.data_bytes)
      return split(e->memory.get(), e->size);
    // Grow by half at least, so that rising sizes leave few blocks behind.
    grown.counter_bytes = std::max(grown.counter_bytes, e->size.counter_bytes);
    std::int64_t more = e->size.data_bytes + e->size.data_bytes / 2;
    grown.data_bytes = std::max(grown.data_bytes, more / kWorkspaceAlignment * kWorkspaceAlignment);
  }
  return split(add(context, stream_id, thread, grown)->memory.get(), grown);
}

WorkspacePool::Entry *WorkspacePool::add(const Context &context, std::uint64_t stream,
                                         std::uint64_t thread, const WorkspaceSize &size) const {
  std::shared_ptr<void> memory =
      allocate_in(context.handle, static_cast<std::size_t>(size.total()), allocator_);
  if (size.counter_bytes > 0) clear_now(memory.get(), size.counter_bytes);
  Entry *entry = new Entry{context.id, stream, thread, size, std::move(memory), entries_.load()};
  while (!entries_.compare_exchange_weak(entry->next, entry, std::memory_order_release)) {
  }
  return entry;
}

WorkspaceMemory use_workspace(const Workspace &given, const WorkspaceSize &size, CUstream stream,
                              bool on_host) {
  if (given.bytes < static_cast<std::size_t>(size.total()))
    fail(ErrorCode::InvalidArgument, "the workspace has {} bytes: these sizes need {}", given.bytes,
         size.total());
  if (reinterpret_cast<std::uintptr_t>(given.data) % kWorkspaceAlignment != 0)
    fail(ErrorCode::InvalidArgument, "the workspace is not aligned to {} bytes",
         kWorkspaceAlignment);
  WorkspaceMemory memory = split(given.data, size);
  if (given.zeroed || size.counter_bytes == 0) return memory;
  std::size_t bytes = static_cast<std::size_t>(size.counter_bytes);
  if (on_host)
    std::memset(memory.counters, 0, bytes);
  else
    FUSE_CUDA(cuMemsetD8Async, address(memory.counters), 0, bytes, stream);
  return memory;
}

}  // namespace fuse
