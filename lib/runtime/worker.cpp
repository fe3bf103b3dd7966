// Pthreads, because std::thread cannot ask for a stack size.
#include "runtime/worker.h"

#include "ir/format.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace fuse {

namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;

void *run_job(void *argument) {
  (*static_cast<const std::function<void()> *>(argument))();
  return nullptr;
}

/// The job must not throw.
int create(pthread_t &thread, const std::function<void()> &job) {
  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes)) return error;
  int error = pthread_attr_setstacksize(&attributes, kStackBytes);
  void *argument = const_cast<std::function<void()> *>(&job);
  if (!error) error = pthread_create(&thread, &attributes, run_job, argument);
  pthread_attr_destroy(&attributes);
  return error;
}

/// Runs the job on so many threads at once, or as many of them as can be started.
void run_on_threads(unsigned count, const std::function<void()> &job) {
  std::vector<pthread_t> threads;
  threads.reserve(count);
  int error = 0;
  while (threads.size() < count) {
    pthread_t thread;
    error = create(thread, job);
    if (error) break;
    threads.push_back(thread);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  if (threads.empty())
    fail(ErrorCode::OutOfMemory, "cannot start a compilation thread (error {})", error);
}

}  // namespace

unsigned worker_threads(std::size_t count, unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::min<std::size_t>(threads, count));
}

void run_on_workers(std::size_t count, unsigned threads,
                    const std::function<void(std::size_t)> &function) {
  if (count == 0) return;
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  run_on_threads(worker_threads(count, threads), [&] {
    for (std::size_t i; (i = next++) < count;) {
      try {
        function(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr &error : errors)
    if (error) std::rethrow_exception(error);
}

void run_on_worker(const std::function<void()> &function) {
  run_on_workers(1, 1, [&](std::size_t) { function(); });
}

}  // namespace fuse
