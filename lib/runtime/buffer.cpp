// Memory blocks and copies. Copies go through the stream and wait, so they order with kernels.
#include "runtime/buffer.h"

#include "ir/format.h"
#include "runtime/device.h"

#include <cstdlib>
#include <cstring>

namespace fuse {

using namespace cuda;

namespace {

constexpr std::size_t kAlignment = 256;

/// Frees in whatever state the driver is: at exit its calls fail, and that is all right.
void free_device(CUcontext context, void *data, std::size_t bytes, const Allocator &allocator) {
  try {
    ContextScope scope(context);
    RelaxedCapture relaxed;
    if (allocator.free)
      allocator.free(data, bytes);
    else
      driver().cuMemFree(reinterpret_cast<CUdeviceptr>(data));
  } catch (const Error &) {  // the driver has shut down: the memory is gone with it
  }
}

void *allocate_device(std::size_t bytes, const Allocator &allocator) {
  if (allocator.allocate) return allocator.allocate(bytes);
  CUdeviceptr address = 0;
  FUSE_CUDA(cuMemAlloc, &address, bytes);
  return reinterpret_cast<void *>(address);
}

void *allocate_host(std::size_t bytes, const Allocator &allocator) {
  if (allocator.allocate) return allocator.allocate(bytes);
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

void *require_memory(void *data, std::size_t bytes, const char *where) {
  if (!data) fail(ErrorCode::OutOfMemory, "cannot allocate {} bytes of {} memory", bytes, where);
  return data;
}

CUdeviceptr at(void *data, std::size_t offset) {
  return reinterpret_cast<CUdeviceptr>(static_cast<char *>(data) + offset);
}

}  // namespace

std::shared_ptr<void> allocate_in(CUcontext context, std::size_t bytes,
                                  const Allocator &allocator) {
  ContextScope scope(context);
  RelaxedCapture relaxed;
  void *data = require_memory(allocate_device(bytes, allocator), bytes, "device");
  return {data, [=](void *p) { free_device(context, p, bytes, allocator); }};
}

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

using namespace cuda;

DeviceBuffer DeviceBuffer::device(std::size_t bytes, int device, const Allocator &allocator) {
  DeviceBuffer buffer;
  buffer.size_ = bytes;
  buffer.device_ = device;
  if (bytes > 0) buffer.data_ = allocate_in(primary_context(device), bytes, allocator);
  return buffer;
}

DeviceBuffer DeviceBuffer::host(std::size_t bytes, const Allocator &allocator) {
  DeviceBuffer buffer;
  buffer.size_ = bytes;
  if (bytes == 0) return buffer;
  buffer.data_ = std::shared_ptr<void>(
      require_memory(allocate_host(bytes, allocator), bytes, "host"), [=](void *data) {
        if (allocator.free)
          allocator.free(data, bytes);
        else
          std::free(data);
      });
  return buffer;
}

void DeviceBuffer::require(std::size_t bytes, std::size_t offset) const {
  if (offset > size_ || bytes > size_ - offset)
    fail(ErrorCode::InvalidArgument, "{} bytes at offset {} exceed a buffer of {} bytes", bytes,
         offset, size_);
}

void DeviceBuffer::copy_from_host(const void *source, std::size_t bytes, std::size_t offset,
                                  CUstream_st *stream) {
  require(bytes, offset);
  if (bytes == 0) return;
  if (on_host()) {
    std::memcpy(static_cast<char *>(data()) + offset, source, bytes);
    return;
  }
  ContextScope scope(context_of(stream, device_).handle);
  FUSE_CUDA(cuMemcpyHtoDAsync, at(data(), offset), source, bytes, stream);
  FUSE_CUDA(cuStreamSynchronize, stream);
}

void DeviceBuffer::copy_to_host(void *target, std::size_t bytes, std::size_t offset,
                                CUstream_st *stream) const {
  require(bytes, offset);
  if (bytes == 0) return;
  if (on_host()) {
    std::memcpy(target, static_cast<const char *>(data()) + offset, bytes);
    return;
  }
  ContextScope scope(context_of(stream, device_).handle);
  FUSE_CUDA(cuMemcpyDtoHAsync, target, at(data(), offset), bytes, stream);
  FUSE_CUDA(cuStreamSynchronize, stream);
}

void DeviceBuffer::fill_zero(CUstream_st *stream) {
  if (size_ == 0) return;
  if (on_host()) {
    std::memset(data(), 0, size_);
    return;
  }
  ContextScope scope(context_of(stream, device_).handle);
  FUSE_CUDA(cuMemsetD8Async, at(data(), 0), 0, size_, stream);
  FUSE_CUDA(cuStreamSynchronize, stream);
}

FUSE_END_NAMESPACE
