// How a kernel's dims are laid on the machine: the decision of the scheduler.
#pragma once

#include "passes/passes.h"
#include "passes/schedule/access.h"

#include <set>
#include <string>
#include <vector>

namespace fuse {

/// Reductions of a kernel relative to its stores.
struct ReductionUse {
  int levels = 0;            // chains of reductions: a reduction of what another one feeds has 2
  int exchanges = 0;         // times that threads of a row meet for them
  bool reexpands = false;    // a stored value that depends on them runs along the rows; scans do
  int state_bytes = 0;       // of all of them, for one result
  int held_bytes = 0;        // of each element, across a barrier
  int arriving_bytes = 0;    // of each element, behind the last: what is held, and is being loaded
  int column_bytes = 0;      // of those over columns whose results run along the rows
  int columns = 0;           // their number
  int scans = 0;             // whose results run along the rows too
  int scan_bytes = 0;        // of the widest state of one
  bool scans_scans = false;  // one of them depends on another
  bool reverse = false;      // all of them: from the last position
  std::vector<DimId> scanned;  // dims of their axis, outermost first: those of the rows
};

enum class Form {
  Flat,       // no reduction: one pass
  Resident,   // folded dims on chip: every element is loaded once
  Streaming,  // folded dims in loops, one for each level of reductions and one for the stores
  Split,      // folded dims over blocks too; the last block combines the parts
  SplitScan,  // scanned dims over blocks: one kernel scans their totals, another goes on from there
  Tiled,      // no threads meet, tensors contiguous along two dims: tiles go through shared memory
};

/// Tiled: blocks hold squares of `side` positions of two dims.
struct Square {
  DimId inner = kNone, across = kNone;
  std::int64_t side = 0;
  std::vector<DimId> folded;  // by each thread
};

struct Mapping {
  Form form = Form::Flat;
  int threads = 256;
  int cluster = 1;
  int resident = 0;
  Layout layout;  // of the body
  Layout across;  // Tiled: of the accesses along square.across
  Square square;
  Layout finish;        // Split, SplitScan: of the last block
  Layout group_finish;  // Split in two steps: of the last block of a group
  DimId split = kNone,
        part = kNone;          // Split: the block's part, and the parts seen by the last block
  DimId tile = kNone;          // Split: the group of blocks that share a result
  Index parts = 1, tiles = 1;  // Split: extents of these
  // Split in two steps: the block's group, and the group's parts seen by its last block. The parts
  // that the last block of all sees are the groups'.
  DimId group = kNone, member = kNone;
  Index groups = 1, members = 1;
  std::vector<Limit> limits;
};

inline constexpr const char *kRowLoop = "k";     // over the looped dims
inline constexpr const char *kPartLoop = "q";    // over the parts of a Split
inline constexpr const char *kMemberLoop = "p";  // over the parts of a group

/// Everything the choice depends on.
struct MappingProblem {
  const Kernel &draft;  // dims, buffers and accesses of a flat body
  const Domain &domain;
  std::vector<Access> accesses;
  std::vector<const Stmt *> words;  // random ones: neighbours of a thread share calls
  ReductionUse reductions;
  const Target &target;
  const LowerOptions &options;
  SizeAssumptions &sizes;
  const BufferAlignments &alignments;
  const Bindings &usual_sizes;               // of symbols: as expected, but of row_symbols
  const std::set<std::string> &row_symbols;  // whose sizes batch_invariant hides
  std::int64_t statements = 1;               // of the flat body
  std::int64_t live = 1;       // registers of one slot where most of its values are live
  int function_registers = 0;  // of functions of long code
  int common_threads = 0;      // of kernels that shall differ in sizes alone; 0: this one's own
  Tuning tuning = {};
};

/// Chooses form and layouts. Dims of a Split mapping beyond the domain's are numbered from
/// domain.dims.size(): split, part, tile; in two steps, also group, member.
Mapping choose_mapping(const MappingProblem &problem);

/// Its part for domains with columns: blocks hold rows, pass over them in a loop, and accumulate
/// the columns; a Split in two steps.
Mapping map_rows_and_columns(const MappingProblem &problem);

/// Its part for domains with scans, and no columns: positions stay in order from thread to thread.
Mapping map_scans(const MappingProblem &problem);

}  // namespace fuse
