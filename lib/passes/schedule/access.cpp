// Analyses of flat bodies.
#include "passes/schedule/access.h"

#include "ir/philox.h"
#include "passes/schedule/index_map.h"

#include <algorithm>
#include <optional>

namespace fuse {

namespace {

constexpr int kMaxAccessBytes = 16;
constexpr int kLeastUnalignedBytes = 8;

// Vectors of aligned pieces of so many bytes are not shifted.
constexpr int kPieceBytes = 8;

double approximate(const Index &index, const Bindings &sizes) {
  double sum = 0;
  for (const Index::Term &t : index.terms()) {
    double product = static_cast<double>(t.coefficient);
    for (const Atom &a : t.atoms) product *= static_cast<double>(sizes.at(a.symbol));
    sum += product;
  }
  return sum;
}

/// Whether scans, which have dims in an order of their own, walk them as one.
bool scans_as_one(const Domain &domain, DimId outer, DimId inner) {
  return std::all_of(domain.scans.begin(), domain.scans.end(), [&](const auto &entry) {
    const std::vector<DimId> &dims = entry.second.dims;
    auto at = std::find(dims.begin(), dims.end(), outer);
    return at == dims.end() || (std::next(at) != dims.end() && *std::next(at) == inner);
  });
}

/// Whether every index of the body walks dims (outer, inner) as one.
bool walks_as_one(const Domain &domain, const std::vector<Stmt> &body, DimId outer, DimId inner) {
  if (!scans_as_one(domain, outer, inner)) return false;
  for (const Stmt &s : body) {
    auto a = s.index.coefficient_of(outer), b = s.index.coefficient_of(inner);
    if (!a || !b || !(*a == *b * domain.dims[inner].extent)) return false;
  }
  return true;
}

/// Groups of dims to join, in order; most hold one dim.
std::vector<std::vector<DimId>> dim_groups(const Domain &domain, const std::vector<Stmt> &body) {
  std::vector<std::vector<DimId>> groups;
  for (DimRole role : {DimRole::Kept, DimRole::Row, DimRole::Column}) {
    bool open = false;
    for (DimId d : domain.with_role(role)) {
      bool joins = open && walks_as_one(domain, body, groups.back().back(), d);
      if (joins)
        groups.back().push_back(d);
      else
        groups.push_back({d});
      open = true;
    }
  }
  // By their first dim: the order of the domain.
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// The dim's value within the joined dim.
Index part_of(const Domain &domain, const std::vector<DimId> &group, std::size_t i, DimId joined,
              const Ranges &ranges) {
  Index inner = extent_of(domain.dims, std::span(group).subspan(i + 1));
  Index rest = floordiv(Index::dim(joined), inner, ranges);
  return i == 0 ? rest : mod(rest, domain.dims[group[i]].extent, ranges);
}

/// Widest access at which the guard has one value: its conditions change only where vectors start,
/// at multiples, or where the frame that they follow has them.
int uniform_width(const GuardConditions &guards, ValueId guard, const Axis &axis, int width,
                  const Kernel &kernel, SizeAssumptions &sizes,
                  const BufferAlignments &alignments) {
  if (guard == kNone) return width;
  DimId along = axis.dims.back();
  const std::vector<DimId> &dims = kernel.values[guard].dims;
  if (!std::binary_search(dims.begin(), dims.end(), along)) return width;
  auto conditions = guards.find(guard);
  if (conditions == guards.end()) return 1;
  for (const Index &condition : conditions->second) {
    auto factor = condition.coefficient_of(along);
    if (!factor) return 1;
    if (factor->is_constant(0)) continue;
    Index rest = condition - *factor * Index::dim(along);
    if (!factor->is_constant(1) && !factor->is_constant(-1)) return 1;
    rest = factor->is_constant(1) ? rest - axis.align.base : rest + Index(1) + axis.align.base;
    if (axis.align.buffer != kNone)
      width = std::min(width, alignments.common_width(kernel, axis.align.buffer, kNone));
    width = sizes.dividing_power(rest, width);
  }
  return width;
}

/// Whether a vector may start anywhere: blocks around it are read, which a buffer must hold.
bool may_be_unaligned(const Stmt &s, const Buffer &buffer) {
  return s.kind == StmtKind::Load && s.cache == Cache::Default && !buffer.coherent &&
         !buffer.strided;
}

/// Whether a vector of aligned pieces is better shifted: wider pieces cost fewer instructions than
/// to shift. What rows share is near and read by element, in narrower vectors of the rows (layer
/// norm of 4,097 columns on an H200: 90 % of copy by 4 elements, 77 % shifted in vectors of 8).
bool is_shifted(const Stmt &s, int piece, int width, int size, const BufferAlignments &alignments) {
  return alignments.streamed.contains(s.buffer) && piece < width && piece * size < kPieceBytes;
}

/// A vector does not leave the innermost dim of a flattened axis.
int width_in_dim(const Kernel &kernel, const Axis &axis, int width, SizeAssumptions &sizes) {
  if (axis.dims.size() == 1) return width;
  return sizes.dividing_power(kernel.dims[axis.dims.back()].extent, width);
}

/// Where vectors start relative to element 0 of what the index is into.
Index start_of(const Index &index, const Axis &axis) {
  Index rest = index - Index::dim(axis.dims.back());
  return axis.align.buffer == kNone ? rest : rest - axis.align.base;
}

/// Elements per access of one load or store, which is marked where it is unaligned.
int choose_width(const Kernel &kernel, Stmt &s, const Axis &axis, const GuardConditions &guards,
                 SizeAssumptions &sizes, const BufferAlignments &alignments) {
  auto vec = static_cast<int>(vec_extent(axis));
  DimId last = axis.dims.back();
  const Buffer &buffer = kernel.buffers[s.buffer];
  if (!advances_by_one(s.index, last)) return 1;
  int size = static_cast<int>(size_of(buffer.dtype));
  int width = std::min(vec, std::max(1, kMaxAccessBytes / size));
  width = width_in_dim(kernel, axis, width, sizes);
  width = uniform_width(guards, s.guard, axis, width, kernel, sizes, alignments);
  BufferId frame = axis.align.buffer;
  int aligned = std::min(width, alignments.common_width(kernel, s.buffer, frame));
  Index rest = start_of(s.index, axis);
  bool may_shift = size * width >= kLeastUnalignedBytes && may_be_unaligned(s, buffer);
  // Where something else serves, no variant for each part of the width.
  aligned = may_shift || frame != kNone ? sizes.whole_or_declared(rest, aligned)
                                        : sizes.dividing_power(rest, aligned);
  s.unaligned = may_shift && is_shifted(s, aligned, width, size, alignments);
  return s.unaligned ? width : aligned;
}

/// Random words that share a call.
int choose_random_width(const Kernel &kernel, const Stmt &s, const Axis &axis,
                        SizeAssumptions &sizes) {
  if (!advances_by_one(s.index, axis.dims.back())) return 1;
  BufferId frame = axis.align.buffer;
  int width = std::min(static_cast<int>(vec_extent(axis)), kPhiloxWords);
  width = std::min(width_in_dim(kernel, axis, width, sizes),
                   BufferAlignments::numbers_width(kernel, frame));
  Index rest = start_of(s.index, axis);
  return frame != kNone ? sizes.whole_or_declared(rest, width) : sizes.dividing_power(rest, width);
}

}  // namespace

int BufferAlignments::numbers_width(const Kernel &kernel, BufferId frame) {
  if (frame == kNone) return kPhiloxWords;
  const Buffer &b = kernel.buffers[frame];
  return std::clamp(b.alignment / static_cast<int>(size_of(b.dtype)), 1, kPhiloxWords);
}

int BufferAlignments::common_width(const Kernel &kernel, BufferId buffer, BufferId frame) const {
  auto size = [&](BufferId b) { return static_cast<int>(size_of(kernel.buffers[b].dtype)); };
  auto whole = [&](BufferId b) { return std::max(1, kMaxAccessBytes / size(b)); };
  auto known = [&](BufferId b) { return std::max(1, kernel.buffers[b].alignment / size(b)); };
  if (frame == kNone) return std::min(whole(buffer), known(buffer));
  if (buffer == frame) return whole(buffer);
  bool both_shifted = shifted.contains(buffer) && shifted.contains(frame);
  return both_shifted ? std::min(whole(buffer), whole(frame))
                      : std::min({whole(buffer), known(buffer), known(frame)});
}

bool advances_by_one(const Index &index, DimId dim) {
  std::optional<Index> factor = index.coefficient_of(dim);
  return factor && factor->is_constant(1);
}

PositionValues position_values(const std::vector<Stmt> &body) {
  PositionValues made;
  for (const Stmt &s : body) {
    std::vector<ValueId> used = used_values(s);
    bool is_made = s.kind == StmtKind::Compute &&
                   std::all_of(used.begin(), used.end(), [&](ValueId v) { return made.count(v); });
    bool is_given = s.kind == StmtKind::Constant || (s.kind == StmtKind::Index && used.empty());
    if (is_made || is_given) made.emplace(s.results[0], s);
  }
  return made;
}

std::vector<Access> collect_accesses(const Kernel &kernel, const std::vector<Stmt> &body) {
  PositionValues positions = position_values(body);
  std::vector<Access> accesses;
  for (const Stmt &s : body) {
    if (s.kind != StmtKind::Load && s.kind != StmtKind::Store) continue;
    bool by_data = s.guard != kNone && !positions.contains(s.guard);
    accesses.push_back({&s, kernel.buffers[s.buffer].dtype, s.index.dims(), by_data});
  }
  return accesses;
}

DimId contiguous_dim(const Kernel &kernel, const std::vector<Access> &accesses,
                     const Bindings &sizes, bool stores_decide) {
  auto best = static_cast<DimId>(kernel.dims.size() - 1);
  std::pair<double, double> most;  // bytes, and those of stores
  for (DimId d = 0; d < kernel.dims.size(); ++d) {
    std::pair<double, double> moved;
    for (const Access &a : accesses) {
      if (!advances_by_one(a.stmt->index, d)) continue;
      double bytes = approximate(extent_of(kernel.dims, a.dims), sizes) *
                     static_cast<double>(size_of(a.dtype));
      moved.first += bytes;
      if (stores_decide && a.stmt->kind == StmtKind::Store) moved.second += bytes;
    }
    if (moved < most || moved.first == 0) continue;
    best = d;
    most = moved;
  }
  return best;
}

Domain merge_dims(const Domain &domain, const std::vector<Stmt> &body) {
  Domain joined;
  std::vector<std::optional<Index>> part(domain.dims.size());
  std::vector<std::vector<DimId>> groups = dim_groups(domain, body);
  for (const std::vector<DimId> &group : groups) {
    joined.dims.push_back(
        {"d" + std::to_string(joined.dims.size()), extent_of(domain.dims, group)});
    joined.roles.push_back(domain.roles[group[0]]);
  }
  Ranges ranges = joined.ranges();
  for (DimId j = 0; j < groups.size(); ++j)
    for (std::size_t i = 0; i < groups[j].size(); ++i)
      part[groups[j][i]] = part_of(domain, groups[j], i, j, ranges);
  auto by = [&](const Atom &atom) -> std::optional<Index> {
    if (atom.kind != Atom::Kind::Dim) return std::nullopt;
    return part[atom.id];
  };
  auto move = [&](const std::vector<Index> &from) {
    std::vector<Index> to;
    for (const Index &index : from) to.push_back(recombine(substitute(index, by, ranges)));
    return to;
  };
  for (const auto &[id, position] : domain.at) joined.at[id] = move(position);
  for (const auto &[id, fold] : domain.folds) {
    Fold &there = joined.folds[id];
    there.operand = move(fold.operand);
    for (DimId j = 0; j < groups.size(); ++j)
      if (std::binary_search(fold.dims.begin(), fold.dims.end(), groups[j][0]))
        there.dims.push_back(j);
  }
  for (const auto &[id, scan] : domain.scans) {
    Fold &there = joined.scans[id];
    there.operand = move(scan.operand);
    for (DimId d : scan.dims)
      for (DimId j = 0; j < groups.size(); ++j)
        if (groups[j][0] == d) there.dims.push_back(j);
  }
  return joined;
}

void set_vector_widths(Kernel &kernel, std::vector<Stmt> &body, const Layout &layout,
                       const GuardConditions &guards, SizeAssumptions &sizes,
                       const BufferAlignments &alignments) {
  auto axis = std::find_if(layout.axes.begin(), layout.axes.end(),
                           [](const Axis &a) { return vec_extent(a) > 1; });
  for (Stmt &s : body) {
    bool is_access = s.kind == StmtKind::Load || s.kind == StmtKind::Store;
    if (is_access && axis != layout.axes.end())
      s.vector = choose_width(kernel, s, *axis, guards, sizes, alignments);
    if (s.kind == StmtKind::Random && axis != layout.axes.end())
      s.vector = choose_random_width(kernel, s, *axis, sizes);
    set_vector_widths(kernel, s.body, s.kind == StmtKind::In ? kernel.layouts[s.layout] : layout,
                      guards, sizes, alignments);
  }
}

}  // namespace fuse
