// Compilation threads.
#include "runtime/worker.h"
#include "expect_error.h"

#include <atomic>
#include <thread>
#include <vector>

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

TEST(Worker, CallsEachNumberOnceWhateverTheyThrow) {
  for (unsigned threads : {0u, 1u, 3u, 100u}) {
    std::vector<std::atomic<int>> calls(20);
    std::string text = error_of(fuse::ErrorCode::Io, [&] {
      fuse::run_on_workers(calls.size(), threads, [&](std::size_t i) {
        ++calls[i];
        if (i % 7 == 5) throw fuse::Error(fuse::ErrorCode::Io, "from " + std::to_string(i));
      });
    });
    EXPECT_EQ(text, "from 5") << "the least of 5, 12 and 19";
    for (const std::atomic<int> &count : calls) EXPECT_EQ(count, 1);
  }
  fuse::run_on_workers(0, 0, [](std::size_t) { FAIL(); });
}
