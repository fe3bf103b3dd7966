// What the generated host code and the executor share: plain structs and two entry points.
//
// A kernel without collectives is a loop over threads. Any other is a coroutine for each thread,
// which suspends at a collective after writing its request to its lane's slot of its warp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fuse {

constexpr unsigned kLanes = 32;

/// Frames of coroutines are aligned to this.
constexpr std::size_t kFrameAlign = 64;

/// What a thread waits for.
enum class Collective : std::uint32_t {
  Done,  // the thread has returned
  BlockBarrier,
  ClusterWait,
  WarpBarrier,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  ShuffleIndex,
  VoteAll,
  VoteAny,
  Ballot,
};

/// A request's call word: the collective and the number of its place in the kernel.
constexpr std::uint32_t call_word(Collective collective, std::uint32_t site) {
  return static_cast<std::uint32_t>(collective) | site << 4;
}
constexpr Collective collective_of(std::uint32_t call) {
  return static_cast<Collective>(call & 15);
}
constexpr std::uint32_t site_of(std::uint32_t call) { return call >> 4; }

/// Requests of a warp by lane. Generated code is handed the address of its lane's call word; the
/// other fields are at fixed distances from it.
struct alignas(64) WarpRequests {
  std::uint32_t call[kLanes];
  std::uint32_t mask[kLanes];      // lanes that take part; of barriers: the barrier's number
  std::uint32_t value[kLanes];     // operand, and result after resumption
  std::uint32_t argument[kLanes];  // shuffles: lane delta, mask or index
  std::uint32_t clamp[kLanes];     // shuffles: segment
  std::uint32_t arrivals[kLanes];  // at the cluster barrier, so far
};

/// What all threads of a block see.
struct BlockContext {
  std::uint32_t block = 0;          // index in the grid
  std::uint32_t grid = 1;           // blocks
  std::uint32_t threads = 1;        // per block
  std::uint32_t rank = 0;           // in the cluster
  std::uint32_t cluster = 1;        // blocks per cluster
  std::uint64_t shared_stride = 0;  // from one rank's shared memory to the next one's
  std::byte *shared = nullptr;
  std::uint64_t frame_bytes = 0;  // written by StartEntry
};

/// Runs threads first .. last-1 of the block to their ends.
using LoopEntry = void (*)(const BlockContext *block, void **arguments, std::uint32_t first,
                           std::uint32_t last);

/// Runs the thread to its first collective or its end, its state in `frame`. Without a frame it
/// only writes the size that frames need.
using StartEntry = void (*)(BlockContext *block, void **arguments, std::uint32_t thread,
                            std::uint32_t *call, void *frame);

/// The first word of a suspended coroutine's frame: runs the thread on to its next collective.
using ResumeEntry = void (*)(void *frame);

}  // namespace fuse
