// Bulk loads: what one iteration of a loop with a pipe moves into shared memory.
#pragma once

#include "ir/machine_map.h"

#include <string>
#include <utility>
#include <vector>

namespace fuse {

/// Runs of neighbours, each moved by one copy, that lie one behind the other in a stage.
struct BulkShape {
  Index source;                     // the element's offset in the buffer, over machine atoms
  Index stage;                      // its offset in the stage
  std::uint32_t innermost = kNone;  // axis on which neighbours lie
  std::uint32_t outermost = kNone;  // axis that a run ends on: of those within it has all positions
  Assignment run_atoms;             // of the axes of a run, at its first element
  SlotSpace runs;                   // atoms that tell runs apart: threads and slots
  std::int64_t run = 0;             // elements, valid or not
  std::int64_t unit = 1;            // elements at one position of the outermost axis

  std::int64_t positions() const { return run / unit; }  // of the outermost axis
};

/// One value for the block, where the shape has no runs.
struct BulkLoad {
  std::string obstacle;  // why the load cannot come in bulk; empty: it can
  bool is_value = false;
  BulkShape shape;
};
BulkLoad bulk_load(const Kernel &kernel, const MachineMap &map, LayoutId layout, const Stmt &load);

/// Bytes of shared memory for a shape.
inline constexpr std::int64_t kBulkAlignment = 128;
std::int64_t bulk_stage_bytes(const BulkShape &shape, DType dtype);

/// Shared memory that the launch must provide: the stages of pipes.
std::int64_t dynamic_shared_bytes(const Kernel &kernel);

}  // namespace fuse
