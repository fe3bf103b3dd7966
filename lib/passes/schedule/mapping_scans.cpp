// Layouts of scans: positions along the scanned axis stay in order, so that a thread holds
// neighbours, threads follow one another, and so do the chunks that loads cut a row into.
//
// Rows that a block holds stay in its registers; longer ones pass through it in a loop, which
// carries the scan. Where tensors are contiguous across the scanned axis, lanes hold columns, and
// warps take turns along them.
#include "passes/schedule/mapping_builder.h"

namespace fuse {

namespace {

constexpr std::int64_t kHeldBytes = 128;  // states of a thread, of its elements
constexpr std::int64_t kColumnRows = 32;  // likewise, neighbours in columns: a thread scans many
constexpr std::int64_t kLeastColumnRows = 4;  // by itself for each time that warps meet
constexpr std::int64_t kColumnThreads = 256;
constexpr std::int64_t kThreadsPerSm = 512;  // that keep the memory busy with so many loads each
constexpr int kScanRegisters = 16;           // totals, prefixes, places
constexpr std::int64_t kExchangeBytes = 40 << 10;
constexpr std::int64_t kBlocksPerSm = 8;  // of a scan over blocks
constexpr std::int64_t kFinishLoads = 4;  // of a thread of the last block, in an iteration

class Scanner : MappingBuilder {
 public:
  explicit Scanner(const MappingProblem &problem)
      : MappingBuilder(problem), scanned_(p_.reductions.scanned) {}

  Mapping map() {
    if (p_.domain.is_folded(inner_))
      map_rows();
    else
      map_columns();
    m_.threads = std::max(m_.threads, static_cast<int>(kWarp));
    drop_empty_axes(m_.layout);
    bound_registers();
    return std::move(m_);
  }

 private:
  std::vector<DimId> scanned_;

  void bound_registers() {
    if (tuned_resident(p_, m_)) return;
    std::int64_t registers = std::min<std::int64_t>(
        registers_wanted(p_, m_, inner_) + kScanRegisters, p_.target.max_registers);
    std::int64_t blocks = p_.target.registers_per_sm / (m_.threads * registers);
    m_.resident =
        static_cast<int>(std::clamp<std::int64_t>(blocks, 1, p_.target.max_blocks_per_sm));
  }

  // --- Along the contiguous dim ------------------------------------------------------------------

  void map_rows() {
    vec_ = inner_ == scanned_.back() ? widest_useful_vector() : 1;
    if (scanned_.size() > 1 || rows_alike()) vec_ = std::min(vec_, dividing_vector());
    Index row = extent(scanned_);
    bool aligned = scanned_.size() > 1 || !needs_frame();
    if (!aligned && (rows_alike() || !p_.sizes.is_at_least(row, kAlignedRow))) vec_ = 1;
    aligned = aligned || vec_ == 1;
    std::int64_t n = row_length(row, aligned ? 0 : vec_ - 1);
    while (vec_ > 1 && vec_ > n) vec_ /= 2;
    if (may_split(expected_at_least_1(extent(kept_)), row, 1))
      split_rows(row, aligned);
    else if (n > p_.target.max_threads_per_block * max_held())
      stream_rows(row, aligned);
    else
      hold_rows(row, aligned);
  }

  /// Elements of a row that a thread holds.
  std::int64_t max_held() const {
    return std::min<std::int64_t>(kHeldBytes / p_.reductions.scan_bytes, max_slots());
  }

  /// A row and, where vectors start early, its head.
  void hold_rows(const Index &row, bool aligned) {
    m_.form = Form::Resident;
    int head = aligned ? 0 : vec_ - 1;
    std::int64_t n = row_length(row, head), span = n + head;
    std::int64_t wanted = std::max<std::int64_t>(
        scaled(n <= 4096 ? std::min<std::int64_t>(16, max_held()) : max_held(), p_.tuning.elements),
        vec_);
    std::int64_t lanes = std::min<std::int64_t>(pow2_at_least(ceil_div(span, wanted)),
                                                p_.target.max_threads_per_block);
    std::int64_t regs = ceil_div(span, lanes * vec_);
    std::int64_t rows = std::max<std::int64_t>(1, kRowThreads / lanes);
    m_.threads = static_cast<int>(lanes * rows);
    Axis columns = axis(scanned_, {digit(DigitKind::Reg, regs), digit(DigitKind::Thread, lanes),
                                   digit(DigitKind::Vec, vec_)});
    if (!aligned) columns.align = alignment_frame();
    m_.layout.axes = {rows_axis(rows, lanes), columns};
    if (!row.constant())
      m_.limits.push_back({Limit::Kind::Capacity, row + head, lanes * regs * vec_,
                           "a scanned row in the registers of a block"});
  }

  /// Vectors of a thread in an iteration; few where the body is long.
  std::int64_t loop_vectors() const {
    return std::clamp<std::int64_t>(scaled(kLoopElements / vec_, p_.tuning.elements), 1,
                                    max_vectors());
  }

  void stream_rows(const Index &row, bool aligned) {
    m_.form = Form::Streaming;
    std::int64_t threads = tuned_threads(p_.sizes.is_at_least(row, kLongRow) ? 1024 : 256);
    std::int64_t regs = loop_vectors();
    m_.threads = static_cast<int>(threads);
    Index span = aligned ? row : row + vec_ - 1;
    Axis columns =
        axis(scanned_, {digit(DigitKind::Loop, ceildiv(span, threads * vec_ * regs), 1, kRowLoop),
                        digit(DigitKind::Reg, regs), digit(DigitKind::Thread, threads),
                        digit(DigitKind::Vec, vec_)});
    if (!aligned) columns.align = alignment_frame();
    m_.layout.axes = {rows_axis(1, 1), columns};
  }

  // --- Over several blocks -----------------------------------------------------------------------

  /// Half of the machine would do nothing, for longer than it takes to read all once more.
  /// `columns`: that a block scans side by side.
  bool may_split(std::int64_t blocks, const Index &row, std::int64_t columns) const {
    if (p_.reductions.levels > 0 || p_.reductions.scans_scans) return false;
    bool are_few = rows_alike() || blocks * kSplitShare <= p_.target.num_sms;
    return are_few && p_.sizes.is_at_least(row, kSplitScan / columns);
  }

  void split_rows(const Index &row, bool aligned) {
    std::int64_t threads = tuned_threads(kColumnThreads), regs = loop_vectors();
    std::int64_t rows = expected_at_least_1(extent(kept_)), n = expected_at_least_1(row);
    // Fewer where SMs would have no block.
    while (!rows_alike() && regs > 1 &&
           rows * ceil_div(n, threads * vec_ * regs) < p_.target.num_sms)
      regs /= 2;
    std::int64_t step = threads * vec_ * regs;
    Index span = aligned ? row : row + vec_ - 1;
    std::int64_t parts = choose_parts(rows, span, step);
    Axis columns = axis(scanned_, {digit(DigitKind::Grid, parts),
                                   digit(DigitKind::Loop, ceildiv(span, parts * step), 1, kRowLoop),
                                   digit(DigitKind::Reg, regs), digit(DigitKind::Thread, threads),
                                   digit(DigitKind::Vec, vec_)});
    if (!aligned) columns.align = alignment_frame();
    m_.threads = static_cast<int>(threads);
    split({axis(kept_, {digit(DigitKind::Grid, extent(kept_), parts)})}, columns, parts,
          extent(kept_), threads, 1);
  }

  std::int64_t choose_parts(std::int64_t tiles, const Index &span, std::int64_t step) const {
    if (rows_alike())
      return std::max<std::int64_t>(2, invariant_parts(row_length(span), p_.target));
    std::int64_t blocks = scaled(p_.target.num_sms * kBlocksPerSm, p_.tuning.blocks);
    return std::clamp<std::int64_t>(blocks / tiles, 2,
                                    std::max<std::int64_t>(2, ceil_div(expected(span), step)));
  }

  /// The last block of a tile scans the totals with `down` threads at this stride.
  void split(const std::vector<Axis> &kept, const Axis &scanned, std::int64_t parts,
             const Index &tiles, std::int64_t down, std::int64_t stride) {
    m_.form = Form::SplitScan;
    m_.parts = parts;
    m_.tiles = tiles;
    m_.split = static_cast<DimId>(p_.domain.dims.size());
    m_.part = m_.split + 1;
    m_.tile = m_.split + 2;
    m_.layout.axes = kept;
    m_.layout.axes.push_back(scanned);
    // These dims name digits of the block index that other axes hold.
    m_.layout.axes.push_back({{m_.split}, {digit(DigitKind::Grid, parts)}, {}});
    m_.layout.axes.push_back({{m_.tile}, {digit(DigitKind::Grid, tiles, parts)}, {}});
    m_.finish.name = "F";
    m_.finish.axes = kept;
    m_.finish.axes.push_back(axis(
        {m_.part}, {digit(DigitKind::Loop, ceil_div(parts, down * kFinishLoads), 1, kPartLoop),
                    digit(DigitKind::Thread, down, stride), digit(DigitKind::Reg, kFinishLoads)}));
    drop_empty_axes(m_.finish);
  }

  // --- Across the contiguous dim -----------------------------------------------------------------

  /// Narrow vectors where wide ones leave SMs without a block.
  void choose_column_vector(std::int64_t columns, std::int64_t tiles) {
    vec_ = std::min(widest_useful_vector(), dividing_vector());
    if (!starts_are_aligned() || numbers_rows(inner_)) vec_ = 1;
    while (vec_ > 1 && ceil_div(columns, kWarp * vec_) * tiles < 2 * p_.target.num_sms) vec_ /= 2;
  }

  void map_columns() {
    m_.form = Form::Streaming;
    std::int64_t n = std::max<std::int64_t>(1, usual(p_.domain.dims[inner_].extent));
    std::int64_t tiles = rows_alike() ? 1 : expected_at_least_1(extent(outer()));
    std::int64_t length = expected_at_least_1(extent(scanned_));
    choose_column_vector(n, tiles);
    std::int64_t lanes = std::min<std::int64_t>(kWarp, pow2_at_least(ceil_div(n, vec_)));
    tiles *= ceil_div(n, lanes * vec_);
    bool splits = may_split(tiles, extent(scanned_), std::min(n, lanes * vec_));
    std::int64_t down = tuned_threads(splits ? kColumnThreads : threads_of_tile(tiles)) / lanes;
    std::int64_t regs = std::max(pow2_at_least(ceil_div(length, down)), kLeastColumnRows);
    regs = std::min({scaled(regs, p_.tuning.elements), kColumnRows / vec_, max_vectors()});
    down = std::min(down, pow2_at_least(ceil_div(length, regs)));
    while (down > 1 && down * lanes * vec_ * state_bytes() > kExchangeBytes) down /= 2;
    m_.threads = static_cast<int>(lanes * down);
    if (splits) return split_columns(lanes, down, regs);
    m_.layout.axes = column_axes(lanes, 1);
    m_.layout.axes.push_back(
        axis(scanned_, {digit(DigitKind::Loop, ceildiv(extent(scanned_), down * regs), 1, kRowLoop),
                        digit(DigitKind::Thread, down, lanes), digit(DigitKind::Reg, regs)}));
  }

  void split_columns(std::int64_t lanes, std::int64_t down, std::int64_t regs) {
    Index tiles = ceildiv(p_.domain.dims[inner_].extent, lanes * vec_) * extent(outer());
    std::int64_t step = down * regs;
    std::int64_t parts = choose_parts(expected_at_least_1(tiles), extent(scanned_), step);
    Axis scanned = axis(
        scanned_, {digit(DigitKind::Grid, parts),
                   digit(DigitKind::Loop, ceildiv(extent(scanned_), parts * step), 1, kRowLoop),
                   digit(DigitKind::Thread, down, lanes), digit(DigitKind::Reg, regs)});
    split(column_axes(lanes, parts), scanned, parts, tiles, down, lanes);
  }

  /// More along the columns where tiles of them are few.
  std::int64_t threads_of_tile(std::int64_t tiles) const {
    std::int64_t threads = kColumnThreads, wanted = p_.target.num_sms * kThreadsPerSm;
    while (threads < p_.target.max_threads_per_block && 2 * threads * tiles <= wanted) threads *= 2;
    return threads;
  }

  /// Of what a warp tells the others, for one column.
  std::int64_t state_bytes() const {
    return p_.reductions.state_bytes + p_.reductions.scan_bytes * p_.reductions.scans;
  }
};

}  // namespace

Mapping map_scans(const MappingProblem &problem) { return Scanner(problem).map(); }

}  // namespace fuse
