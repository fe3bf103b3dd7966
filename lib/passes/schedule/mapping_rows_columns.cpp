// Rows on chip, columns in registers: a grid that passes over all rows.
//
// A block holds a few rows at a time and folds them; what is folded over the columns accumulates in
// its registers from row to row. Its parts are combined in two steps, by the last block of each
// group and the last of all: one block alone would read the parts of the whole grid for longer than
// many kernels run.
#include "passes/schedule/mapping_queries.h"

#include <cmath>

namespace fuse {

namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kElements = 16;             // of a thread's row
constexpr std::int64_t kSpareRegisters = 48;       // addresses, guards, states
constexpr std::int64_t kExchangeBytes = 40 << 10;  // shared memory in which warps add up columns
constexpr std::int64_t kMaxResident = 8;           // blocks of an SM: fewer parts to combine
constexpr std::int64_t kFinishLoads = 16;          // independent loads of a thread
constexpr int kLeastVector = 4;                    // 8 bytes of the narrow types
constexpr int kPartVector = 4;                     // f32 parts in 16 bytes
constexpr std::int64_t kFewParts = 32;             // one block combines them as fast as many

class RowsAndColumns : MappingQueries {
 public:
  explicit RowsAndColumns(const MappingProblem &problem)
      : MappingQueries(problem),
        rows_(p_.reductions.scans > 0 ? p_.reductions.scanned : p_.domain.with_role(DimRole::Row)),
        columns_(p_.domain.with_role(DimRole::Column)),
        kept_(p_.domain.with_role(DimRole::Kept)) {}

  Mapping map() {
    choose_vector();
    choose_threads();
    choose_parts();
    lay_out_body();
    lay_out_finish();
    return std::move(m_);
  }

 private:
  Mapping m_;
  std::vector<DimId> rows_, columns_, kept_;
  std::int64_t lanes_ = 1, regs_ = 1, down_ = 1, members_ = 1, groups_ = 1;

  std::int64_t row() const { return row_length(extent(rows_)); }

  /// A thread has the same columns of every row, so vectors start where rows do.
  void choose_vector() {
    inner_ = contiguous_dim(p_.draft, p_.accesses, p_.usual_sizes);
    bool keeps_order = p_.reductions.scans == 0 || inner_ == rows_.back();
    if (p_.domain.roles[inner_] != DimRole::Row || !keeps_order) {
      inner_ = rows_.back();
      return;
    }
    vec_ = widest_useful_vector();
    if (rows_.size() > 1 || !starts_are_aligned()) vec_ = std::min(vec_, dividing_vector());
    if (!starts_are_aligned()) vec_ = 1;
  }

  void choose_threads() {
    while (vec_ > 1 && vec_ > row()) vec_ /= 2;
    lanes_ = std::min<std::int64_t>(
        pow2_at_least(ceil_div(
            row(), std::max<std::int64_t>(
                       std::min(scaled(kElements, p_.tuning.elements), max_slots()), vec_))),
        p_.target.max_threads_per_block);
    // Shorter vectors that make up the row: no position needs a test.
    if (row() % (lanes_ * vec_) != 0 && vec_ > kLeastVector && row() % (lanes_ * vec_ / 2) == 0)
      vec_ /= 2;
    regs_ = ceil_div(row(), lanes_ * vec_);
    std::int64_t threads = std::max(lanes_, scaled(kThreads, p_.tuning.threads));
    while (threads > std::max<std::int64_t>(lanes_, 32) &&
           threads * regs_ * vec_ * p_.reductions.column_bytes > kExchangeBytes)
      threads /= 2;
    down_ = threads / lanes_;
    m_.threads = static_cast<int>(threads);
    m_.resident = static_cast<int>(std::clamp<std::int64_t>(
        p_.target.registers_per_sm / (threads * registers()), 1, kMaxResident));
    tuned_resident(p_, m_);
    if (!extent(rows_).constant())
      m_.limits.push_back({Limit::Kind::Capacity, extent(rows_), lanes_ * regs_ * vec_,
                           "a row in the registers of a block"});
  }

  /// A row stays as it was loaded, from reduction to reduction, beside the sums of the columns.
  std::int64_t registers() const {
    std::int64_t bytes = p_.reductions.column_bytes;
    for (const Access &a : p_.accesses) {
      bool runs_along_row = std::any_of(rows_.begin(), rows_.end(), [&](DimId d) {
        return std::find(a.dims.begin(), a.dims.end(), d) != a.dims.end();
      });
      if (a.stmt->kind == StmtKind::Load && runs_along_row)
        bytes += static_cast<std::int64_t>(size_of(a.dtype));
    }
    return std::min<std::int64_t>(ceil_div(regs_ * vec_ * bytes, 4) + kSpareRegisters,
                                  p_.target.max_registers);
  }

  void choose_parts() {
    constexpr std::int64_t kRows = 8;  // of a part, where the number of kept dims does not count
    std::int64_t tiles = rows_alike() ? 1 : expected_at_least_1(extent(kept_));
    std::int64_t most =
        ceil_div(expected_at_least_1(extent(columns_)), down_ * (rows_alike() ? kRows : 1));
    std::int64_t parts = std::clamp<std::int64_t>(
        ceil_div(std::int64_t{p_.target.num_sms} * m_.resident, tiles), 1, most);
    groups_ = parts > kFewParts ? even_groups(parts) : 1;
    members_ = parts / groups_;
    m_.form = Form::Split;
    m_.parts = members_ * groups_;
    m_.members = members_;
    m_.groups = groups_;
    m_.tiles = extent(kept_);
    auto first = static_cast<DimId>(p_.domain.dims.size());
    m_.split = first;
    m_.part = first + 1;
    m_.tile = first + 2;
    if (groups_ == 1) return;
    m_.group = first + 3;
    m_.member = first + 4;
  }

  /// About the square root, of which the fewest blocks are left over.
  static std::int64_t even_groups(std::int64_t parts) {
    auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(parts)));
    std::int64_t best = root;
    for (std::int64_t groups = root; groups > root / 2; --groups)
      if (parts % groups < parts % best) best = groups;
    return best;
  }

  Axis kept_axis() const { return axis(kept_, {digit(DigitKind::Grid, extent(kept_), m_.parts)}); }

  /// Digits of the block index that other axes hold.
  Axis grid_axis(DimId dim, const Index &extent, const Index &stride) const {
    return {{dim}, {digit(DigitKind::Grid, extent, stride)}, {}};
  }

  void lay_out_body() {
    Index count = ceildiv(extent(columns_), m_.parts * Index(down_));
    m_.layout.name = "L";
    m_.layout.axes = {
        kept_axis(),
        axis(columns_, {digit(DigitKind::Loop, count, 1, kRowLoop),
                        digit(DigitKind::Grid, m_.parts), digit(DigitKind::Thread, down_, lanes_)}),
        axis(with_inner_last(rows_),
             {digit(DigitKind::Reg, regs_), digit(DigitKind::Thread, lanes_),
              digit(DigitKind::Vec, vec_)})};
    m_.layout.axes.push_back(grid_axis(m_.split, m_.parts, 1));
    m_.layout.axes.push_back(grid_axis(m_.tile, m_.tiles, m_.parts));
    if (groups_ > 1) m_.layout.axes.push_back(grid_axis(m_.group, groups_, members_));
    drop_empty_axes(m_.layout);
  }

  void lay_out_finish() {
    m_.finish = combining("F", m_.part, groups_ > 1 ? groups_ : members_, kPartLoop);
    if (groups_ == 1) return;
    m_.group_finish = combining("G", m_.member, members_, kMemberLoop);
    m_.group_finish.axes.push_back(grid_axis(m_.group, groups_, members_));
  }

  /// Columns across the threads; threads that are left share the parts.
  Layout combining(const char *name, DimId parts, std::int64_t n, const char *loop) const {
    bool along_rows = p_.reductions.columns > 0 || p_.reductions.reexpands;
    std::int64_t vec = along_rows ? std::min<std::int64_t>(vec_, kPartVector) : 1;
    std::int64_t lanes =
        along_rows ? std::min<std::int64_t>(pow2_at_least(ceil_div(row(), vec)), m_.threads) : 1;
    std::int64_t down = m_.threads / lanes, regs = ceil_div(row(), lanes * vec);
    std::int64_t unroll = std::clamp<std::int64_t>(kFinishLoads / (along_rows ? regs * vec : 1), 1,
                                                   ceil_div(n, down));
    Layout layout;
    layout.name = name;
    layout.axes = {
        kept_axis(),
        axis({parts}, {digit(DigitKind::Loop, ceil_div(n, down * unroll), 1, loop),
                       digit(DigitKind::Reg, unroll), digit(DigitKind::Thread, down, lanes)})};
    if (along_rows)
      layout.axes.push_back(axis(with_inner_last(rows_),
                                 {digit(DigitKind::Reg, regs), digit(DigitKind::Thread, lanes),
                                  digit(DigitKind::Vec, vec)}));
    drop_empty_axes(layout);
    return layout;
  }
};

}  // namespace

Mapping map_rows_and_columns(const MappingProblem &problem) {
  return RowsAndColumns(problem).map();
}

}  // namespace fuse
