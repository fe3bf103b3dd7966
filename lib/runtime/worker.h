// Runs a compilation on a thread of its own with a known stack.
#pragma once

#include <functional>

namespace fuse {

/// Calls the function on a new thread with 8 MB of stack and waits; rethrows what it throws. A
/// caller's stack may be small, and a compiler's is not.
void run_on_worker(const std::function<void()> &function);

}  // namespace fuse
