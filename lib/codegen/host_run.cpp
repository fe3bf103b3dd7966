// Grids and clusters of host kernels.
//
// Clusters are independent: workers take the next one until none is left. All blocks of a cluster
// are alive together; each runs until it waits for the cluster, then all go on.
#include "codegen/host_run.h"

#include "codegen/host_block.h"
#include "codegen/poison.h"
#include "ir/format.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace fuse {

namespace {

constexpr std::size_t kSharedAlign = 128;

/// GPU threads below which a second CPU thread does not pay.
constexpr std::uint64_t kThreadsPerWorker = 1 << 16;

/// Shared memory of a cluster's blocks, one after the other.
class SharedMemory {
 public:
  SharedMemory(const HostFunctionShape &shape, std::uint32_t blocks)
      : stride_(shape.shared_bytes),
        bytes_(stride_ * blocks),
        memory_(static_cast<std::byte *>(
            ::operator new(std::max<std::size_t>(bytes_, 1), std::align_val_t(kSharedAlign)))) {
    poison_gaps(shape, blocks);
  }
  ~SharedMemory() {
    unpoison(memory_, bytes_);
    ::operator delete(memory_, std::align_val_t(kSharedAlign));
  }
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  std::uint64_t stride() const { return stride_; }
  std::byte *of(std::uint32_t rank) { return memory_ + stride_ * rank; }

 private:
  void poison_gaps(const HostFunctionShape &shape, std::uint32_t blocks) {
    poison(memory_, bytes_);
    for (std::uint32_t rank = 0; rank < blocks; ++rank)
      for (const SharedArray &array : shape.shared) unpoison(of(rank) + array.offset, array.bytes);
  }

  std::uint64_t stride_;
  std::uint64_t bytes_;
  std::byte *memory_;
};

/// One worker: memory and state for one cluster at a time.
class Worker {
 public:
  Worker(const HostCode &code, const HostGeometry &geometry, const HostLaunch &launch)
      : code_(code),
        geometry_(geometry),
        launch_(launch),
        order_(launch.shuffle_seed),
        shared_(code.shape(), geometry.cluster) {
    if (!code.shape().suspends) return;
    std::size_t bytes = frame_bytes();
    for (std::uint32_t rank = 0; rank < geometry.cluster; ++rank)
      blocks_.emplace_back(code.start(), geometry.threads, bytes);
  }

  void run_cluster(std::uint64_t cluster) {
    if (order_.is_random()) scribble();
    if (code_.shape().suspends)
      run_coroutines(cluster);
    else
      run_loops(cluster);
  }

 private:
  BlockContext context(std::uint64_t cluster, std::uint32_t rank);
  std::size_t frame_bytes();
  void scribble();
  void run_loops(std::uint64_t cluster);
  void run_coroutines(std::uint64_t cluster);
  bool run_to_cluster_barrier(std::uint64_t cluster, std::uint32_t count);

  const HostCode &code_;
  const HostGeometry &geometry_;
  const HostLaunch &launch_;
  RunOrder order_;
  SharedMemory shared_;
  std::vector<HostBlock> blocks_;
  std::vector<std::uint32_t> ranks_;
};

BlockContext Worker::context(std::uint64_t cluster, std::uint32_t rank) {
  BlockContext context;
  context.block = static_cast<std::uint32_t>(cluster * geometry_.cluster + rank);
  context.grid = static_cast<std::uint32_t>(launch_.grid);
  context.threads = geometry_.threads;
  context.rank = rank;
  context.cluster = geometry_.cluster;
  context.shared_stride = shared_.stride();
  context.shared = shared_.of(rank);
  return context;
}

std::size_t Worker::frame_bytes() {
  BlockContext asked = context(0, 0);
  code_.start()(&asked, launch_.arguments, 0, nullptr, nullptr);
  return asked.frame_bytes;
}

/// Shared memory starts with no defined contents: in random runs, with NaNs.
void Worker::scribble() {
  for (std::uint32_t rank = 0; rank < geometry_.cluster; ++rank)
    for (const SharedArray &array : code_.shape().shared)
      std::memset(shared_.of(rank) + array.offset, 0xff, array.bytes);
}

void Worker::run_loops(std::uint64_t cluster) {
  for (std::uint32_t rank = 0; rank < geometry_.cluster; ++rank) {
    BlockContext block = context(cluster, rank);
    if (!order_.is_random()) {
      code_.loop()(&block, launch_.arguments, 0, geometry_.threads);
      continue;
    }
    for (std::uint32_t thread : order_.next(geometry_.threads))
      code_.loop()(&block, launch_.arguments, thread, thread + 1);
  }
}

/// Each block in turn runs to the cluster's barrier number `count`. Whether any is still alive.
bool Worker::run_to_cluster_barrier(std::uint64_t cluster, std::uint32_t count) {
  bool alive = false;
  ranks_ = order_.next(geometry_.cluster);
  for (std::uint32_t rank : ranks_) {
    HostBlock &block = blocks_[rank];
    if (count == 1)
      block.start(context(cluster, rank), launch_.arguments, geometry_.name, order_);
    else if (!block.done())
      block.resume(order_);
    alive |= !block.done();
  }
  return alive;
}

void Worker::run_coroutines(std::uint64_t cluster) {
  for (std::uint32_t count = 1; run_to_cluster_barrier(cluster, count); ++count)
    for (const HostBlock &block : blocks_) block.check_arrivals(count);
}

/// What the workers of one launch share.
class Grid {
 public:
  Grid(const HostCode &code, const HostGeometry &geometry, const HostLaunch &launch)
      : code_(code),
        geometry_(geometry),
        launch_(launch),
        clusters_(launch.grid / geometry.cluster) {
    if (launch.shuffle_seed == 0) return;
    order_ = RunOrder(launch.shuffle_seed).next(static_cast<std::uint32_t>(clusters_));
  }

  void run() {
    std::vector<std::thread> helpers;
    for (std::uint64_t i = 1; i < num_workers(); ++i) helpers.emplace_back([this] { work(); });
    work();
    for (std::thread &helper : helpers) helper.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::uint64_t num_workers() const {
    if (launch_.shuffle_seed != 0) return 1;
    std::uint64_t threads = launch_.grid * geometry_.threads;
    std::uint64_t useful = std::min(clusters_, threads / kThreadsPerWorker);
    return std::clamp<std::uint64_t>(useful, 1, std::max(1u, std::thread::hardware_concurrency()));
  }

  void work() {
    std::uint64_t cluster = 0;
    try {
      Worker worker(code_, geometry_, launch_);
      while ((cluster = next_.fetch_add(1, std::memory_order_relaxed)) < clusters_)
        worker.run_cluster(order_.empty() ? cluster : order_[cluster]);
    } catch (...) {
      keep_error(cluster);
    }
  }

  /// The error of the first cluster that failed is thrown, whichever worker met it.
  void keep_error(std::uint64_t cluster) {
    std::lock_guard<std::mutex> lock(mutex_);
    next_ = clusters_;
    if (error_ && failed_ < cluster) return;
    error_ = std::current_exception();
    failed_ = cluster;
  }

  const HostCode &code_;
  const HostGeometry &geometry_;
  const HostLaunch &launch_;
  std::uint64_t clusters_;
  std::vector<std::uint32_t> order_;  // of clusters; empty: ascending
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
  std::uint64_t failed_ = 0;
};

}  // namespace

void run_grid(const HostCode &code, const HostGeometry &geometry, const HostLaunch &launch) {
  if (launch.grid % geometry.cluster != 0)
    fail(ErrorCode::InvalidArgument, "kernel {}: a grid of {} blocks has no whole clusters of {}",
         geometry.name, launch.grid, geometry.cluster);
  if (launch.grid > UINT32_MAX)
    fail(ErrorCode::InvalidArgument, "kernel {}: a grid of {} blocks is too large", geometry.name,
         launch.grid);
  if (launch.grid != 0) Grid(code, geometry, launch).run();
}

}  // namespace fuse
