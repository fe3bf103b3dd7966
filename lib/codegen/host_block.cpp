// The executor of a block: warps run one after the other, each until its lanes wait for the block.
//
// All threads of a block must then stand at the same barrier: a thread that is elsewhere or has
// returned would hang the GPU, and is an error here.
#include "codegen/host_block.h"

#include "ir/format.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace fuse {

const std::vector<std::uint32_t> &RunOrder::next(std::uint32_t n) {
  if (order_.size() != n || random_) {
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0);
  }
  for (std::uint32_t i = n; random_ && i > 1; --i)
    std::swap(order_[i - 1], order_[generator_() % i]);
  return order_;
}

HostBlock::HostBlock(StartEntry start, std::uint32_t threads, std::size_t frame_bytes)
    : start_(start),
      threads_(threads),
      stride_((frame_bytes + kFrameAlign - 1) / kFrameAlign * kFrameAlign),
      memory_(stride_ * threads + kFrameAlign),
      warps_((threads + kLanes - 1) / kLanes) {
  auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  frames_ = memory_.data() + (kFrameAlign - address % kFrameAlign) % kFrameAlign;
}

unsigned HostBlock::lanes_of(std::uint32_t warp) const {
  return std::min(kLanes, threads_ - warp * kLanes);
}

void HostBlock::start(const BlockContext &context, void **arguments, std::string_view kernel,
                      RunOrder &order) {
  context_ = context;
  arguments_ = arguments;
  kernel_ = kernel;
  for (WarpRequests &warp : warps_) std::fill_n(warp.arrivals, kLanes, 0);
  run(/*first=*/true, order);
}

void HostBlock::start_lanes(std::uint32_t warp, RunOrder &order) {
  for (std::uint32_t lane : order.next(lanes_of(warp))) {
    std::uint32_t thread = warp * kLanes + lane;
    start_(&context_, arguments_, thread, &warps_[warp].call[lane], frames_ + thread * stride_);
  }
}

void HostBlock::resume_lanes(std::uint32_t warp, std::uint32_t lanes, RunOrder &order) {
  std::byte *frames = frames_ + std::size_t{warp} * kLanes * stride_;
  auto resume = [&](std::uint32_t lane) {
    void *frame = frames + lane * stride_;
    (*static_cast<ResumeEntry *>(frame))(frame);
  };
  if (!order.is_random()) {
    for (; lanes; lanes &= lanes - 1) resume(static_cast<std::uint32_t>(std::countr_zero(lanes)));
    return;
  }
  for (std::uint32_t lane : order.next(kLanes))
    if (lanes >> lane & 1) resume(lane);
}

void HostBlock::run_warp(std::uint32_t warp, bool first, RunOrder &order) {
  const unsigned lanes = lanes_of(warp);
  if (first)
    start_lanes(warp, order);
  else
    resume_lanes(warp, lanes == kLanes ? ~0u : (1u << lanes) - 1, order);
  while (std::uint32_t served = serve_warp(warps_[warp], lanes, place(warp)))
    resume_lanes(warp, served, order);
}

/// From one barrier of the block, or the start, to the next, or the end.
void HostBlock::run_interval(bool first, RunOrder &order) {
  warp_order_ = order.next(static_cast<std::uint32_t>(warps_.size()));
  for (std::uint32_t warp : warp_order_) run_warp(warp, first, order);
  check_together();
}

void HostBlock::run(bool first, RunOrder &order) {
  run_interval(first, order);
  while (collective_of(warps_[0].call[0]) == Collective::BlockBarrier)
    run_interval(/*first=*/false, order);
}

void HostBlock::check_together() const {
  const std::uint32_t call = warps_[0].call[0];
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = lanes_of(w);
    const std::uint32_t *calls = warps_[w].call;
    const std::uint32_t *barriers = warps_[w].mask;
    std::uint32_t elsewhere = 0, mismatched = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      elsewhere |= calls[lane] ^ call;
      mismatched |= barriers[lane] ^ warps_[0].mask[0];
    }
    if (elsewhere) fail_elsewhere(w);
    if (mismatched && collective_of(call) == Collective::BlockBarrier) fail_mismatched(w);
  }
}

void HostBlock::fail_elsewhere(std::uint32_t warp) const {
  const std::uint32_t call = warps_[0].call[0];
  const std::uint32_t *calls = warps_[warp].call;
  auto lane = static_cast<std::uint32_t>(
      std::find_if(calls, calls + lanes_of(warp), [&](std::uint32_t c) { return c != call; }) -
      calls);
  fail_divergent(place(warp), warp * kLanes + lane, calls[lane], 0, call);
}

void HostBlock::fail_mismatched(std::uint32_t warp) const {
  const std::uint32_t barrier = warps_[0].mask[0];
  const std::uint32_t *barriers = warps_[warp].mask;
  const std::uint32_t *other = std::find_if(barriers, barriers + lanes_of(warp),
                                            [&](std::uint32_t b) { return b != barrier; });
  fail(ErrorCode::Internal,
       "kernel {}: block {}, warp {}: lane {} is at barrier {}, others at barrier {}", kernel_,
       context_.block, warp, other - barriers, *other, barrier);
}

void HostBlock::check_arrivals(std::uint32_t count) const {
  for (std::uint32_t w = 0; w < warps_.size(); ++w)
    for (std::uint32_t lane = 0; lane < lanes_of(w); ++lane) {
      std::uint32_t arrivals = warps_[w].arrivals[lane];
      if (arrivals == count || (done() && arrivals > count)) continue;
      fail(ErrorCode::Internal,
           "kernel {}: block {}, warp {}: lane {} has arrived {} times at the "
           "cluster's barrier where {} were waited for",
           kernel_, context_.block, w, lane, arrivals, count);
    }
}

}  // namespace fuse
