// Tiles of 128 bytes a side go through shared memory. Offsets there are rotated by rows, so that
// neither side meets bank conflicts: a row of the tile is cut into the vectors that its writers
// hold, and each band of rows that a reader's vector spans starts one vector further.
#include "passes/schedule/tiles.h"

#include "passes/schedule/body.h"
#include "passes/schedule/mapping_queries.h"

#include <iterator>
#include <ranges>
#include <utility>

namespace fuse {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kLineBytes = 128;
constexpr std::int64_t kLeastSide = 32;
constexpr std::int64_t kLeastExtent = 8;  // shorter dims leave whole sectors to each thread anyway
constexpr std::int64_t kAccessBytes = 16;

/// Whether the index runs along `across` and neighbours along `inner` lie apart.
bool runs_across(const Index &index, DimId inner, DimId across) {
  return advances_by_one(index, across) && index.uses_dim(inner) && !advances_by_one(index, inner);
}

/// Likewise of an access. Gathered positions are computed in the layout of the body, and so are
/// guards that depend on data; what is folded stands there.
bool runs_across(const Kernel &kernel, const Access &a, const Square &square) {
  const auto &[inner, across, side, folded] = square;
  const Stmt &s = *a.stmt;
  if (s.kind != StmtKind::Load && s.kind != StmtKind::Store) return false;
  if (a.guarded_by_data || s.index.uses(Atom::Kind::Value)) return false;
  if (!runs_across(s.index, inner, across)) return false;
  const std::vector<DimId> &dims =
      kernel.values[s.kind == StmtKind::Load ? s.results[0] : s.operands[0]].dims;
  auto has = [&](DimId d) { return std::binary_search(dims.begin(), dims.end(), d); };
  return has(inner) && has(across) && std::none_of(folded.begin(), folded.end(), has);
}

class Tiler : MappingQueries {
 public:
  explicit Tiler(const MappingProblem &problem) : MappingQueries(problem) {}

  using MappingQueries::folds_in_thread;

  std::optional<Mapping> map() {
    m_.square.inner = contiguous_dim(p_.draft, p_.accesses, p_.options.sizes);
    m_.square.folded = folded();
    m_.square.across = choose_across();
    turn_to_words();
    const DimId inner = m_.square.inner;
    if (m_.square.across == kNone || !is_tiled(inner) || !is_tiled(m_.square.across))
      return std::nullopt;
    m_.form = Form::Tiled;
    m_.threads = 0;
    choose_side();
    m_.layout = lay_out("L", inner, m_.square.across);
    m_.across = lay_out("T", m_.square.across, inner);
    return std::move(m_);
  }

 private:
  Mapping m_;

  bool is_tiled(DimId d) const {
    return !p_.domain.is_folded(d) && expected(p_.domain.dims[d].extent) >= kLeastExtent;
  }

  std::vector<DimId> folded() const { return p_.domain.with_role(DimRole::Row); }

  /// The dim that most accesses run along besides the inner one; kNone if none does.
  DimId choose_across() const {
    DimId best = kNone;
    std::ptrdiff_t most = 0;
    for (DimId d = 0; d < p_.domain.dims.size(); ++d) {
      auto count = std::count_if(p_.accesses.begin(), p_.accesses.end(), [&](const Access &a) {
        return d != m_.square.inner &&
               runs_across(p_.draft, a, {m_.square.inner, d, 0, m_.square.folded});
      });
      if (count > most) best = d, most = count;
    }
    return best;
  }

  /// The body stands where random words have their neighbours: a call for each costs more than to
  /// move what is loaded and stored.
  void turn_to_words() {
    auto run_across = [&](DimId inner, DimId across) {
      return std::count_if(p_.words.begin(), p_.words.end(),
                           [&](const Stmt *s) { return runs_across(s->index, inner, across); });
    };
    Square &t = m_.square;
    if (t.across != kNone && run_across(t.inner, t.across) > run_across(t.across, t.inner))
      std::swap(t.inner, t.across);
  }

  bool is_along_tile(const Access &a) const {
    return advances_by_one(a.stmt->index, m_.square.inner) || runs_across(p_.draft, a, m_.square);
  }

  /// Bytes of the widest element that these accesses move.
  template <class Predicate>
  std::int64_t widest(const Predicate &counts) const {
    std::size_t wide = 1;
    for (const Access &a : p_.accesses)
      if (counts(a)) wide = std::max(wide, size_of(a.dtype));
    return static_cast<std::int64_t>(wide);
  }

  /// Lines of the widest tensor; smaller where the body is long.
  void choose_side() {
    std::int64_t wide = widest([this](const Access &a) { return is_along_tile(a); });
    std::int64_t &side = m_.square.side;
    side = std::max(kLeastSide, kLineBytes / wide);
    std::int64_t most = max_slots(), n = 1;
    if (!m_.square.folded.empty()) {
      n = *extent(m_.square.folded).constant();
      most = std::min<std::int64_t>(most, kMaxElementsPerThread);
    }
    while (side > kLeastSide && side * side / kThreads * n > most) side /= 2;
  }

  /// Elements of an access along the dim: 16 bytes of the widest tensor that is contiguous there,
  /// fewer where starts are not aligned to them.
  int vector_along(DimId dim, DimId other) {
    inner_ = dim;
    std::int64_t wide = widest([&](const Access &a) {
      return advances_by_one(a.stmt->index, dim) && !advances_by_one(a.stmt->index, other);
    });
    vec_ = static_cast<int>(std::max<std::int64_t>(1, kAccessBytes / wide));
    vec_ = dividing_vector();
    while (vec_ > 1 && !starts_are_aligned()) vec_ /= 2;
    return vec_;
  }

  /// A tile whose neighbouring threads are neighbours along `dim`; all other dims on the grid.
  Layout lay_out(const char *name, DimId dim, DimId other) {
    std::int64_t side = m_.square.side, vec = vector_along(dim, other);
    std::int64_t lanes = side / vec, rows = std::min(side, kThreads / lanes);
    Axis along =
        axis({dim}, {grid_digit(dim), digit(DigitKind::Thread, lanes), digit(DigitKind::Vec, vec)});
    Axis down = axis({other}, {grid_digit(other), digit(DigitKind::Reg, side / rows),
                               digit(DigitKind::Thread, rows, lanes)});
    m_.threads = std::max(m_.threads, static_cast<int>(lanes * rows));
    Layout layout{name, outer_axes()};
    bool in_order = dim == m_.square.inner;
    if (in_order) std::swap(down, along);
    layout.axes.push_back(std::move(along));
    layout.axes.push_back(std::move(down));
    if (!m_.square.folded.empty())
      layout.axes.push_back(
          axis(m_.square.folded, {digit(DigitKind::Reg, extent(m_.square.folded))}));
    return layout;
  }

  Index tiles_along(DimId dim) const { return ceildiv(p_.domain.dims[dim].extent, m_.square.side); }
  Index tiles_of_plane() const {
    return tiles_along(m_.square.inner) * tiles_along(m_.square.across);
  }

  /// Neighbouring blocks hold neighbours along the inner dim.
  Digit grid_digit(DimId dim) const {
    return digit(DigitKind::Grid, tiles_along(dim),
                 dim == m_.square.inner ? Index(1) : tiles_along(m_.square.inner));
  }

  /// An axis for each dim: what does not depend on a dim is stored once.
  std::vector<Axis> outer_axes() const {
    std::vector<DimId> dims = p_.domain.with_role(DimRole::Kept);
    std::erase_if(dims, [&](DimId d) { return d == m_.square.inner || d == m_.square.across; });
    std::vector<Axis> axes;
    Index stride = tiles_of_plane();
    for (DimId d : std::views::reverse(dims)) {
      axes.push_back(axis({d}, {digit(DigitKind::Grid, extent({d}), stride)}));
      stride = stride * extent({d});
    }
    std::reverse(axes.begin(), axes.end());
    return axes;
  }
};

/// Distributes the statements of a flat body over the two layouts.
class Stager {
 public:
  Stager(Kernel &kernel, const Mapping &mapping, GuardConditions &guards)
      : kernel_(kernel), m_(mapping), guards_(guards) {}

  std::vector<Stmt> stage(std::vector<Stmt> body) {
    positions_ = position_values(body);
    std::set<const Stmt *> across;
    for (const Access &a : collect_accesses(kernel_, body))
      if (runs_across(kernel_, a, m_.square)) across.insert(a.stmt);
    find_movable(body, across);
    for (Stmt &s : body) {
      if (is_movable(s)) continue;
      if (!across.contains(&s))
        (is_early(s) ? loads_ : rest_).push_back(std::move(s));
      else if (s.kind == StmtKind::Load)
        stage_load(std::move(s));
      else
        stage_store(std::move(s));
    }
    std::vector<Stmt> staged;
    add(staged, kAcross, std::move(loads_across_));
    add(staged, kBody, std::move(loads_));
    add(staged, kAcross, std::move(moves_));
    add(staged, kBody, std::move(rest_));
    add(staged, kAcross, std::move(stores_across_));
    return staged;
  }

 private:
  static constexpr LayoutId kBody = 0, kAcross = 1;

  Kernel &kernel_;
  const Mapping &m_;
  GuardConditions &guards_;
  PositionValues positions_;
  std::set<ValueId> movable_;          // of these, those that only the other layout needs
  std::map<ValueId, ValueId> across_;  // what positions make, computed in the other layout too
  std::vector<Stmt> loads_across_, loads_, moves_, rest_, stores_across_;

  static void add(std::vector<Stmt> &staged, LayoutId layout, std::vector<Stmt> body) {
    if (body.empty()) return;
    if (staged.empty() || staged.back().layout != layout) staged.push_back(in_layout(layout, {}));
    std::move(body.begin(), body.end(), std::back_inserter(staged.back().body));
  }

  /// In flight together with those across.
  static bool is_early(const Stmt &s) { return s.kind == StmtKind::Load && used_values(s).empty(); }

  void stage_load(Stmt s) {
    ValueId result = s.results[0];
    s.results = {in_other_layout(result)};
    if (s.guard != kNone) s.guard = computed_across(s.guard);
    moves_.push_back(move(s.results[0], result, kBody));
    loads_across_.push_back(std::move(s));
  }

  void stage_store(Stmt s) {
    ValueId moved = in_other_layout(s.operands[0]);
    rest_.push_back(move(s.operands[0], moved, kAcross));
    s.operands = {moved};
    if (s.guard != kNone) s.guard = computed_across(s.guard);
    stores_across_.push_back(std::move(s));
  }

  bool is_movable(const Stmt &s) const {
    return !s.results.empty() && movable_.contains(s.results[0]);
  }

  /// Guards of what runs across, and what they are made of, that nothing else uses.
  void find_movable(const std::vector<Stmt> &body, const std::set<const Stmt *> &across) {
    std::set<ValueId> stays, guards;
    for (const Stmt &s : std::views::reverse(body)) {
      bool is_position = !s.results.empty() && positions_.contains(s.results[0]);
      if (across.contains(&s)) {
        if (s.guard != kNone) guards.insert(s.guard);
        stays.insert(s.operands.begin(), s.operands.end());
      } else if (is_position && !stays.contains(s.results[0]) && guards.contains(s.results[0])) {
        movable_.insert(s.results[0]);
        guards.insert(s.operands.begin(), s.operands.end());
      } else {
        for (ValueId v : used_values(s)) stays.insert(v);
      }
    }
  }

  ValueId computed_across(ValueId value) {
    auto known = across_.find(value);
    if (known != across_.end()) return known->second;
    Stmt s = positions_.at(value);
    for (ValueId &operand : s.operands) operand = computed_across(operand);
    if (movable_.contains(value))
      kernel_.values[value].layout = kAcross;
    else
      s.results = {in_other_layout(value)};
    ValueId result = across_[value] = s.results[0];
    auto conditions = guards_.find(value);
    if (conditions != guards_.end()) guards_[result] = conditions->second;
    loads_across_.push_back(std::move(s));
    return result;
  }

  ValueId in_other_layout(ValueId value) {
    KernelValue copy = kernel_.values[value];
    copy.name = "v" + std::to_string(kernel_.values.size());
    copy.layout = kAcross;
    kernel_.values.push_back(std::move(copy));
    return static_cast<ValueId>(kernel_.values.size() - 1);
  }

  /// Written along the contiguous dim of where it comes from, read by elements.
  Stmt move(ValueId from, ValueId to, LayoutId layout) const {
    bool to_body = layout == kBody;
    const Square &t = m_.square;
    DimId written = to_body ? t.across : t.inner, read = to_body ? t.inner : t.across;
    std::int64_t write = vector_of(to_body ? m_.across : m_.layout, written);
    std::int64_t band = vector_of(to_body ? m_.layout : m_.across, read);
    Index row = mod(Index::dim(read), t.side), column = mod(Index::dim(written), t.side);
    Index vector = mod(floordiv(column, write) + floordiv(row, band), t.side / write);
    Stmt s;
    s.kind = StmtKind::Move;
    s.operands = {from};
    s.results = {to};
    s.layout = layout;
    s.index = row * t.side + vector * write + mod(Index::dim(written), write);
    auto size = static_cast<std::int64_t>(size_of(kernel_.values[from].dtype));
    s.vector = static_cast<int>(std::min<std::int64_t>(write, kAccessBytes / size));
    return s;
  }

  static std::int64_t vector_of(const Layout &layout, DimId dim) {
    return vec_extent(layout.axes[axis_of(layout, dim)]);
  }
};

}  // namespace

bool may_have_tiles(const MappingProblem &problem) {
  return problem.reductions.levels == 0 || Tiler(problem).folds_in_thread();
}

std::optional<Mapping> map_tiles(const MappingProblem &problem) { return Tiler(problem).map(); }

std::vector<Stmt> stage_tiles(Kernel &kernel, const Mapping &mapping, GuardConditions &guards,
                              std::vector<Stmt> body) {
  return Stager(kernel, mapping, guards).stage(std::move(body));
}

}  // namespace fuse
