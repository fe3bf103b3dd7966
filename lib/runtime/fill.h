// Filling memory, of a device or of the host. On a device the work is enqueued on the default
// stream.
#pragma once

#include <fuse/buffer.h>

#include <cstddef>

namespace fuse {

/// Every byte of it.
void fill_bytes(const DeviceBuffer &buffer, unsigned char value);

/// Repeats the first `filled` bytes until it is full.
void repeat_to_end(const DeviceBuffer &buffer, std::size_t filled);

}  // namespace fuse
