// Layouts of scans: positions along the scanned axis stay in order, so that a thread holds
// neighbours, threads follow one another, and so do the chunks that loads cut a row into.
//
// Rows that a block holds stay in its registers; longer ones pass through it in a loop, which
// carries the scan. Where tensors are contiguous across the scanned axis, lanes hold columns, and
// warps take turns along them.
#include "passes/schedule/mapping_queries.h"

namespace fuse {

namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kRowThreads = 128;   // of a block with several rows
constexpr std::int64_t kAlignedRow = 512;   // shorter rows are not worth a peeled head
constexpr std::int64_t kLongRow = 65537;    // worth all threads of a block
constexpr std::int64_t kMaxHeld = 32;       // elements of a thread, with their prefixes
constexpr std::int64_t kLoopElements = 16;  // of a thread in an iteration
constexpr std::int64_t kColumnRows = 4;     // likewise, neighbours in a column
constexpr std::int64_t kColumnThreads = 256;
constexpr std::int64_t kThreadsPerSm = 1024;  // that keep the memory busy with a few loads each
constexpr int kScanRegisters = 16;            // totals, prefixes, places
constexpr std::int64_t kExchangeBytes = 40 << 10;

class Scanner : MappingQueries {
 public:
  explicit Scanner(const MappingProblem &problem)
      : MappingQueries(problem),
        scanned_(p_.reductions.scanned),
        kept_(p_.domain.with_role(DimRole::Kept)) {}

  Mapping map() {
    inner_ = contiguous_dim(p_.draft, p_.accesses, p_.options.sizes);
    m_.layout.name = "L";
    if (p_.domain.is_folded(inner_))
      map_rows();
    else
      map_columns();
    m_.threads = std::max(m_.threads, kWarp);
    drop_empty_axes(m_.layout);
    bound_registers();
    return std::move(m_);
  }

 private:
  Mapping m_;
  std::vector<DimId> scanned_, kept_;

  void bound_registers() {
    std::int64_t registers = std::min<std::int64_t>(
        registers_wanted(p_, m_, inner_) + kScanRegisters, p_.target.max_registers);
    std::int64_t blocks = p_.target.registers_per_sm / (m_.threads * registers);
    m_.resident =
        static_cast<int>(std::clamp<std::int64_t>(blocks, 1, p_.target.max_blocks_per_sm));
  }

  // --- Along the contiguous dim ------------------------------------------------------------------

  void map_rows() {
    vec_ = inner_ == scanned_.back() ? widest_useful_vector() : 1;
    if (scanned_.size() > 1) vec_ = std::min(vec_, dividing_vector());
    Index row = extent(scanned_);
    bool aligned = scanned_.size() > 1 || !needs_frame();
    if (!aligned && !p_.sizes.is_at_least(row, kAlignedRow)) vec_ = 1;
    aligned = aligned || vec_ == 1;
    std::int64_t n = row_length(row, aligned ? 0 : vec_ - 1);
    while (vec_ > 1 && vec_ > n) vec_ /= 2;
    if (n > p_.target.max_threads_per_block * max_held())
      stream_rows(row, aligned);
    else
      hold_rows(row, aligned);
  }

  std::int64_t max_held() const { return std::min(kMaxHeld, max_slots()); }

  /// A row and, where vectors start early, its head.
  void hold_rows(const Index &row, bool aligned) {
    m_.form = Form::Resident;
    int head = aligned ? 0 : vec_ - 1;
    std::int64_t n = row_length(row, head), span = n + head;
    std::int64_t wanted =
        std::max<std::int64_t>(std::min(n <= 4096 ? 16 : kMaxHeld, max_held()), vec_);
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

  Axis rows_axis(std::int64_t rows, std::int64_t stride) const {
    return axis(kept_, {digit(DigitKind::Grid, ceildiv(extent(kept_), rows)),
                        digit(DigitKind::Thread, rows, stride)});
  }

  void stream_rows(const Index &row, bool aligned) {
    m_.form = Form::Streaming;
    std::int64_t threads = p_.sizes.is_at_least(row, kLongRow) ? 1024 : 256;
    std::int64_t regs =
        std::clamp<std::int64_t>(kLoopElements / vec_, 1, std::min(max_vectors(), kLoopElements));
    m_.threads = static_cast<int>(threads);
    Index span = aligned ? row : row + vec_ - 1;
    Axis columns =
        axis(scanned_, {digit(DigitKind::Loop, ceildiv(span, threads * vec_ * regs), 1, kRowLoop),
                        digit(DigitKind::Reg, regs), digit(DigitKind::Thread, threads),
                        digit(DigitKind::Vec, vec_)});
    if (!aligned) columns.align = alignment_frame();
    m_.layout.axes = {rows_axis(1, 1), columns};
  }

  // --- Across the contiguous dim -----------------------------------------------------------------

  std::vector<DimId> outer() const {
    std::vector<DimId> dims = kept_;
    std::erase(dims, inner_);
    return dims;
  }

  /// Narrow vectors where wide ones leave SMs without a block.
  void choose_column_vector(std::int64_t columns, std::int64_t tiles) {
    vec_ = std::min(widest_useful_vector(), dividing_vector());
    if (!starts_are_aligned()) vec_ = 1;
    while (vec_ > 1 && ceil_div(columns, kWarp * vec_) * tiles < 2 * p_.target.num_sms) vec_ /= 2;
  }

  void map_columns() {
    m_.form = Form::Streaming;
    Index columns = p_.domain.dims[inner_].extent;
    std::int64_t n = expected_at_least_1(columns), tiles = expected_at_least_1(extent(outer()));
    std::int64_t length = expected_at_least_1(extent(scanned_));
    choose_column_vector(n, tiles);
    std::int64_t lanes = std::min<std::int64_t>(kWarp, pow2_at_least(ceil_div(n, vec_)));
    std::int64_t regs = std::clamp<std::int64_t>(max_vectors(), 1, kColumnRows);
    std::int64_t threads = threads_of_tile(lanes, ceil_div(n, lanes * vec_) * tiles);
    std::int64_t down = std::min(threads / lanes, pow2_at_least(ceil_div(length, regs)));
    while (down > 1 && down * lanes * vec_ * state_bytes() > kExchangeBytes) down /= 2;
    m_.threads = static_cast<int>(lanes * down);
    Index across = ceildiv(columns, lanes * vec_);
    m_.layout.axes = {
        axis({inner_}, {digit(DigitKind::Grid, across), digit(DigitKind::Thread, lanes),
                        digit(DigitKind::Vec, vec_)})};
    if (!outer().empty())
      m_.layout.axes.push_back(axis(outer(), {digit(DigitKind::Grid, extent(outer()), across)}));
    m_.layout.axes.push_back(
        axis(scanned_, {digit(DigitKind::Loop, ceildiv(extent(scanned_), down * regs), 1, kRowLoop),
                        digit(DigitKind::Thread, down, lanes), digit(DigitKind::Reg, regs)}));
  }

  /// More along the columns where tiles of them are few.
  std::int64_t threads_of_tile(std::int64_t lanes, std::int64_t tiles) const {
    std::int64_t wanted = pow2_at_least(ceil_div(p_.target.num_sms * kThreadsPerSm, tiles));
    return std::clamp<std::int64_t>(wanted, std::max(kColumnThreads, lanes),
                                    p_.target.max_threads_per_block);
  }

  /// Of what a warp tells the others, for one column.
  std::int64_t state_bytes() const {
    constexpr std::int64_t kScanState = 16;  // of the widest: two f64
    return p_.reductions.state_bytes + kScanState * p_.reductions.scans;
  }
};

}  // namespace

Mapping map_scans(const MappingProblem &problem) { return Scanner(problem).map(); }

}  // namespace fuse
