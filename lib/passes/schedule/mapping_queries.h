// Questions that every choice of a mapping asks of its problem.
#pragma once

#include "passes/row_limits.h"
#include "passes/schedule/mapping.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace fuse {

inline Digit digit(DigitKind kind, Index extent, Index stride = 1, std::string name = {}) {
  return {kind, std::move(extent), std::move(stride), std::move(name)};
}

inline std::int64_t pow2_at_least(std::int64_t n) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class MappingQueries {
 public:
  explicit MappingQueries(const MappingProblem &problem) : p_(problem) {}

 protected:
  const MappingProblem &p_;
  DimId inner_ = 0;  // offsets advance along it by one element
  int vec_ = 1;      // elements of a thread's access along it

  Index extent(const std::vector<DimId> &dims) const { return extent_of(p_.domain.dims, dims); }

  /// What a rule chooses, with the power of two that tuning asks for.
  static std::int64_t scaled(std::int64_t value, int log2) {
    return log2 >= 0 ? value << log2 : std::max<std::int64_t>(1, value >> -log2);
  }

  std::int64_t expected(const Index &index) const { return p_.sizes.expected(index); }

  /// The value of an extent of kept dims.
  std::int64_t usual(const Index &index) const {
    return p_.sizes.expected_at(index, p_.usual_sizes);
  }

  /// Whether rows shall be laid out alike, however many they are and wherever one lies.
  bool rows_alike() const { return p_.options.batch_invariant; }

  /// Whether a dim numbers rows: vectors along it depend on how many there are.
  bool numbers_rows(DimId d) const {
    return any_atom(p_.domain.dims[d].extent,
                    [&](const Atom &a) { return p_.row_symbols.contains(a.symbol); });
  }

  /// The length of a row that a layout holds, behind a head: of a tier, where sizes are not known.
  std::int64_t row_length(const Index &row, int head = 0) const {
    return std::max<std::int64_t>(1, p_.sizes.tier(row + head) - head);
  }

  /// For digits, which have at least one position.
  std::int64_t expected_at_least_1(const Index &index) const {
    return std::max<std::int64_t>(1, expected(index));
  }

  /// Slots of a thread, a power of two, at which compilers still take linear time for the body.
  /// Those of a long body are not kept apart, and live together.
  std::int64_t max_slots() const {
    constexpr std::int64_t kLongBody = 256, kSpare = 32;
    std::int64_t slots = kMaxStatements / std::max<std::int64_t>(1, p_.statements);
    if (p_.statements >= kLongBody)
      slots = std::min(slots, (p_.target.max_registers - kSpare) / p_.live);
    return pow2_at_least(std::max<std::int64_t>(1, slots) + 1) / 2;
  }
  /// Likewise, of vectors.
  std::int64_t max_vectors() const { return std::max<std::int64_t>(1, max_slots() / vec_); }

  /// 16 bytes of the narrowest contiguous tensor, but at most 32 of the widest.
  int widest_useful_vector() const {
    std::size_t narrow = 16, wide = 1;
    for (const Access &a : p_.accesses) {
      if (!is_contiguous(a)) continue;
      narrow = std::min(narrow, size_of(a.dtype));
      wide = std::max(wide, size_of(a.dtype));
    }
    int widest = static_cast<int>(std::max<std::size_t>(1, std::min(16 / narrow, 32 / wide)));
    return static_cast<int>(std::min<std::int64_t>(scaled(widest, p_.tuning.vector), max_slots()));
  }

  /// Whether the folded dims are so short that a thread folds them alone.
  bool folds_in_thread() const {
    std::optional<std::int64_t> n = extent(p_.domain.with_role(DimRole::Row)).constant();
    return p_.reductions.levels > 0 && p_.reductions.scans == 0 && !p_.domain.has_columns() && n &&
           *n > 0 && *n <= std::min<std::int64_t>(kMaxThreadFold, max_slots());
  }

  bool is_contiguous(const Access &a) const { return advances_by_one(a.stmt->index, inner_); }

  /// Bytes of the access that vectors move which start where those of the frame do.
  int vector_bytes(const Access &a, BufferId frame) const {
    int width = std::min(vec_, p_.alignments.common_width(p_.draft, a.stmt->buffer, frame));
    return width * static_cast<int>(size_of(a.dtype));
  }

  /// Whether whole vectors along the inner dim start at multiples of the vector in every access
  /// that is contiguous along it, and some buffer at a boundary.
  bool starts_are_aligned() const {
    bool any = false, has_whole = false;
    for (const Access &a : p_.accesses) {
      if (!is_contiguous(a)) continue;
      if (!p_.sizes.divides(vec_, a.stmt->index - Index::dim(inner_))) return false;
      any = true;
      has_whole |= vector_bytes(a, kNone) == vector_bytes(a, a.stmt->buffer);
    }
    return has_whole || !any;
  }

  /// Largest power of two that divides the inner extent, up to the vector.
  int dividing_vector() const {
    return p_.sizes.dividing_power(p_.domain.dims[inner_].extent, vec_);
  }

  std::vector<DimId> with_inner_last(std::vector<DimId> dims) const {
    auto it = std::find(dims.begin(), dims.end(), inner_);
    if (it != dims.end()) std::rotate(it, it + 1, dims.end());
    return dims;
  }

  Axis axis(std::vector<DimId> dims, std::vector<Digit> digits) const {
    // A loop stays even where one iteration suffices: the body names it. So do blocks, where other
    // kernels of this body have several.
    std::erase_if(digits, [this](const Digit &d) {
      bool stays =
          d.kind == DigitKind::Loop || (d.kind == DigitKind::Grid && p_.common_threads > 0);
      return !stays && d.extent.is_constant(1);
    });
    if (digits.empty()) digits.push_back(digit(DigitKind::Reg, 1));
    return {std::move(dims), std::move(digits), {}};
  }

  /// Loads whose elements a thread holds across reductions: those along all dims.
  std::int64_t kept_values() const {
    auto loads = std::count_if(p_.accesses.begin(), p_.accesses.end(), [&](const Access &a) {
      return a.stmt->kind == StmtKind::Load && a.dims.size() == p_.domain.dims.size();
    });
    return std::max<std::int64_t>(1, loads);
  }

  /// Where everything is folded, no dims are kept.
  static void drop_empty_axes(Layout &layout) {
    std::erase_if(layout.axes, [](const Axis &a) { return a.dims.empty(); });
  }

  /// The contiguous access whose rows the vectors follow: the one with which most bytes are whole
  /// vectors; none where that is so without.
  AlignTo alignment_frame() const {
    AlignTo best;
    int most = followed_bytes(kNone, 0);
    for (const Access &a : p_.accesses) {
      if (!is_contiguous(a) || a.stmt->index.uses(Atom::Kind::Value) ||
          a.dims.size() != p_.domain.dims.size())
        continue;
      Index base = a.stmt->index - Index::dim(inner_);
      bool is_whole = vector_bytes(a, kNone) == vector_bytes(a, a.stmt->buffer);
      if (is_whole && p_.sizes.divides(vec_, base)) continue;
      int bytes = followed_bytes(a.stmt->buffer, base);
      if (bytes > most) best = {a.stmt->buffer, base};
      most = std::max(most, bytes);
    }
    return best;
  }

  bool needs_frame() const { return !starts_are_aligned() && alignment_frame().buffer != kNone; }

  /// Bytes in whole vectors; those of loads weigh less, since loads may be unaligned.
  int followed_bytes(BufferId frame, const Index &base) const {
    constexpr int kStoreWeight = 4;
    int bytes = 0;
    for (const Access &a : p_.accesses) {
      if (!is_contiguous(a)) continue;
      Index rest = a.stmt->index - Index::dim(inner_) - base;
      bool follows = frame == kNone ? p_.sizes.divides(vec_, rest) : rest.is_constant(0);
      if (follows)
        bytes += vector_bytes(a, frame) * (a.stmt->kind == StmtKind::Store ? kStoreWeight : 1);
    }
    return bytes;
  }
};

/// Sets the blocks that an SM shall hold, where tuning asks for some.
inline bool tuned_resident(const MappingProblem &problem, Mapping &mapping) {
  int most = std::min(problem.target.max_blocks_per_sm,
                      problem.target.max_threads_per_sm / mapping.threads);
  if (problem.tuning.resident > 0)
    mapping.resident = std::clamp(problem.tuning.resident, 1, std::max(1, most));
  return problem.tuning.resident > 0;
}

/// Registers that a thread of the mapping takes, where offsets advance along `inner`.
std::int64_t registers_wanted(const MappingProblem &problem, const Mapping &mapping, DimId inner);

}  // namespace fuse
