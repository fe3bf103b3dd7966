#include "ir/scan_threads.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kWarp = 32;

/// Where a digit may stand on a scanned axis; regs stand on either side of the threads.
enum class Place : std::uint8_t { Grid, Loop, Outer, Thread, Inner, Nowhere };

bool is_single(const Digit &d) { return d.extent.is_constant(1); }

Place place_behind(Place last, DigitKind kind) {
  switch (kind) {
    case DigitKind::Grid: return last == Place::Grid ? Place::Grid : Place::Nowhere;
    case DigitKind::Loop: return last <= Place::Loop ? Place::Loop : Place::Nowhere;
    case DigitKind::Thread: return last <= Place::Thread ? Place::Thread : Place::Nowhere;
    case DigitKind::Reg:
    case DigitKind::Vec: return last < Place::Thread ? Place::Outer : Place::Inner;
    case DigitKind::Cta: return Place::Nowhere;
  }
  return Place::Nowhere;
}

}  // namespace

std::optional<ScanThreads> scan_threads_of(const Axis &axis) {
  ScanThreads threads;
  Place place = Place::Grid;
  for (const Digit &d : axis.digits) {
    if (is_single(d)) continue;
    bool adjoins = place == Place::Thread;
    place = place_behind(place, d.kind);
    if (place == Place::Nowhere) return std::nullopt;
    if (d.kind != DigitKind::Thread) continue;
    std::int64_t extent = *d.extent.constant(), stride = *d.stride.constant();
    if (adjoins && threads.stride != stride * extent) return std::nullopt;
    threads.extent *= extent;
    threads.stride = stride;
  }
  threads.lanes = std::min(threads.extent, std::max<std::int64_t>(1, kWarp / threads.stride));
  return threads;
}

std::int64_t scan_chunks_of(const Axis &axis) {
  std::int64_t outer = 1;
  for (const Digit &d : axis.digits) {
    if (is_single(d)) continue;
    if (d.kind == DigitKind::Thread) return outer;
    if (d.kind == DigitKind::Reg || d.kind == DigitKind::Vec) outer *= *d.extent.constant();
  }
  return 1;
}

}  // namespace fuse
