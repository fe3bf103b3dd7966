// One block of a host kernel whose threads are coroutines.
#pragma once

#include "codegen/host_abi.h"
#include "codegen/host_warp.h"

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace fuse {

/// The order in which equals run: ascending, or random from a seed.
class RunOrder {
 public:
  explicit RunOrder(std::uint64_t seed) : random_(seed != 0), generator_(seed) {}

  bool is_random() const { return random_; }
  /// A permutation of 0 .. n-1.
  const std::vector<std::uint32_t> &next(std::uint32_t n);

 private:
  bool random_;
  std::mt19937_64 generator_;
  std::vector<std::uint32_t> order_;
};

class HostBlock {
 public:
  HostBlock(StartEntry start, std::uint32_t threads, std::size_t frame_bytes);

  /// Starts all threads and runs them until all wait for the cluster or all are done.
  void start(const BlockContext &context, void **arguments, std::string_view kernel,
             RunOrder &order);

  /// The cluster is complete: runs on until all threads wait for it again or all are done.
  void resume(RunOrder &order) { run(/*first=*/false, order); }

  bool done() const { return collective_of(warps_[0].call[0]) == Collective::Done; }

  /// Checks that every thread has arrived `count` times at the cluster's barrier, or more if done.
  void check_arrivals(std::uint32_t count) const;

 private:
  unsigned lanes_of(std::uint32_t warp) const;
  WarpPlace place(std::uint32_t warp) const { return {kernel_, context_.block, warp}; }
  void start_lanes(std::uint32_t warp, RunOrder &order);
  void resume_lanes(std::uint32_t warp, std::uint32_t lanes, RunOrder &order);
  void run_warp(std::uint32_t warp, bool first, RunOrder &order);
  void run_interval(bool first, RunOrder &order);
  void run(bool first, RunOrder &order);
  void check_together() const;
  [[noreturn]] void fail_elsewhere(std::uint32_t warp) const;
  [[noreturn]] void fail_mismatched(std::uint32_t warp) const;

  StartEntry start_;
  std::uint32_t threads_;
  std::size_t stride_;  // of frames
  std::vector<std::byte> memory_;
  std::byte *frames_;
  std::vector<WarpRequests> warps_;
  std::vector<std::uint32_t> warp_order_;
  BlockContext context_;
  void **arguments_ = nullptr;
  std::string_view kernel_;
};

}  // namespace fuse
