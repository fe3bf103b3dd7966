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

/// Streams by the driver's number, as handles are used again. A stream in capture has none: there
/// the handle tells the streams of one capture apart.
WorkspaceKey key_of(const Context &context, CUstream stream) {
  WorkspaceKey key{context.id, 0, 0, thread_number()};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long id = 0;
  FUSE_CUDA(cuStreamGetCaptureInfo, stream, &status, &id, nullptr, nullptr, nullptr);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) {
    FUSE_CUDA(cuStreamGetId, stream, &id);
    key.stream = id;
  } else {
    key.stream = reinterpret_cast<std::uintptr_t>(stream);
    key.capture = id;
  }
  return key;
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
  WorkspaceKey key = key_of(context, stream);
  WorkspaceSize grown = size;
  for (Entry *e = entries_.load(std::memory_order_acquire); e; e = e->next) {
    if (e->key != key) continue;
    if (e->size.counter_bytes >= size.counter_bytes && e->size.data_bytes >= size.data_bytes)
      return split(e->memory.get(), e->size);
    // Grow by half at least, so that rising sizes leave few blocks behind.
    grown.counter_bytes = std::max(grown.counter_bytes, e->size.counter_bytes);
    std::int64_t more = e->size.data_bytes + e->size.data_bytes / 2;
    grown.data_bytes = std::max(grown.data_bytes, more / kWorkspaceAlignment * kWorkspaceAlignment);
  }
  return split(add(context, key, grown)->memory.get(), grown);
}

WorkspacePool::Entry *WorkspacePool::add(const Context &context, const WorkspaceKey &key,
                                         const WorkspaceSize &size) const {
  std::shared_ptr<void> memory =
      allocate_in(context.handle, static_cast<std::size_t>(size.total()), allocator_);
  if (size.counter_bytes > 0) clear_now(memory.get(), size.counter_bytes);
  Entry *entry = new Entry{key, size, std::move(memory), entries_.load()};
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
