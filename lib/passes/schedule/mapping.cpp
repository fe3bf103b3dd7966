// Layouts from extents, contiguity and what the target's SMs hold.
//
// Measured on the H200 (bench/results): one 16-byte access a thread and 256 threads a block stream
// best; a row in registers is best at 16 elements a thread up to 1,024 columns, and up to 4,096
// where its threads meet once, at 32 where they meet more often, and at 64 beyond, with the fewest
// threads that hold it.
#include "passes/schedule/mapping_queries.h"
#include "passes/schedule/tiles.h"

namespace fuse {

namespace {

constexpr int kWarp = 32;
constexpr int kFlatThreads = 256;
constexpr int kRowThreads = 128;                   // of a block with several rows
constexpr int kSpareRegisters = 40;                // beside the elements: addresses, edges, states
constexpr std::int64_t kAlignedRow = 512;          // shorter rows are not worth a peeled head
constexpr std::int64_t kSplitRow = 4097;           // of few rows, each worth several blocks
constexpr std::int64_t kStreamedRow = 16385;       // that nothing is kept of
constexpr std::int64_t kLongRow = 65537;           // worth all threads of a block
constexpr std::int64_t kBlockThreads = 256;        // that hold a row alone before others help
constexpr int kLoopElements = 16;                  // of a thread in an iteration
constexpr std::int64_t kExchangeBytes = 47 << 10;  // shared memory that needs no opt-in, less flags
constexpr std::int64_t kMinLanes = 16;             // neighbouring columns: a sector of 16-bit types
constexpr int kUnroll = 4;                         // independent loads in flight in a loop

class Chooser : MappingQueries {
 public:
  explicit Chooser(const MappingProblem &problem) : MappingQueries(problem) {}

  Mapping choose() {
    inner_ = contiguous_dim(p_.draft, p_.accesses, p_.usual_sizes);
    folded_ = p_.domain.with_role(DimRole::Row);
    kept_ = p_.domain.with_role(DimRole::Kept);
    vec_ = widest_useful_vector();
    m_.layout.name = "L";
    if (p_.reductions.levels == 0)
      map_flat();
    else if (p_.domain.is_folded(inner_))
      map_rows();
    else
      map_columns();
    m_.threads = std::max(m_.threads, kWarp);
    drop_empty_axes(m_.layout);
    drop_empty_axes(m_.finish);
    bound_registers();
    return std::move(m_);
  }

 private:
  Mapping m_;
  std::vector<DimId> kept_, folded_;

  /// Without a bound the compiler trades occupancy for registers; kernels that wait for memory and
  /// barriers need the blocks.
  void bound_registers() {
    if (m_.form == Form::Flat) return;
    std::int64_t registers =
        std::min<std::int64_t>(registers_wanted(p_, m_, inner_), p_.target.max_registers);
    std::int64_t blocks = p_.target.registers_per_sm / (m_.threads * registers);
    m_.resident =
        static_cast<int>(std::clamp<std::int64_t>(blocks, 1, p_.target.max_blocks_per_sm));
  }

  // --- No reductions -----------------------------------------------------------------------------

  void map_flat() {
    if (kept_.empty()) {
      m_.threads = 32;
      return;
    }
    std::vector<DimId> dims = with_inner_last(kept_);
    bool one_dim = dims.size() == 1;
    if (!one_dim && dividing_vector() < vec_ && is_long_row(p_.domain.dims[inner_].extent))
      return map_flat_rows(dims);
    if (!one_dim) vec_ = std::min(vec_, dividing_vector());
    bool follows = one_dim && needs_frame();
    Index total = extent(dims) + (follows ? vec_ - 1 : 0);  // with a head that starts early
    m_.threads = block_threads(expected(total));
    std::int64_t block = m_.threads * vec_;
    m_.layout.axes = {
        axis(dims, {digit(DigitKind::Grid, ceildiv(total, block)),
                    digit(DigitKind::Thread, m_.threads), digit(DigitKind::Vec, vec_)})};
    if (follows && is_long_row(p_.domain.dims[inner_].extent)) align(m_.layout.axes[0]);
  }

  /// Fewer threads where the work is small, but whole warps.
  int block_threads(std::int64_t elements) const {
    if (p_.common_threads > 0) return p_.common_threads;
    std::int64_t wanted = pow2_at_least(ceil_div(elements, vec_));
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 32, kFlatThreads));
  }

  /// Rows that no vector divides: outer dims on the grid, vectors follow the rows' alignment.
  void map_flat_rows(std::vector<DimId> dims) {
    dims.pop_back();
    Index row = p_.domain.dims[inner_].extent;
    m_.threads = block_threads(expected(row));
    std::int64_t block = m_.threads * vec_;
    Axis columns =
        axis({inner_}, {digit(DigitKind::Grid, ceildiv(row + vec_ - 1, block)),
                        digit(DigitKind::Thread, m_.threads), digit(DigitKind::Vec, vec_)});
    align(columns);
    Index across = ceildiv(row + vec_ - 1, block);
    m_.layout.axes = {axis(dims, {digit(DigitKind::Grid, extent(dims), across)}), columns};
  }

  bool is_long_row(const Index &row) const { return p_.sizes.is_at_least(row, kAlignedRow); }

  /// Where rows start may depend on other axes only.
  void align(Axis &columns) {
    if (vec_ > 1 && columns.dims.size() == 1) columns.align = alignment_frame();
  }

  // --- Folded dims innermost ---------------------------------------------------------------------

  void map_rows() {
    if (folded_.size() > 1 || rows_alike()) vec_ = std::min(vec_, dividing_vector());
    Index row = extent(folded_);
    bool aligned = folded_.size() > 1 || !needs_frame();
    if (!aligned && (rows_alike() || !is_long_row(row))) vec_ = 1;
    aligned |= rows_alike();
    bool keeps = p_.reductions.reexpands || p_.reductions.levels > 1;
    if (!keeps && has_split_rows(row)) return map_split_rows(row, aligned);
    if (!keeps && p_.sizes.is_at_least(row, kStreamedRow)) return map_streaming_rows(row, aligned);
    std::int64_t n = row_length(row, aligned ? 0 : vec_ - 1);
    while (vec_ > 1 && vec_ > n) vec_ /= 2;
    if (n > max_row_threads(p_.target) * max_elements()) return map_streaming_rows(row, aligned);
    map_resident_rows(row, aligned);
  }

  /// Whether a row is worth several blocks: a long one, or one of few.
  bool has_split_rows(const Index &row) const {
    if (rows_alike()) return p_.sizes.is_at_least(row, kInvariantSplitRow);
    bool few = expected(extent(kept_)) < 2 * p_.target.num_sms;
    return few && p_.sizes.is_at_least(row, kSplitRow);
  }

  /// Blocks that share a row: one where a block of a few hundred threads holds it.
  std::int64_t blocks_of_row(std::int64_t span) const {
    if (span <= kBlockThreads * max_elements()) return 1;
    std::int64_t blocks = pow2_at_least(ceil_div(span, cluster_threads(span) * max_elements()));
    return blocks <= max_row_cluster(p_.target) ? blocks : 1;
  }

  /// Small blocks where as many as a cluster takes hold the row: more of them fill an SM. Threads
  /// that hold packed elements take few registers: larger blocks do, of which fewer meet.
  std::int64_t cluster_threads(std::int64_t span) const {
    std::int64_t held = max_row_cluster(p_.target) * kClusterThreads * max_elements();
    bool is_packed = p_.reductions.held_bytes % 4 != 0;
    return span <= held && !is_packed ? kClusterThreads : 2 * kClusterThreads;
  }

  /// Half as many where each takes two registers.
  int max_elements() const {
    int most = p_.reductions.held_bytes > 4 ? kMaxElementsPerThread / 2 : kMaxElementsPerThread;
    return static_cast<int>(std::min<std::int64_t>(most, max_slots()));
  }

  int elements_per_thread(std::int64_t n, bool has_head) const {
    std::int64_t medium = p_.reductions.exchanges > 1 || has_head ? 32 : 16;
    std::int64_t elements = n <= 1024 ? 16 : n <= 4096 ? medium : max_elements();
    return static_cast<int>(std::min<std::int64_t>(elements, max_elements()));
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
    std::int64_t blocks = blocks_of_row(span);
    std::int64_t wanted = std::max<std::int64_t>(elements_per_thread(n, head > 0), vec_);
    std::int64_t lanes = blocks > 1 ? cluster_threads(span) : row_threads(span, wanted);
    std::int64_t regs = ceil_div(span, blocks * lanes * vec_);
    m_.cluster = static_cast<int>(blocks);
    std::int64_t rows = std::max<std::int64_t>(1, kRowThreads / lanes);
    m_.threads = static_cast<int>(lanes * rows);
    Axis columns = axis(with_inner_last(folded_),
                        {digit(DigitKind::Reg, regs), digit(DigitKind::Cta, blocks),
                         digit(DigitKind::Thread, lanes), digit(DigitKind::Vec, vec_)});
    if (!aligned) align(columns);
    m_.layout.axes = {rows_axis(rows, lanes), columns};
    if (!row.constant())
      m_.limits.push_back({Limit::Kind::Capacity, row + head, blocks * lanes * regs * vec_,
                           "a row in the registers of a block"});
  }

  /// The kept dims: `rows` rows a block, at this stride of the thread index.
  Axis rows_axis(std::int64_t rows, std::int64_t stride) const {
    return axis(kept_, {digit(DigitKind::Grid, ceildiv(extent(kept_), rows)),
                        digit(DigitKind::Thread, rows, stride)});
  }

  /// Slots of a loop's iteration along rows and along columns; few where the body is long.
  std::int64_t unroll_rows() const {
    return std::clamp<std::int64_t>(kLoopElements / vec_, 1, max_vectors());
  }
  std::int64_t unroll() const { return std::min<std::int64_t>(kUnroll, max_vectors()); }

  void map_streaming_rows(const Index &row, bool aligned) {
    m_.form = Form::Streaming;
    std::int64_t threads = p_.sizes.is_at_least(row, kLongRow) ? 1024 : 256;
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

  /// Vectors of a thread in an iteration; fewer where SMs would have no block.
  std::int64_t unroll_split_rows(std::int64_t rows, std::int64_t n, std::int64_t step) const {
    std::int64_t vectors = unroll_rows();
    while (vectors > 1 && rows * ceil_div(n, step * vectors) < p_.target.num_sms) vectors /= 2;
    return vectors;
  }

  /// Elements that a block passes over at a time, and the parts of a row.
  struct RowParts {
    std::int64_t unrolled, parts;
  };

  RowParts parts_of_few_rows(const Index &row) const {
    std::int64_t rows = expected_at_least_1(extent(kept_)), n = expected_at_least_1(row);
    std::int64_t unrolled = unroll_split_rows(rows, n, kFlatThreads * vec_);
    std::int64_t useful = ceil_div(n, kFlatThreads * vec_ * unrolled);
    return {unrolled, std::clamp<std::int64_t>(p_.target.num_sms * 8 / rows, 1, useful)};
  }

  void map_split_rows(const Index &row, bool aligned) {
    Index span = aligned ? row : row + vec_ - 1;
    auto [unrolled, parts] =
        rows_alike() ? RowParts{unroll_rows(), invariant_parts(row_length(row), p_.target)}
                     : parts_of_few_rows(row);
    std::int64_t threads = kFlatThreads, step = threads * vec_ * unrolled;
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

  // --- Folded dims outside a kept innermost one

  /// Whether a dim numbers rows: vectors along it depend on how many there are.
  bool numbers_rows(DimId d) const {
    return any_atom(p_.domain.dims[d].extent,
                    [&](const Atom &a) { return p_.row_symbols.contains(a.symbol); });
  }

  void map_columns() {
    vec_ = std::min(vec_, dividing_vector());
    if (!starts_are_aligned() || numbers_rows(inner_)) vec_ = 1;
    Index columns = p_.domain.dims[inner_].extent;
    bool keeps = p_.reductions.reexpands || p_.reductions.levels > 1;
    std::int64_t n = keeps ? row_length(extent(folded_)) : expected_at_least_1(extent(folded_));
    std::int64_t lanes = std::min<std::int64_t>(32, pow2_at_least(ceil_div(usual(columns), vec_)));
    std::int64_t down = kFlatThreads / lanes;
    if (keeps && map_resident_columns(n, lanes, down)) return;
    fit_exchange(lanes * down, 2);  // the last block of a split combines its parts too
    std::int64_t step = down * unroll();
    std::int64_t parts =
        keeps ? 1 : parts_of_columns(n, ceil_div(usual(columns), lanes * vec_), step);
    m_.form = keeps || parts == 1 ? Form::Streaming : Form::Split;
    m_.threads = static_cast<int>(lanes * down);
    Index count = ceildiv(extent(folded_), parts * step);
    Axis folded =
        axis(folded_, {digit(DigitKind::Grid, parts), digit(DigitKind::Loop, count, 1, kRowLoop),
                       digit(DigitKind::Reg, unroll()), digit(DigitKind::Thread, down, lanes)});
    std::vector<Axis> kept = column_axes(lanes, parts);
    m_.layout.axes = kept;
    m_.layout.axes.push_back(folded);
    if (m_.form != Form::Split) return;
    Index grid_tiles = ceildiv(columns, lanes * vec_) * extent(outer());
    finish_split(m_.threads, parts, grid_tiles, kept[0], down, lanes);
    m_.finish.axes.insert(m_.finish.axes.begin(), kept.begin() + 1, kept.end());
  }

  /// Parts of columns of n elements, each a few steps long where outer dims do not count.
  std::int64_t parts_of_columns(std::int64_t n, std::int64_t tiles, std::int64_t step) const {
    constexpr std::int64_t kSteps = 8;
    if (!rows_alike()) tiles *= expected_outer();
    std::int64_t most = ceil_div(n, rows_alike() ? kSteps * step : step);
    return std::clamp<std::int64_t>(4 * p_.target.num_sms / std::max<std::int64_t>(tiles, 1), 1,
                                    most);
  }

  std::vector<DimId> outer() const {
    std::vector<DimId> dims = kept_;
    std::erase(dims, inner_);
    return dims;
  }

  std::int64_t expected_outer() const { return expected_at_least_1(extent(outer())); }

  /// Columns across lanes, outer kept dims on the grid; `stride` blocks share a tile.
  std::vector<Axis> column_axes(std::int64_t lanes, const Index &stride) const {
    Index across = ceildiv(p_.domain.dims[inner_].extent, lanes * vec_);
    std::vector<Axis> axes = {
        axis({inner_}, {digit(DigitKind::Grid, across, stride), digit(DigitKind::Thread, lanes),
                        digit(DigitKind::Vec, vec_)})};
    if (!outer().empty())
      axes.push_back(axis(outer(), {digit(DigitKind::Grid, extent(outer()), across * stride)}));
    return axes;
  }

  std::int64_t free_registers(std::int64_t threads) const {
    std::int64_t most = p_.target.registers_per_sm / threads;
    return std::min<std::int64_t>(most, p_.target.max_registers) - kSpareRegisters;
  }

  /// Narrows vectors until the states that warps tell one another fit in shared memory.
  void fit_exchange(std::int64_t threads, std::int64_t times) {
    while (vec_ > 1 && threads * vec_ * p_.reductions.state_bytes * times > kExchangeBytes)
      vec_ /= 2;
  }

  /// All of the folded extent in registers, if it fits with narrower vectors or more threads.
  bool map_resident_columns(std::int64_t n, std::int64_t lanes, std::int64_t down) {
    std::int64_t most = std::min<std::int64_t>(kMaxElementsPerThread, max_slots());
    auto fits = [&] { return ceil_div(n, down) * vec_ <= most; };
    while (!fits() && lanes * down < p_.target.max_threads_per_block) down *= 2;
    while (!fits() && vec_ > 1) vec_ /= 2;
    if (!fits()) return false;
    auto spills = [&] {
      std::int64_t bytes = ceil_div(n, down) * vec_ * p_.reductions.held_bytes;
      return ceil_div(bytes, 4) > free_registers(lanes * down);
    };
    for (; lanes > kMinLanes && vec_ == 1 && spills(); lanes /= 2) down *= 2;
    m_.form = Form::Resident;
    while (down > 1 && down / 2 * unroll() >= n) down /= 2;
    fit_exchange(lanes * down, 1);
    std::int64_t held = ceil_div(n, down) * kept_values(), registers = free_registers(lanes * down);
    while (vec_ > 1 && held * vec_ > registers) vec_ /= 2;
    std::int64_t regs = ceil_div(n, down);
    m_.threads = static_cast<int>(lanes * down);
    m_.layout.axes = column_axes(lanes, 1);
    m_.layout.axes.push_back(
        axis(folded_, {digit(DigitKind::Reg, regs), digit(DigitKind::Thread, down, lanes)}));
    if (!extent(folded_).constant())
      m_.limits.push_back({Limit::Kind::Capacity, extent(folded_), down * regs,
                           "folded dims in the registers of a block"});
    return true;
  }

  /// The last block of a tile reads the parts with `down` threads at this stride.
  void finish_split(std::int64_t threads, std::int64_t parts, const Index &tiles, Axis kept,
                    std::int64_t down, std::int64_t stride) {
    m_.threads = static_cast<int>(threads);
    m_.form = parts == 1 ? Form::Streaming : Form::Split;
    if (parts == 1) return;
    m_.parts = parts;
    m_.tiles = tiles;
    auto first = static_cast<DimId>(p_.domain.dims.size());
    m_.split = first;
    m_.part = first + 1;
    m_.tile = first + 2;
    // These dims name digits of the block index that other axes hold.
    m_.layout.axes.push_back({{m_.split}, {digit(DigitKind::Grid, parts)}, {}});
    m_.layout.axes.push_back({{m_.tile}, {digit(DigitKind::Grid, tiles, parts)}, {}});
    m_.finish.name = "F";
    m_.finish.axes = {
        std::move(kept),
        axis({m_.part}, {digit(DigitKind::Loop, ceil_div(parts, down * unroll()), 1, kPartLoop),
                         digit(DigitKind::Reg, unroll()), digit(DigitKind::Thread, down, stride)})};
  }
};

}  // namespace

Mapping choose_mapping(const MappingProblem &problem) {
  if (problem.domain.has_columns()) return map_rows_and_columns(problem);
  if (problem.reductions.levels == 0)
    if (std::optional<Mapping> tiles = map_tiles(problem)) return *std::move(tiles);
  return Chooser(problem).choose();
}

}  // namespace fuse
