// A pthread, because std::thread cannot ask for a stack size.
#include "runtime/worker.h"

#include "ir/format.h"

#include <pthread.h>

#include <exception>

namespace fuse {

namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;

struct Job {
  const std::function<void()> &function;
  std::exception_ptr error;
};

void *run_job(void *argument) {
  Job &job = *static_cast<Job *>(argument);
  try {
    job.function();
  } catch (...) {
    job.error = std::current_exception();
  }
  return nullptr;
}

int create(pthread_t &thread, Job &job) {
  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes)) return error;
  int error = pthread_attr_setstacksize(&attributes, kStackBytes);
  if (!error) error = pthread_create(&thread, &attributes, run_job, &job);
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace

void run_on_worker(const std::function<void()> &function) {
  Job job{function, nullptr};
  pthread_t thread;
  if (int error = create(thread, job))
    fail(ErrorCode::OutOfMemory, "cannot start the compilation thread (error {})", error);
  pthread_join(thread, nullptr);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace fuse
