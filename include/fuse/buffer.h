// Memory for arguments: of a device, or of the host for the host executor.
#pragma once

#include <fuse/config.h>

#include <cstddef>
#include <functional>
#include <memory>

struct CUstream_st;

FUSE_BEGIN_NAMESPACE

/// Where memory comes from, for programs with an allocator of their own. Both functions are called
/// with the context current; `free` may be called from any thread and must not throw.
struct Allocator {
  std::function<void *(std::size_t bytes)> allocate;
  std::function<void(void *address, std::size_t bytes)> free;
};

/// A block of memory, 256-byte aligned, freed with the last copy of its DeviceBuffer. Freeing is
/// safe after the driver has shut down.
class FUSE_API DeviceBuffer {
 public:
  DeviceBuffer() = default;

  /// Memory of a GPU: `DeviceBuffer::device(rows * 4096 * 2)`. 0 bytes need no memory. Throws
  /// NoDevice, InvalidArgument for a device that does not exist, or OutOfMemory.
  static DeviceBuffer device(std::size_t bytes, int device = 0, const Allocator &allocator = {});

  /// Memory of the host, for Executor::Host. Throws OutOfMemory.
  static DeviceBuffer host(std::size_t bytes, const Allocator &allocator = {});

  void *data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  bool on_host() const noexcept { return device_ < 0; }

  /// Copies to or from host memory and waits for the copy; earlier work of the stream is done
  /// first: `buffer.copy_from_host(data, bytes)`. Sizes and offsets in bytes. Throw InvalidArgument
  /// beyond the end of the buffer, and Driver.
  void copy_from_host(const void *source, std::size_t bytes, std::size_t offset = 0,
                      CUstream_st *stream = nullptr);
  void copy_to_host(void *target, std::size_t bytes, std::size_t offset = 0,
                    CUstream_st *stream = nullptr) const;
  /// Zeroes all bytes, and waits. Throws Driver.
  void fill_zero(CUstream_st *stream = nullptr);

 private:
  void require(std::size_t bytes, std::size_t offset) const;

  std::shared_ptr<void> data_;
  std::size_t size_ = 0;
  int device_ = -1;  // -1: host
};

FUSE_END_NAMESPACE
