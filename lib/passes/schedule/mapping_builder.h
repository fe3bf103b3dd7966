// What the choices of a mapping share beside their questions: the mapping that is being made.
#pragma once

#include "passes/schedule/mapping_queries.h"

namespace fuse {

inline constexpr std::int64_t kWarp = 32;
inline constexpr std::int64_t kFlatThreads = 256;
inline constexpr std::int64_t kPassThreads = 128;  // of kernels without reductions
inline constexpr std::int64_t kAlignedRow = 512;   // shorter rows are not worth a peeled head
inline constexpr std::int64_t kRowThreads = 128;   // of a block with several rows
inline constexpr std::int64_t kLongRow = 65537;    // worth all threads of a block
inline constexpr std::int64_t kLoopElements = 16;  // of a thread in an iteration
inline constexpr int kUnroll = 4;                  // independent loads in flight in a loop

class MappingBuilder : protected MappingQueries {
 protected:
  explicit MappingBuilder(const MappingProblem &problem)
      : MappingQueries(problem),
        folded_(p_.domain.with_role(DimRole::Row)),
        kept_(p_.domain.with_role(DimRole::Kept)) {
    inner_ = contiguous_dim(p_.draft, p_.accesses, p_.usual_sizes);
    vec_ = widest_useful_vector();
    m_.layout.name = "L";
  }

  Mapping m_;
  std::vector<DimId> folded_, kept_;

  Mapping finished() {
    m_.threads = std::max(m_.threads, static_cast<int>(kWarp));
    drop_empty_axes(m_.layout);
    drop_empty_axes(m_.finish);
    bound_registers();
    return std::move(m_);
  }

  std::int64_t unroll() const {
    return std::min<std::int64_t>(scaled(kUnroll, p_.tuning.elements), max_vectors());
  }

  /// Of a block: as many as the rules say, times what tuning asks for.
  std::int64_t tuned_threads(std::int64_t threads) const {
    return std::clamp<std::int64_t>(scaled(threads, p_.tuning.threads), kWarp,
                                    p_.target.max_threads_per_block);
  }

  bool is_long_row(const Index &row) const { return p_.sizes.is_at_least(row, kAlignedRow); }

  /// Where rows start may depend on other axes only.
  void align(Axis &columns) {
    if (vec_ > 1 && columns.dims.size() == 1) columns.align = alignment_frame();
  }

  std::vector<DimId> outer() const {
    std::vector<DimId> dims = kept_;
    std::erase(dims, inner_);
    return dims;
  }

  /// Columns across lanes, `vectors` of each; outer kept dims on the grid; `stride` blocks share a
  /// tile.
  std::vector<Axis> column_axes(std::int64_t lanes, const Index &stride,
                                std::int64_t vectors = 1) const {
    Index across = ceildiv(p_.domain.dims[inner_].extent, lanes * vec_ * vectors);
    std::vector<Axis> axes = {
        axis({inner_}, {digit(DigitKind::Grid, across, stride), digit(DigitKind::Reg, vectors),
                        digit(DigitKind::Thread, lanes), digit(DigitKind::Vec, vec_)})};
    if (!outer().empty())
      axes.push_back(axis(outer(), {digit(DigitKind::Grid, extent(outer()), across * stride)}));
    return axes;
  }

  /// The kept dims: `rows` times `abreast` rows a block, at this stride of the thread index, and
  /// neighbours in one thread.
  Axis rows_axis(std::int64_t rows, std::int64_t stride, std::int64_t abreast = 1) const {
    return axis(kept_, {digit(DigitKind::Grid, ceildiv(extent(kept_), rows * abreast)),
                        digit(DigitKind::Thread, rows, stride), digit(DigitKind::Reg, abreast)});
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

  /// Without a bound the compiler trades occupancy for registers; kernels that wait for memory and
  /// barriers need the blocks.
  void bound_registers() {
    if (tuned_resident(p_, m_)) return;
    if (m_.form == Form::Flat && p_.words.empty()) return;
    std::int64_t registers =
        std::min<std::int64_t>(registers_wanted(p_, m_, inner_), p_.target.max_registers);
    std::int64_t blocks = p_.target.registers_per_sm / (m_.threads * registers);
    m_.resident = static_cast<int>(
        std::clamp<std::int64_t>(in_one_wave(blocks), 1, p_.target.max_blocks_per_sm));
  }

  /// A few more blocks with fewer registers rather than a second wave of a few.
  std::int64_t in_one_wave(std::int64_t blocks) const {
    std::int64_t all = m_.cluster;
    for (const Axis &a : m_.layout.axes) {
      if (a.dims[0] >= p_.domain.dims.size()) continue;  // a name of digits that others hold
      for (const Digit &d : a.digits)
        if (d.kind == DigitKind::Grid) all *= expected_at_least_1(d.extent);
    }
    std::int64_t wanted = ceil_div(all, p_.target.num_sms);
    return wanted > blocks && wanted <= blocks * 4 / 3 ? wanted : blocks;
  }
};

/// For domains whose innermost dim is folded.
Mapping map_rows(const MappingProblem &problem);

}  // namespace fuse
