// Compilation threads.
#include "runtime/worker.h"
#include "expect_error.h"

#include <thread>

namespace {

/// Touches about `kilobytes` of stack.
int deep(int kilobytes) {
  volatile char frame[1024] = {};
  return kilobytes == 0 ? frame[0] : deep(kilobytes - 1) + frame[1];
}

}  // namespace

TEST(Worker, RunsElsewhereWithALargeStack) {
  std::thread::id id = std::this_thread::get_id();
  fuse::run_on_worker([&] {
    id = std::this_thread::get_id();
    EXPECT_EQ(deep(6000), 0);
  });
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(Worker, RethrowsInTheCaller) {
  std::string text = error_of(fuse::ErrorCode::Io, [] {
    fuse::run_on_worker([] { throw fuse::Error(fuse::ErrorCode::Io, "from the worker"); });
  });
  EXPECT_EQ(text, "from the worker");
}
