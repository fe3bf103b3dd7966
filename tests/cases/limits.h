// What tests of limits measure: processor time, and the stack that is enough.
#pragma once

#include <functional>

namespace fuse::cases {

/// Of processor time: other programs on the machine do not count.
double seconds_of(const std::function<void()> &work);

/// Runs the work on a thread of 512 KB of stack.
void on_small_stack(std::function<void()> work);

}  // namespace fuse::cases
