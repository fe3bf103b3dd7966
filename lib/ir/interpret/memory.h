// Memory of an interpreted launch: buffers with bounds and race checks, and what warps' accesses
// cost.
#pragma once

#include "ir/kernel_interpret.h"

#include <string>
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

  /// Loads and stores give "" or say what is wrong with the access. `writer` numbers the thread.
  std::string load(BufferId buffer, std::int64_t offset, std::int64_t reader, bool in_last_block,
                   std::uint64_t &bits) const;
  std::string store(BufferId buffer, std::int64_t offset, std::int64_t writer, bool in_last_block,
                    std::uint64_t bits);

  /// Adds 1 to a counter of blocks; true, and the counter is 0 again, for the last of n.
  bool arrive(BufferId buffer, std::int64_t offset, std::int64_t n);

  std::int64_t byte_address(BufferId buffer, std::int64_t offset) const;
  std::int64_t phase(BufferId buffer) const { return launch_.buffers[buffer].phase; }

 private:
  struct Written {
    std::int64_t writer = -1;
    std::uint64_t bits = 0;
  };

  std::string check_bounds(BufferId buffer, std::int64_t offset) const;
  std::uint64_t read(BufferId buffer, std::int64_t offset) const;

  const Kernel &kernel_;
  const InterpreterLaunch &launch_;
  std::vector<std::int64_t> extents_;          // elements by the shapes
  std::vector<std::vector<Written>> written_;  // by element; empty for inputs
};

}  // namespace fuse
