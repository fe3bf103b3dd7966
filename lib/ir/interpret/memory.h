// Memory of an interpreted launch: buffers with bounds and race checks, the arrivals of blocks, and
// what warps' accesses cost.
#pragma once

#include "ir/kernel_interpret.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fuse {

/// Bytes that the lanes of a warp touch in one access.
class WarpAccess {
 public:
  void add(std::int64_t byte, std::int64_t bytes) { ranges_.push_back({byte, bytes}); }

  /// Adds the 32-byte sectors touched, and those that as many bytes would fill.
  void count_sectors(AccessStats &stats);

  /// Adds the cycles of 32 banks of 4 bytes. Wide accesses go in phases of 128 bytes.
  void count_banks(AccessStats &stats);

 private:
  struct Range {
    std::int64_t byte, bytes;
  };
  std::vector<Range> ranges_;
};

class InterpreterMemory {
 public:
  /// Checks that the launch brings memory for all buffers.
  InterpreterMemory(const Kernel &kernel, const InterpreterLaunch &launch,
                    std::vector<std::int64_t> extents);

  /// Blocks that arrived at an element of a counter, and how many last_blocks each had behind it.
  using Arrivals = std::map<std::int64_t, std::int64_t>;

  /// Loads and stores give "" or say what is wrong with the access. `reader` and `writer` number
  /// the thread, `arrivals` are those that its last_block waited for; null outside.
  std::string load(BufferId buffer, std::int64_t offset, std::int64_t reader,
                   const Arrivals *arrivals, std::uint64_t &bits) const;
  std::string store(BufferId buffer, std::int64_t offset, std::int64_t writer, bool in_last_block,
                    std::uint64_t bits);

  /// Adds 1 to a counter of n blocks. Null, or all arrivals, and the counter is 0 again, for the
  /// last one.
  const Arrivals *arrive(BufferId buffer, std::int64_t offset, std::int64_t n, std::int64_t block);

  /// Refuses a launch that left a counter short of its blocks.
  void check_counters() const;

  std::int64_t byte_address(BufferId buffer, std::int64_t offset) const;
  std::int64_t phase(BufferId buffer) const { return launch_.buffers[buffer].phase; }

 private:
  struct Counter {
    std::int64_t expected = 0;
    Arrivals arrivals;
  };
  struct Written {
    std::int64_t writer = -1;
    std::int64_t passed = 0;  // last_blocks that the writer's block had behind it
    std::uint64_t bits = 0;
  };

  std::string check_bounds(BufferId buffer, std::int64_t offset) const;
  std::string check_written(BufferId buffer, std::int64_t offset, std::int64_t reader,
                            const Arrivals *arrivals) const;
  std::uint64_t read(BufferId buffer, std::int64_t offset) const;

  const Kernel &kernel_;
  const InterpreterLaunch &launch_;
  std::vector<std::int64_t> extents_;                              // elements by the shapes
  std::vector<std::vector<Written>> written_;                      // by element; empty for inputs
  std::map<std::pair<BufferId, std::int64_t>, Counter> counters_;  // by buffer and offset
  std::map<std::int64_t, std::int64_t> passed_;                    // by block: its last_blocks
};

}  // namespace fuse
