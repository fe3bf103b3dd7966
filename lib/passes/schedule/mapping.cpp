// Layouts from extents, contiguity and what the target's SMs hold.
//
// Measured on the H200 (bench/results, by tuning): one 16-byte access a thread and 128 threads a
// block stream best, two where loads wait for positions or calls of Philox overlap; a row in
// registers is best at 16 elements a thread up to 1,024 columns, and up to 4,096 where its threads
// meet once, at 32 where they meet more often, and at 64 beyond, with the fewest threads that hold
// it.
#include "passes/schedule/mapping_builder.h"
#include "passes/schedule/tiles.h"

namespace fuse {

namespace {

constexpr int kSpareRegisters = 40;                // beside the elements: addresses, edges, states
constexpr std::int64_t kExchangeBytes = 47 << 10;  // shared memory that needs no opt-in, less flags
constexpr std::int64_t kLeastTile = 32;            // columns of a block: two sectors
constexpr std::int64_t kIdleShare = 8;             // one in so many lanes may be idle
constexpr std::int64_t kMinLanes = 16;             // neighbouring columns: a sector of 16-bit types

/// Kernels without reductions, and those whose folded dims lie outside a kept innermost one.
class Chooser : MappingBuilder {
 public:
  explicit Chooser(const MappingProblem &problem) : MappingBuilder(problem) {}

  Mapping choose() {
    if (p_.reductions.levels == 0)
      map_flat();
    else
      map_columns();
    return finished();
  }

  bool folds_innermost() const { return p_.reductions.levels > 0 && p_.domain.is_folded(inner_); }

 private:
  // --- No reductions -----------------------------------------------------------------------------

  void map_flat() {
    if (kept_.empty()) {
      m_.threads = 32;
      return;
    }
    // Sectors that are loaded in part wait for a neighbour in the cache, those stored do not.
    inner_ = contiguous_dim(p_.draft, p_.accesses, p_.usual_sizes, true);
    vec_ = widest_useful_vector();
    std::vector<DimId> dims = with_inner_last(kept_);
    bool one_dim = dims.size() == 1;
    if (!one_dim && dividing_vector() < vec_ && is_long_row(p_.domain.dims[inner_].extent))
      return map_flat_rows(dims);
    if (!one_dim) vec_ = std::min(vec_, dividing_vector());
    bool follows = one_dim && needs_frame();
    Index total = extent(dims) + (follows ? vec_ - 1 : 0);  // with a head that starts early
    m_.threads = block_threads(expected(total));
    std::int64_t block = m_.threads * vec_ * flat_vectors();
    m_.layout.axes = {axis(
        dims, {digit(DigitKind::Grid, ceildiv(total, block)), digit(DigitKind::Reg, flat_vectors()),
               digit(DigitKind::Thread, m_.threads), digit(DigitKind::Vec, vec_)})};
    if (follows && is_long_row(p_.domain.dims[inner_].extent)) align(m_.layout.axes[0]);
  }

  /// Of a thread: two where a load waits for its position, or words take long.
  std::int64_t flat_vectors() const {
    if (p_.common_threads > 0) return 1;
    bool waits = !p_.words.empty() ||
                 std::any_of(p_.accesses.begin(), p_.accesses.end(),
                             [](const Access &a) { return a.stmt->index.uses(Atom::Kind::Value); });
    return scaled(waits ? std::min<std::int64_t>(2, max_vectors()) : 1, p_.tuning.elements);
  }

  /// Fewer threads where the work is small, but whole warps.
  int block_threads(std::int64_t elements) const {
    if (p_.common_threads > 0) return p_.common_threads;
    std::int64_t wanted = pow2_at_least(ceil_div(elements, vec_));
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 32, tuned_threads(kPassThreads)));
  }

  /// Rows that no vector divides: outer dims on the grid, vectors follow the rows' alignment.
  void map_flat_rows(std::vector<DimId> dims) {
    dims.pop_back();
    Index row = p_.domain.dims[inner_].extent;
    m_.threads = block_threads(expected(row));
    std::int64_t block = m_.threads * vec_ * flat_vectors();
    Axis columns =
        axis({inner_}, {digit(DigitKind::Grid, ceildiv(row + vec_ - 1, block)),
                        digit(DigitKind::Reg, flat_vectors()), digit(DigitKind::Thread, m_.threads),
                        digit(DigitKind::Vec, vec_)});
    align(columns);
    Index across = ceildiv(row + vec_ - 1, block);
    m_.layout.axes = {axis(dims, {digit(DigitKind::Grid, extent(dims), across)}), columns};
  }

  // --- Folded dims outside a kept innermost one

  /// Short ones, of which a thread holds all.
  void map_thread_folds() {
    std::int64_t n = *extent(folded_).constant();
    std::int64_t most = std::min<std::int64_t>(kMaxElementsPerThread, max_slots());
    while (vec_ > 1 && n * vec_ > most) vec_ /= 2;
    m_.form = Form::Resident;
    Index total = extent(kept_);
    m_.threads = block_threads(expected(total));
    m_.layout.axes = {axis(with_inner_last(kept_),
                           {digit(DigitKind::Grid, ceildiv(total, m_.threads * vec_)),
                            digit(DigitKind::Thread, m_.threads), digit(DigitKind::Vec, vec_)}),
                      axis(folded_, {digit(DigitKind::Reg, n)})};
  }

  /// Of a block: lanes across, each with `vectors` of columns, and threads down, each with `unroll`
  /// rows at a time; so many blocks share the columns.
  struct ColumnTile {
    std::int64_t lanes = 1, down = 1, vectors = 1, unroll = 1, parts = 1;

    std::int64_t step() const { return down * unroll; }
  };

  void map_columns() {
    vec_ = std::min(vec_, dividing_vector());
    if (!starts_are_aligned() || numbers_rows(inner_)) vec_ = 1;
    if (folds_in_thread()) return map_thread_folds();
    Index columns = p_.domain.dims[inner_].extent;
    bool keeps = p_.reductions.reexpands || p_.reductions.levels > 1;
    std::int64_t n = keeps ? row_length(extent(folded_)) : expected_at_least_1(extent(folded_));
    ColumnTile t;
    t.lanes = std::min<std::int64_t>(32, pow2_at_least(ceil_div(usual(columns), vec_)));
    t.down = std::max<std::int64_t>(1, tuned_threads(kFlatThreads) / t.lanes);
    if (keeps && map_resident_columns(n, t.lanes, t.down)) return;
    fit_exchange(t.lanes * t.down, 2);  // wider vectors of so many states take many registers
    t.vectors = vectors_per_thread(usual(columns), t.lanes, t.lanes * t.down);
    t.unroll = unroll();
    if (!keeps) part_columns(t, n, usual(columns));
    m_.form = keeps || t.parts == 1 ? Form::Streaming : Form::Split;
    m_.threads = static_cast<int>(t.lanes * t.down);
    Index count = ceildiv(extent(folded_), t.parts * t.step());
    Axis folded =
        axis(folded_, {digit(DigitKind::Grid, t.parts), digit(DigitKind::Loop, count, 1, kRowLoop),
                       digit(DigitKind::Reg, t.unroll), digit(DigitKind::Thread, t.down, t.lanes)});
    std::vector<Axis> kept = column_axes(t.lanes, t.parts, t.vectors);
    m_.layout.axes = kept;
    m_.layout.axes.push_back(folded);
    if (m_.form != Form::Split) return;
    Index grid_tiles = ceildiv(columns, t.lanes * vec_ * t.vectors) * extent(outer());
    finish_split(m_.threads, t.parts, grid_tiles, kept[0], t.down, t.lanes);
    m_.finish.axes.insert(m_.finish.axes.begin(), kept.begin() + 1, kept.end());
  }

  /// Of a thread side by side, where pitches ask for narrow ones: what rows share is computed once
  /// for all, and enough bytes are under way.
  std::int64_t vectors_per_thread(std::int64_t columns, std::int64_t lanes,
                                  std::int64_t threads) const {
    if (numbers_rows(inner_)) return 1;
    std::int64_t vectors = std::max(1, widest_useful_vector() / vec_);
    auto fits = [&] {
      return columns >= lanes * vec_ * vectors && vectors * vec_ * unroll() <= max_slots() &&
             exchange_bytes(threads * vectors, 2) <= kExchangeBytes;
    };
    while (vectors > 1 && !fits()) vectors /= 2;
    return vectors;
  }

  std::int64_t tiles(const ColumnTile &t, std::int64_t columns) const {
    return ceil_div(columns, t.lanes * t.vectors * vec_);
  }

  /// Columns of n elements go to as many blocks as SMs hold at a time, but to none without any.
  void part_columns(ColumnTile &t, std::int64_t n, std::int64_t columns) const {
    t.parts = parts_of_columns(t, n, columns);
    if (rows_alike()) return;
    narrow(t, n, columns);
    std::int64_t steps = ceil_div(n, t.step());
    t.parts = ceil_div(steps, ceil_div(steps, t.parts));
  }

  /// Parts of columns of n elements, each a few steps long where outer dims do not count.
  std::int64_t parts_of_columns(const ColumnTile &t, std::int64_t n, std::int64_t columns) const {
    constexpr std::int64_t kSteps = 8, kBlocks = 4;
    std::int64_t blocks = kBlocks, shared = tiles(t, columns), steps = ceil_div(n, t.step());
    if (rows_alike())
      steps = ceil_div(n, kSteps * t.step());
    else
      shared *= expected_outer(), blocks = std::min(kBlocks, resident_blocks(t));
    std::int64_t parts = blocks * p_.target.num_sms / std::max<std::int64_t>(shared, 1);
    return std::clamp<std::int64_t>(scaled(parts, p_.tuning.blocks), 1, steps);
  }

  /// Of an SM, by registers.
  std::int64_t resident_blocks(const ColumnTile &t) const {
    Mapping trial;
    trial.form = Form::Split;
    trial.layout.axes = {
        axis({inner_}, {digit(DigitKind::Reg, t.vectors), digit(DigitKind::Vec, vec_)}),
        axis(folded_, {digit(DigitKind::Reg, t.unroll)})};
    std::int64_t registers = registers_wanted(p_, trial, inner_);
    return std::max<std::int64_t>(1, p_.target.registers_per_sm / (t.lanes * t.down * registers));
  }

  /// Half the lanes, and twice the rows at a time: where fewer of many lanes are idle then, or as
  /// many are and the last block of a tile would combine its parts in several steps.
  void narrow(ColumnTile &t, std::int64_t n, std::int64_t columns) const {
    auto idle = [&](const ColumnTile &some) {
      std::int64_t columns_of_tiles = tiles(some, columns) * some.lanes * some.vectors * vec_;
      return (columns_of_tiles - columns) * kIdleShare > columns ? columns_of_tiles - columns : 0;
    };
    while (t.lanes * t.vectors * vec_ > kLeastTile && t.lanes > 1) {
      ColumnTile half = t;
      half.lanes /= 2, half.down *= 2;
      half.parts = parts_of_columns(half, n, columns);
      bool combines_in_steps = t.parts > t.step() && idle(half) == idle(t);
      if (idle(half) >= idle(t) && !combines_in_steps) return;
      t = half;
    }
  }

  std::int64_t expected_outer() const { return expected_at_least_1(extent(outer())); }

  std::int64_t free_registers(std::int64_t threads) const {
    std::int64_t most = p_.target.registers_per_sm / threads;
    return std::min<std::int64_t>(most, p_.target.max_registers) - kSpareRegisters;
  }

  /// Narrows vectors until the states that warps tell one another fit in shared memory.
  void fit_exchange(std::int64_t threads, std::int64_t times) {
    while (vec_ > 1 && exchange_bytes(threads, times) > kExchangeBytes) vec_ /= 2;
  }

  std::int64_t exchange_bytes(std::int64_t threads, std::int64_t times) const {
    return threads * vec_ * p_.reductions.state_bytes * times;
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
    auto leaves_sms_idle = [&] {
      return !rows_alike() &&
             ceil_div(usual(p_.domain.dims[inner_].extent), lanes * vec_) * expected_outer() <
                 p_.target.num_sms;
    };
    while (vec_ > 1 && leaves_sms_idle()) vec_ /= 2;
    for (; lanes > kMinLanes && vec_ == 1 && (spills() || leaves_sms_idle()); lanes /= 2) down *= 2;
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
};

}  // namespace

Mapping choose_mapping(const MappingProblem &problem) {
  if (problem.domain.has_columns()) return map_rows_and_columns(problem);
  if (problem.reductions.scans > 0) return map_scans(problem);
  if (may_have_tiles(problem))
    if (std::optional<Mapping> tiles = map_tiles(problem)) return *std::move(tiles);
  Chooser chooser(problem);
  return chooser.folds_innermost() ? map_rows(problem) : chooser.choose();
}

}  // namespace fuse
