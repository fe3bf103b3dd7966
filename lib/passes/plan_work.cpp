// The Work of a group, before it is scheduled: blocks, threads and registers of a likely layout.
#include "passes/plan_group_features.h"
#include "passes/row_limits.h"

#include <algorithm>
#include <cmath>

namespace fuse {

namespace {

// A row is kept on chip: at most this many elements and bytes in a block.
constexpr double kMaxBlockRow = 65536;
constexpr double kRowElementsPerThread = 32;
constexpr double kMaxBlockBytes = 200 << 10;

constexpr double kBaseRegisters = 24;

// Sectors that the L2 cache moves for each element of an access across the lanes, as if it moved
// nothing else. Measured on the H200, beside what the kernels take otherwise: stores of 12.8 M
// elements 190 us (sums of columns of [64, 196, 1024] that are stored transposed too); loads of
// 12.9 M elements 25 to 50 us, of 16.8 M 78 us (layer norm of what a convolution left, sums of
// columns). Of a loaded sector the first-level cache still has a part when a neighbour asks for it,
// unless that is in another block: sums over all but the channels of what lies channels last,
// of 2.4 and 4.8 M elements of two tensors, 46 and 77 us (bench/results, convnext).
constexpr double kSectorBytes = 32;
constexpr double kSectorsStored = 2.6, kSectorsLoaded = 0.55, kSectorsWithoutReuse = 1.5;

// Columns that a block scans side by side; elements of a row that passes through a block which does
// not hold it, at a time.
constexpr double kScannedColumns = 32;
constexpr double kScannedRow = 32768, kScannedElements = 4096;

}  // namespace

double GroupEvaluator::base_registers(const Features &f) {
  return kBaseRegisters + function_registers(f.functions);
}

Work GroupEvaluator::lay_out(const Features &f) {
  double space = p_.domains[f.space].size;
  Work work;
  work.hbm_bytes = f.hbm;
  work.l2_bytes = work.kept_bytes = f.l2;
  work.l2_bytes +=
      kSectorBytes * (kSectorsStored * f.stores_across + kSectorsLoaded * f.loads_across +
                      kSectorsWithoutReuse * f.loads_without_reuse);
  work.ops = f.ops;
  work.threads = kBlockThreads;
  work.registers = base_registers(f) + kThreadElements;
  work.accesses = space / kThreadElements * static_cast<double>(f.reads + f.writes);
  work.blocks = std::ceil(space / (kBlockThreads * kThreadElements));
  if (folds_in_thread(f)) return work;
  if (f.scans > 0 && !f.sets[f.rows].inner)
    lay_out_scanned_columns(f, work);
  else if (f.folds.reexpands || f.has_columns())
    lay_out_rows(f, work);
  else if (f.has_reduction())
    lay_out_split(f, work);
  if (f.has_columns()) lay_out_columns(f, work);
  if (f.scans > 0) lay_out_split_scan(f, work);
  return work;
}

/// Rows are read once and kept in registers of a block or a cluster where they fit, else read once
/// more for every level of reductions.
void GroupEvaluator::lay_out_rows(const Features &f, Work &work) const {
  double row = std::max(1.0, f.row);
  double rows = std::max(1.0, p_.domains[f.space].size / row);
  double row_bytes = f.row_reads / rows;
  work.phases = 1 + f.levels + (f.scans > 0 ? 1 : 0);
  if (f.scans > 0 && row > kScannedRow)
    work.phases *= static_cast<int>(std::min(1e6, std::ceil(row / kScannedElements)));
  if (row * 2 < kBlockThreads * kThreadElements) return;  // several rows a block
  auto fits = [&](int cluster) {
    return row / cluster <= kMaxBlockRow && row_bytes / cluster <= kMaxBlockBytes;
  };
  // A scan stays within a block.
  auto limit = f.scans > 0 ? 1 : static_cast<int>(max_row_cluster(target_));
  int cluster = 1;
  while (cluster < limit && !fits(cluster)) cluster *= 2;
  if (!fits(cluster)) {
    work.hbm_bytes += f.row_reads * f.levels;
    cluster = 1;
  }
  // A long row is worth several blocks whatever their number; a shorter one where there are few.
  auto is_worth_more = [&] {
    return batch_invariant_ ? row / cluster > kMaxBlockRow / 4
                            : rows * cluster < target_.num_sms && row / cluster > kMaxBlockRow / 32;
  };
  while (cluster < limit && is_worth_more()) cluster *= 2;
  double threads = std::ceil(row / cluster / kRowElementsPerThread);
  int rounded = 64;
  while (rounded < threads && rounded < target_.max_threads_per_block) rounded *= 2;
  double kept = std::max(1.0, row_bytes / (4 * row));
  double elements = std::min(row / cluster / rounded, kMaxBlockRow / target_.max_threads_per_block);
  work.threads = rounded;
  work.cluster = cluster;
  work.blocks = rows * cluster;
  work.registers = std::min<double>(base_registers(f) + elements * kept,
                                    static_cast<double>(target_.registers_per_sm) / rounded);
}

/// Lanes hold columns, and a block passes along them, some rows at a time; the columns are read
/// once more for every level of reductions.
void GroupEvaluator::lay_out_scanned_columns(const Features &f, Work &work) const {
  constexpr double kRows = 256;
  double columns = p_.domains[f.space].size / std::max(1.0, f.row);
  work.phases = 1 + static_cast<int>(std::min(1e6, (1 + f.levels) * std::ceil(f.row / kRows)));
  work.registers = base_registers(f) + kRowElementsPerThread;
  work.hbm_bytes += f.row_reads * f.levels;
  work.blocks = std::ceil(columns / kScannedColumns);
}

/// Few long rows: a kernel more finds where blocks start, and reads what they scan once more.
void GroupEvaluator::lay_out_split_scan(const Features &f, Work &work) const {
  double columns = p_.domains[f.space].size / std::max(1.0, f.row);
  double beside = f.sets[f.rows].inner ? 1 : std::min(columns, kScannedColumns);
  bool may_split = f.levels == 0 && !f.scans_scans && !f.has_columns() &&
                   f.row * beside >= static_cast<double>(kSplitScan) &&
                   (batch_invariant_ || work.blocks * kSplitShare <= target_.num_sms);
  if (!may_split) return;
  work.hbm_bytes += f.row_reads;
  work.launches = 2;
  work.finish = true;
  work.phases = 2;
  work.threads = kBlockThreads;
  work.blocks = std::max(1.0, std::ceil(p_.domains[f.space].size / (kBlockThreads * 16)));
}

/// Reductions whose results nobody reads over the folded dims: where too few blocks would own a
/// result, the folded dims are split over the grid and the last block finishes.
void GroupEvaluator::lay_out_split(const Features &f, Work &work) const {
  constexpr double kColumns = 64;  // that a block of a column reduction owns
  double row = std::max(1.0, f.row);
  double block = kBlockThreads * kThreadElements;
  double owners =
      f.sets[f.rows].inner ? f.results * std::min(1.0, row / block) : f.results / kColumns;
  owners = std::max(1.0, std::ceil(owners));
  work.phases = 2;  // a pass, and what its threads tell one another
  work.blocks = owners;
  double wanted = 4.0 * target_.num_sms;
  double most = std::ceil(p_.domains[f.space].size / block);
  bool by_length = batch_invariant_ && f.sets[f.rows].inner;
  if (!by_length && (owners >= target_.num_sms || most <= owners)) return;
  auto parts = static_cast<double>(invariant_parts(static_cast<std::int64_t>(row), target_));
  double splits = by_length ? parts : std::ceil(std::min(wanted, most) / owners);
  if (splits <= 1) return;
  work.blocks = owners * splits;
  work.finish = true;
  work.l2_bytes += 2 * splits * f.results * 4;  // partial results, f32
}

/// Blocks pass over the rows and accumulate columns; parts are combined in two steps, by the last
/// of some blocks, then by the last of all.
void GroupEvaluator::lay_out_columns(const Features &f, Work &work) const {
  constexpr double kAccumulators = 16;  // elements of a thread's row
  work.registers += kAccumulators * f.kept_columns;
  work.cluster = 1;
  double parts = std::min(work.blocks, double(target_.num_sms) * resident_blocks(work, target_));
  double bytes = 4 * f.column_results;  // f32
  work.finish = true;
  work.l2_bytes += 2 * parts * bytes;
  work.finish_bytes = 2 * std::sqrt(parts) * bytes;
}

}  // namespace fuse
