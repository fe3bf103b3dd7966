// Runs compilations on threads of their own with a known stack.
#pragma once

#include <cstddef>
#include <functional>

namespace fuse {

/// Calls the function on a new thread with 8 MB of stack and waits; rethrows what it throws. A
/// caller's stack may be small, and a compiler's is not.
void run_on_worker(const std::function<void()> &function);

/// Calls the function with 0, 1, ... count - 1 on so many such threads at most; 0: as many as the
/// machine runs at once. All calls are made, whatever some of them throw; the error of the least
/// number is rethrown.
void run_on_workers(std::size_t count, unsigned threads,
                    const std::function<void(std::size_t)> &function);

/// How many threads run_on_workers() takes.
unsigned worker_threads(std::size_t count, unsigned threads);

}  // namespace fuse
