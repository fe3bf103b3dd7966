// What an evaluation of a group finds out on its way; shared by its parts.
#pragma once

#include "passes/plan_group.h"

namespace fuse {

/// Intermediate tensors up to this share of the L2 cache are taken to stay there between kernels.
inline constexpr double kL2Share = 0.25;

/// Threads of a block where nothing asks for more, and elements of each, 16 bytes of a 16-bit type.
inline constexpr int kBlockThreads = 256;
inline constexpr double kThreadElements = 8;

/// The reductions of a group that fold the same atoms.
struct FoldSet {
  DomainId folded = 0;
  bool inner = true;        // all fold the innermost axis of their operands
  bool reexpands = false;   // a result is read again along the folded atoms
  bool keeps_rows = false;  // a result varies along the rows
};

struct GroupEvaluator::Features {
  DomainId space = 0;  // iterated over by the kernel
  std::vector<FoldSet> sets;
  std::size_t rows = 0;       // into sets: the one whose dims a block holds
  ReductionSets folds;        // rows and columns as atoms
  double row = 1;             // positions that the rows span
  double column_results = 0;  // of reductions over columns
  int kept_columns = 0;       // reductions over columns that a thread accumulates along its row
  int levels = 0;             // reductions one after another
  const PlanValue *scan = nullptr;       // some scan, if there is one, and the atoms of its
  const AtomList *scan_order = nullptr;  // axis, outermost first: those of all
  int scans = 0;
  bool scans_scans = false;  // one of them depends on another
  double results = 1;        // of the largest reduction
  OpCost ops;
  std::uint32_t functions = 0;  // long ones, at every position or so
  double body = 0;              // statements for one element
  double row_body = 0;          // of these, those that run along the rows
  double hbm = 0, l2 = 0;
  double row_reads = 0;  // bytes read over the folded dims
  std::size_t reads = 0, writes = 0;
  double loads_across = 0, stores_across = 0;  // elements, each in a sector of its own
  double loads_without_reuse = 0;              // likewise, of sectors whose rest other blocks load

  bool has_reduction() const { return !sets.empty(); }
  bool has_columns() const { return !folds.columns.empty(); }
  DomainId folded() const { return sets.empty() ? 0 : sets[rows].folded; }
};

}  // namespace fuse
