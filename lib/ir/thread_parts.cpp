#include "ir/thread_parts.h"

#include <algorithm>

namespace fuse {

std::vector<Part> parts_of(const Layout &layout, const std::vector<std::uint32_t> &axes,
                           DigitKind kind) {
  std::vector<Part> parts;
  for (std::uint32_t a : axes)
    for (const Digit &d : layout.axes[a].digits)
      if (d.kind == kind && !d.extent.is_constant(1))
        parts.push_back({*d.extent.constant(), *d.stride.constant()});
  return parts;
}

std::int64_t lane_bits(const std::vector<Part> &threads) {
  std::int64_t bits = 0;
  for (const Part &p : threads)
    for (std::int64_t bit = p.stride; bit < std::min(kWarpThreads, p.stride * p.extent); bit *= 2)
      bits |= bit;
  return bits;
}

std::vector<Part> warp_parts(const std::vector<Part> &threads) {
  std::vector<Part> warps;
  for (const Part &p : threads) {
    if (p.stride >= kWarpThreads)
      warps.push_back({p.extent, p.stride / kWarpThreads});
    else if (p.stride * p.extent > kWarpThreads)
      warps.push_back({p.stride * p.extent / kWarpThreads, 1});
  }
  return warps;
}

bool is_per_lane(const std::vector<Part> &threads) {
  return lane_bits(threads) != kWarpThreads - 1;
}

std::vector<std::int64_t> numbers(const std::vector<Part> &parts) {
  std::vector<std::int64_t> all = {0};
  for (const Part &p : parts) {
    std::vector<std::int64_t> next;
    for (std::int64_t base : all)
      for (std::int64_t i = 0; i < p.extent; ++i) next.push_back(base + i * p.stride);
    all = std::move(next);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace fuse
