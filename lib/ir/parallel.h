// Splits long loops over elements between two threads.
#pragma once

#include <cstdint>
#include <thread>

namespace fuse {

/// Calls body(begin, end) for parts that make up [0, count). The body must not throw.
template <class Body>
void parallel_for(std::int64_t count, Body body) {
  constexpr std::int64_t kWorthAThread = 1 << 18;
  if (count < kWorthAThread || std::thread::hardware_concurrency() < 2) return body(0, count);
  std::thread other([&] { body(count / 2, count); });
  body(0, count / 2);
  other.join();
}

}  // namespace fuse
