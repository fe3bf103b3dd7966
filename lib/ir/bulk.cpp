// Runs are found in the placed offset: the digits of an axis that advance it by what those within
// make, from 1 on; behind all of an axis those of the next may follow. The other digits of threads
// and slots tell runs apart.
#include "ir/bulk.h"

#include "ir/kernel_verify.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kUnit = 16;  // bytes: of addresses and sizes of copies
constexpr std::size_t kMaxRuns = 64;

struct Advance {
  std::int64_t by = 0, extent = 1;
  DimId atom = kNone;
  std::uint32_t axis = kNone;
};

bool is_in_block(const Digit &digit) {
  return digit.kind == DigitKind::Thread || digit.kind == DigitKind::Reg ||
         digit.kind == DigitKind::Vec;
}

class BulkAnalysis {
 public:
  BulkAnalysis(const Kernel &kernel, const MachineMap &map, LayoutId layout, const Stmt &load)
      : k_(kernel), map_(map), layout_(layout), load_(load) {}

  BulkLoad run() {
    result_.obstacle = obstacle();
    return std::move(result_);
  }

 private:
  const Kernel &k_;
  const MachineMap &map_;
  LayoutId layout_;
  const Stmt &load_;
  BulkLoad result_;
  std::vector<Advance> advances_;  // by ascending steps
  Index rest_;                     // of the offset, the same for the block

  std::string obstacle() {
    if (load_.kind != StmtKind::Load || load_.guard != kNone || k_.buffers[load_.buffer].coherent)
      return "only loads without a guard, of what nobody writes, come in bulk";
    if (!load_.index.values().empty()) return "the place of a bulk load uses a value";
    result_.is_value = is_uniform_in_block(map_, layout_, load_.index);
    if (result_.is_value) return "";
    if (!find_advances() || advances_[0].by != 1)
      return "a bulk load needs a dim within the block along which " + to_string() +
             " advances by 1";
    find_runs();
    if (!has_whole_units()) return "rows of a bulk load are not whole units of 16 bytes";
    if (result_.shape.runs.size() > kMaxRuns)
      return "a bulk load of " + std::to_string(result_.shape.runs.size()) +
             " rows in an iteration is more than " + std::to_string(kMaxRuns);
    return "";
  }

  std::string to_string() const { return fuse::to_string(k_, load_.index); }

  /// Whether the offset is a sum of multiples of the block's digits and what the block shares.
  bool find_advances() {
    Index placed = result_.shape.source = map_.place(load_.index, layout_);
    rest_ = placed;
    for (DimId id : placed.dims()) {
      const MachineAtom &atom = map_.atom(id);
      if (!atom.digit) return false;
      if (!is_in_block(*atom.digit)) continue;
      std::optional<Index> factor = placed.coefficient_of(id);
      std::optional<std::int64_t> by = factor ? factor->constant() : std::nullopt;
      if (!by || *by <= 0) return false;
      advances_.push_back({*by, *atom.extent.constant(), id, atom.axis});
      rest_ = rest_ - Index::dim(id) * *by;
    }
    std::sort(advances_.begin(), advances_.end(), [](const Advance &a, const Advance &b) {
      return a.by != b.by ? a.by < b.by : a.atom < b.atom;
    });
    return !advances_.empty();
  }

  void find_runs() {
    BulkShape &shape = result_.shape;
    shape.innermost = shape.outermost = advances_[0].axis;
    shape.run = 1;
    std::vector<DimId> atoms;
    std::vector<std::int64_t> extents;
    for (const Advance &a : advances_) {
      bool follows = a.by == shape.run && atoms.empty();
      if (follows && a.axis != shape.outermost && is_all_of(shape.outermost, shape.positions())) {
        shape.outermost = a.axis;
        shape.unit = shape.run;
      }
      if (follows && a.axis == shape.outermost) {
        shape.run *= a.extent;
        shape.run_atoms.emplace_back(a.atom, 0);
        shape.stage = shape.stage + Index::dim(a.atom) * a.by;
      } else {
        atoms.push_back(a.atom);
        extents.push_back(a.extent);
      }
    }
    std::int64_t stride = shape.run;
    for (std::size_t i = atoms.size(); i-- > 0; stride *= extents[i])
      shape.stage = shape.stage + Index::dim(atoms[i]) * stride;
    shape.runs = SlotSpace(std::move(atoms), std::move(extents));
  }

  bool is_all_of(std::uint32_t axis, std::int64_t positions) const {
    return map_.axis(layout_, axis).extent.is_constant(positions);
  }

  /// Of sizes as promised: runs start at units, and end at one where the axis ends.
  bool has_whole_units() const {
    const Buffer &b = k_.buffers[load_.buffer];
    auto size = static_cast<std::int64_t>(size_of(b.dtype));
    auto is_whole = [&](const Index &elements) {
      return promised_divisor(k_, elements) * size % kUnit == 0;
    };
    bool steps_are_whole = std::all_of(advances_.begin(), advances_.end(), [&](const Advance &a) {
      bool is_within = std::any_of(result_.shape.run_atoms.begin(), result_.shape.run_atoms.end(),
                                   [&](const auto &atom) { return atom.first == a.atom; });
      return is_within || is_whole(a.by);
    });
    return b.alignment % kUnit == 0 && is_whole(result_.shape.run) && steps_are_whole &&
           is_whole(rest_) &&
           is_whole(map_.axis(layout_, result_.shape.outermost).extent * result_.shape.unit);
  }
};

std::int64_t pipe_bytes(const Kernel &kernel, const MachineMap &map, const std::vector<Stmt> &body,
                        LayoutId layout, int depth) {
  std::int64_t bytes = 0;
  for (const Stmt &s : body) {
    if (s.kind == StmtKind::Load && s.bulk)
      bytes += depth * bulk_stage_bytes(bulk_load(kernel, map, layout, s).shape,
                                        kernel.buffers[s.buffer].dtype);
    bytes += pipe_bytes(kernel, map, s.body, s.kind == StmtKind::In ? s.layout : layout, s.pipe);
  }
  return bytes;
}

bool has_pipe(const std::vector<Stmt> &body) {
  return std::any_of(body.begin(), body.end(),
                     [](const Stmt &s) { return s.pipe > 0 || has_pipe(s.body); });
}

}  // namespace

BulkLoad bulk_load(const Kernel &kernel, const MachineMap &map, LayoutId layout, const Stmt &load) {
  return BulkAnalysis(kernel, map, layout, load).run();
}

std::int64_t bulk_stage_bytes(const BulkShape &shape, DType dtype) {
  auto bytes = shape.run * static_cast<std::int64_t>(shape.runs.size() * size_of(dtype));
  return (bytes + kBulkAlignment - 1) / kBulkAlignment * kBulkAlignment;
}

std::int64_t dynamic_shared_bytes(const Kernel &kernel) {
  if (!has_pipe(kernel.body)) return 0;
  return pipe_bytes(kernel, MachineMap(kernel), kernel.body, kNone, 0);
}

}  // namespace fuse
