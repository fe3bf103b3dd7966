// Rows of contiguous elements: in the registers of a block or a cluster, in a loop, or in parts.
#include "passes/schedule/choose_pipe.h"
#include "passes/schedule/mapping_builder.h"

namespace fuse {

namespace {

constexpr std::int64_t kSplitRow = 4097;            // of few rows, each worth several blocks
constexpr std::int64_t kStreamedRow = 16385;        // that nothing is kept of
constexpr std::int64_t kBlockThreads = 256;         // that hold a row alone before others help
constexpr std::int64_t kRowBytesOnChip = 96 << 10;  // of an SM: more hide no more latency
constexpr std::int64_t kPipedStage = 36 << 10;      // of a row, in each of two blocks of an SM
constexpr std::int64_t kPipedStages = 3;            // one worked on, two under way
constexpr std::int64_t kMinPipedRows = 4;           // of a cluster, for which it stays
constexpr std::int64_t kWarpRowBytes = 4 << 10;     // that a warp passes over, not a block
constexpr std::int64_t kMinWarpRows = 64;           // for each SM, which then has them under way
constexpr std::int64_t kBytesUnderWay = 64;         // of a thread in an iteration

class Rows : MappingBuilder {
 public:
  explicit Rows(const MappingProblem &problem) : MappingBuilder(problem) {}

  Mapping map() {
    choose_form();
    return finished();
  }

 private:
  void choose_form() {
    if (folded_.size() > 1 || rows_alike()) vec_ = std::min(vec_, dividing_vector());
    Index row = extent(folded_);
    bool aligned = folded_.size() > 1 || !needs_frame();
    if (!aligned && (rows_alike() || !is_long_row(row))) vec_ = 1;
    // What rows share is read by element then: neighbouring lanes of short vectors share lines.
    if (!aligned && shares_operand()) vec_ = std::min(vec_, std::max(2, vec_ / 2));
    aligned |= rows_alike();
    bool keeps = p_.reductions.reexpands || p_.reductions.levels > 1;
    if (!keeps && has_split_rows(row)) return map_split_rows(row, aligned);
    bool may_hold = p_.tuning.rows == RowForm::ByRule || p_.tuning.rows == RowForm::Held;
    bool holds = keeps || p_.tuning.rows == RowForm::Held;
    if (!holds && p_.sizes.is_at_least(row, kStreamedRow)) return map_streaming_rows(row, aligned);
    if (!holds && may_hold && is_worth_a_warp(row)) return map_warp_rows(row, aligned);
    std::int64_t n = row_length(row, aligned ? 0 : vec_ - 1);
    while (vec_ > 1 && vec_ > n) vec_ /= 2;
    bool fits = n <= max_row_threads(p_.target) * max_elements();
    if (may_hold && fits) return map_resident_rows(row, aligned);
    // Symbolic rows of this length are in no tier.
    bool may_pipe = p_.tuning.rows == RowForm::ByRule || p_.tuning.rows == RowForm::Piped;
    if (may_pipe && aligned && row.constant() && map_piped_rows(n)) return;
    map_streaming_rows(row, aligned);
  }

  /// Whether a row is worth several blocks: a long one, or one of few.
  bool has_split_rows(const Index &row) const {
    if (rows_alike()) return p_.sizes.is_at_least(row, kInvariantSplitRow);
    bool few = expected(extent(kept_)) < 2 * p_.target.num_sms;
    return few && p_.sizes.is_at_least(row, kSplitRow);
  }

  /// Blocks that share a row, and their threads.
  struct ClusterShape {
    std::int64_t blocks = 1, threads = 0;
  };

  /// Whether a thread holds elements as they came, several in a register.
  bool is_packed() const { return p_.reductions.held_bytes % 4 != 0; }

  /// Whether one block of all threads holds the row packed, and so much of it that a cluster would
  /// hold no more on an SM: it does without a cluster's barriers, unless half the SMs have no row.
  bool fills_sm(std::int64_t span) const {
    std::int64_t threads = p_.target.max_threads_per_block, held = p_.reductions.held_bytes;
    if (!rows_alike() && 2 * expected(extent(kept_)) <= p_.target.num_sms) return false;
    bool is_much = is_packed() && span * held >= kRowBytesOnChip;
    return is_much && span <= threads * max_elements() && bytes_on_chip(span, 1, threads) > 0;
  }

  /// One block where a few hundred threads hold the row, or a whole block fills an SM. Else what
  /// keeps most of the rows on chip, with threads that hold twice as many elements where that is
  /// too little. Of large blocks fewer meet, small ones fill an SM better: they do where elements
  /// take registers of their own.
  ClusterShape cluster_of_row(std::int64_t span) const {
    if (span <= kBlockThreads * max_elements() || fills_sm(span)) return {};
    std::int64_t best_held = 0;
    ClusterShape best;
    for (std::int64_t most : {max_elements(), 2 * max_elements()}) {
      for (std::int64_t factor : {is_packed() ? 2 : 1, is_packed() ? 1 : 2}) {
        std::int64_t threads = factor * kClusterThreads;
        std::int64_t blocks = pow2_at_least(ceil_div(span, threads * most));
        if (blocks > max_row_cluster(p_.target)) continue;
        std::int64_t held = bytes_on_chip(span, blocks, threads);
        if (held > best_held) best = {blocks, threads};
        best_held = std::max(best_held, held);
      }
      if (best_held >= kRowBytesOnChip) break;
    }
    return best;
  }

  /// Of a thread that holds so many vectors of a row.
  std::int64_t registers_holding(std::int64_t vectors) const {
    Mapping trial;
    trial.form = Form::Resident;
    trial.layout.axes = {
        axis({inner_}, {digit(DigitKind::Reg, vectors), digit(DigitKind::Vec, vec_)})};
    return registers_wanted(p_, trial, inner_);
  }

  /// Of the tensors that pass through, in the registers of an SM at once.
  std::int64_t bytes_on_chip(std::int64_t span, std::int64_t blocks, std::int64_t threads) const {
    std::int64_t vectors = ceil_div(span, blocks * threads * vec_), elements = vectors * vec_;
    std::int64_t registers = registers_holding(vectors);
    if (registers > p_.target.max_registers) return 0;
    std::int64_t resident = p_.target.registers_per_sm / (threads * registers);
    return resident * threads * elements * std::max<std::int64_t>(1, streamed_bytes());
  }

  /// Half as many where each takes two registers.
  int max_elements() const {
    int most = p_.reductions.held_bytes > 4 ? kMaxElementsPerThread / 2 : kMaxElementsPerThread;
    return static_cast<int>(std::min<std::int64_t>(most, max_slots()));
  }

  /// Fewer where their registers would be more than a thread has.
  std::int64_t elements_that_fit(std::int64_t elements) const {
    while (elements > vec_ && registers_holding(elements / vec_) > p_.target.max_registers)
      elements /= 2;
    return std::max<std::int64_t>(elements, vec_);
  }

  int elements_per_thread(std::int64_t n, bool has_head) const {
    bool meets_once = p_.reductions.exchanges <= 1;
    std::int64_t medium = meets_once && !has_head ? 16 : 32;
    std::int64_t large = meets_once && n <= 8192 ? 32 : max_elements();
    std::int64_t elements = n <= 1024 ? 16 : n <= 4096 ? medium : large;
    // Two vectors, one under way and one in work, where threads enough are left.
    if (n >= 2 * vec_ * kRowThreads) elements = std::max<std::int64_t>(elements, 2 * vec_);
    elements = std::min<std::int64_t>(scaled(elements, p_.tuning.elements), max_elements());
    return static_cast<int>(std::max<std::int64_t>(elements, vec_));
  }

  /// A few elements more in each thread rather than twice the threads.
  std::int64_t row_threads(std::int64_t span, std::int64_t wanted) const {
    std::int64_t most = std::max(wanted, std::min<std::int64_t>(wanted * 5 / 4, max_elements()));
    return std::min<std::int64_t>(pow2_at_least(ceil_div(span, most)),
                                  p_.target.max_threads_per_block);
  }

  void map_resident_rows(const Index &row, bool aligned) {
    m_.form = Form::Resident;
    int head = aligned ? 0 : vec_ - 1;  // where vectors start early
    std::int64_t n = row_length(row, head), span = n + head;
    ClusterShape shape = cluster_of_row(span);
    std::int64_t blocks = std::clamp<std::int64_t>(scaled(shape.blocks, p_.tuning.blocks), 1,
                                                   max_row_cluster(p_.target));
    // Vectors that start elsewhere in each row share no positions.
    std::int64_t abreast = blocks > 1 || !aligned ? 1 : scaled(1, p_.tuning.abreast);
    std::int64_t wanted = elements_that_fit(elements_per_thread(n, head > 0)) / abreast;
    wanted = std::max<std::int64_t>(wanted, vec_);
    std::int64_t lanes = blocks > 1 ? tuned_threads(shape.threads) : row_threads(span, wanted);
    std::int64_t regs = ceil_div(span, blocks * lanes * vec_);
    m_.cluster = static_cast<int>(blocks);
    std::int64_t rows = std::max<std::int64_t>(1, tuned_threads(kRowThreads) / lanes);
    m_.threads = static_cast<int>(lanes * rows);
    Axis columns = axis(with_inner_last(folded_),
                        {digit(DigitKind::Reg, regs), digit(DigitKind::Cta, blocks),
                         digit(DigitKind::Thread, lanes), digit(DigitKind::Vec, vec_)});
    if (!aligned) align(columns);
    m_.layout.axes = {rows_axis(rows, lanes, abreast), columns};
    add_row_limit(row + head, blocks * lanes * regs * vec_);
  }

  /// A cluster passes over rows that are too long for its registers otherwise: later ones are under
  /// way while it meets. Rows that fit are better off without (82 against 62 % of copy).
  bool map_piped_rows(std::int64_t n) {
    if (p_.target.sm < kBulkCopies || rows_alike()) return false;
    std::int64_t bytes = streamed_bytes(), blocks = 2;
    auto stage = [&] { return ceil_div(n, blocks) * bytes; };
    while (stage() > kPipedStage && blocks < max_row_cluster(p_.target)) blocks *= 2;
    blocks =
        std::clamp<std::int64_t>(scaled(blocks, p_.tuning.blocks), 2, max_row_cluster(p_.target));
    std::int64_t per_sm = stage() <= kPipedStage ? 2 : 1;
    if (bytes == 0 || kPipedStages * stage() * per_sm > p_.target.shared_per_sm) return false;
    std::int64_t lanes = p_.target.max_threads_per_block / per_sm;
    std::int64_t clusters = std::max<std::int64_t>(1, usable_sms(blocks) / blocks * per_sm);
    if (expected(extent(kept_)) < kMinPipedRows * clusters) return false;
    std::int64_t regs = ceil_div(n, blocks * lanes * vec_);
    if (regs * vec_ > max_elements()) return false;
    m_.form = Form::Resident;
    m_.cluster = static_cast<int>(blocks);
    m_.threads = static_cast<int>(lanes);
    m_.layout.axes = {
        axis(kept_, {digit(DigitKind::Loop, ceildiv(extent(kept_), clusters), 1, kRowLoop),
                     digit(DigitKind::Grid, clusters)}),
        axis(with_inner_last(folded_), piped_digits(regs, blocks, lanes))};
    return true;
  }

  /// The threads apart where they pass over the inner dim: bulk copies move what lies side by side.
  std::vector<Digit> piped_digits(std::int64_t regs, std::int64_t blocks, std::int64_t lanes) {
    std::vector<Digit> digits = {digit(DigitKind::Reg, regs), digit(DigitKind::Cta, blocks)};
    std::int64_t inner = p_.domain.dims[inner_].extent.constant().value_or(0), rows = 1;
    if (folded_.size() > 1 && inner > 0 && inner % vec_ == 0 && lanes * vec_ % inner == 0)
      rows = lanes * vec_ / inner;
    digits.push_back(digit(DigitKind::Thread, rows, lanes / rows));
    digits.push_back(digit(DigitKind::Thread, lanes / rows));
    digits.push_back(digit(DigitKind::Vec, vec_));
    return digits;
  }

  std::int64_t usable_sms(std::int64_t blocks) const {
    return static_cast<std::int64_t>(p_.target.usable_sms(static_cast<int>(blocks)));
  }

  void add_row_limit(const Index &span, std::int64_t capacity) {
    if (!span.constant())
      m_.limits.push_back(
          {Limit::Kind::Capacity, span, capacity, "a row in the registers of a block"});
  }

  /// Slots of a loop's iteration along rows and along columns; few where the body is long.
  std::int64_t unroll_rows() const {
    return std::clamp<std::int64_t>(scaled(kLoopElements / vec_, p_.tuning.elements), 1,
                                    max_vectors());
  }

  void map_streaming_rows(const Index &row, bool aligned) {
    m_.form = Form::Streaming;
    std::int64_t threads = tuned_threads(p_.sizes.is_at_least(row, kLongRow) ? 512 : 256);
    m_.threads = static_cast<int>(threads);
    std::int64_t step = threads * vec_ * unroll_rows();
    Index span = aligned ? row : row + vec_ - 1;
    Axis columns = axis(with_inner_last(folded_),
                        {digit(DigitKind::Loop, ceildiv(span, step), 1, kRowLoop),
                         digit(DigitKind::Reg, unroll_rows()), digit(DigitKind::Thread, threads),
                         digit(DigitKind::Vec, vec_)});
    if (!aligned) align(columns);
    m_.layout.axes = {rows_axis(1, 1), columns};
  }

  /// Rows of which nothing is kept, too short to keep a block's threads busy on their way from
  /// memory: a warp passes over one, and no warp waits for another.
  bool is_worth_a_warp(const Index &row) const {
    if (expected(row) * streamed_bytes() > kWarpRowBytes || !is_long_row(row)) return false;
    return rows_alike() || expected(extent(kept_)) >= kMinWarpRows * p_.target.num_sms;
  }

  /// Of one position of a row, in tensors that no other row reads.
  std::int64_t streamed_bytes() const {
    std::int64_t bytes = 0;
    for (const Access &a : p_.accesses)
      if (a.stmt->kind == StmtKind::Load && a.dims.size() == p_.domain.dims.size())
        bytes += static_cast<std::int64_t>(size_of(a.dtype));
    return bytes;
  }

  /// Independent loads of a thread in an iteration, of each of its rows.
  std::int64_t vectors_under_way(std::int64_t rows) const {
    std::int64_t bytes = std::max<std::int64_t>(1, streamed_bytes() * vec_ * rows);
    return std::clamp<std::int64_t>(scaled(kBytesUnderWay / bytes, p_.tuning.elements), 1,
                                    max_vectors());
  }

  /// Whether there is a vector that all rows read.
  bool shares_operand() const {
    return std::any_of(p_.accesses.begin(), p_.accesses.end(), [&](const Access &a) {
      return a.stmt->kind == StmtKind::Load && is_contiguous(a) &&
             a.dims.size() < p_.domain.dims.size();
    });
  }

  /// What all rows read is loaded once for two.
  std::int64_t rows_of_thread() const { return shares_operand() ? 2 : 1; }

  void map_warp_rows(const Index &row, bool aligned) {
    m_.form = Form::Streaming;
    m_.threads = static_cast<int>(tuned_threads(kRowThreads));
    std::int64_t warps = m_.threads / kWarp, rows = rows_of_thread();
    std::int64_t unrolled = vectors_under_way(rows);
    Index span = aligned ? row : row + vec_ - 1;
    Axis columns =
        axis(with_inner_last(folded_),
             {digit(DigitKind::Loop, ceildiv(span, kWarp * vec_ * unrolled), 1, kRowLoop),
              digit(DigitKind::Reg, unrolled), digit(DigitKind::Thread, kWarp),
              digit(DigitKind::Vec, vec_)});
    if (!aligned) align(columns);
    Axis kept = axis(kept_, {digit(DigitKind::Grid, ceildiv(extent(kept_), warps * rows)),
                             digit(DigitKind::Thread, warps, kWarp), digit(DigitKind::Reg, rows)});
    m_.layout.axes = {kept, columns};
  }

  /// Vectors of a thread in an iteration; fewer where SMs would have no block.
  std::int64_t unroll_split_rows(std::int64_t rows, std::int64_t n, std::int64_t step) const {
    std::int64_t vectors = vectors_under_way(1);
    while (vectors > 1 && rows * ceil_div(n, step * vectors) < p_.target.num_sms) vectors /= 2;
    return vectors;
  }

  /// Elements that a block passes over at a time, and the parts of a row.
  struct RowParts {
    std::int64_t unrolled, parts;
  };

  RowParts parts_of_few_rows(const Index &row) const {
    std::int64_t rows = expected_at_least_1(extent(kept_)), n = expected_at_least_1(row);
    std::int64_t unrolled = unroll_split_rows(rows, n, tuned_threads(kFlatThreads) * vec_);
    std::int64_t useful = ceil_div(n, tuned_threads(kFlatThreads) * vec_ * unrolled);
    std::int64_t parts = scaled(p_.target.num_sms * 8 / rows, p_.tuning.blocks);
    return {unrolled, std::clamp<std::int64_t>(parts, 1, useful)};
  }

  void map_split_rows(const Index &row, bool aligned) {
    Index span = aligned ? row : row + vec_ - 1;
    auto [unrolled, parts] =
        rows_alike() ? RowParts{unroll_rows(), invariant_parts(row_length(row), p_.target)}
                     : parts_of_few_rows(row);
    std::int64_t threads = tuned_threads(kFlatThreads), step = threads * vec_ * unrolled;
    Index count = ceildiv(span, parts * step);
    Index grid_rows = extent(kept_);
    Axis columns = axis(with_inner_last(folded_),
                        {digit(DigitKind::Grid, parts), digit(DigitKind::Loop, count, 1, kRowLoop),
                         digit(DigitKind::Reg, unrolled), digit(DigitKind::Thread, threads),
                         digit(DigitKind::Vec, vec_)});
    if (!aligned) align(columns);
    m_.layout.axes = {axis(kept_, {digit(DigitKind::Grid, grid_rows, parts)}), columns};
    finish_split(threads, parts, grid_rows, m_.layout.axes[0], threads, 1);
  }
};

}  // namespace

Mapping map_rows(const MappingProblem &problem) { return Rows(problem).map(); }

}  // namespace fuse
