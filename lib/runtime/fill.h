// Filling memory, of a device or of the host. On a device the work is enqueued on the default
// stream.
#pragma once

#include "ir/tensor.h"

#include <fuse/buffer.h>

#include <cstddef>

namespace fuse {

/// A place in memory.
struct Place {
  void *data = nullptr;
  std::size_t bytes = 0;
  bool on_host = false;
};

inline Place place_of(const DeviceBuffer &buffer) {
  return {buffer.data(), buffer.size(), buffer.on_host()};
}

/// Every byte of it.
void fill_bytes(const Place &place, unsigned char value);

/// The tensor's bytes, over and over; waits until they are copied from the host.
void fill_with(const Place &place, const Tensor &tensor);

}  // namespace fuse
