// Invariants of a kernel. Every consumer may rely on them; the first broken one is reported.
//
//   1  32 to 1024 threads in whole warps, 1 to 16 blocks in a cluster, 32- or 64-bit offsets;
//      divisors of symbols are powers of two, minima of symbols not negative
//   2  names are identifiers, unique among buffers, dims, layouts and values (a value may have
//      none); no symbol has the name of a dim
//   3  buffers stand in the order inputs and scalars, outputs, workspace; extents use symbols only
//   4  a layout has at most 64 axes, a dim is in at most one of them; an axis has dims and digits
//   5  a vec digit is the last of its axis
//   6  cta, thread, reg and vec extents are constants, strides of cta and thread too
//   7  thread digits are disjoint and within the block, cta digits within the cluster
//   8  the part of a thread digit below a warp is a power of two
//   9  grid digits of a layout nest; the spans of all are comparable (grid_size)
//  10  a layout has at most 4096 slots
//  11  an aligned axis has a vec digit of a power of two; its base uses unaligned other axes
//  12  a loop has one extent in all layouts
//  13  a statement other than `in` stands in a layout; operands are values of that layout
//  14  a value is defined once, before its uses and in their scope; the result of a looped reduce
//      comes into scope after the outermost `for` that binds a digit of its axes
//  15  numbers of operands and results, and dtypes, are those of ops.def and monoids.def
//  16  KernelValue::dims is the dependence of the value
//  17  an index uses dims of the layout whose loops are bound, and integer values
//  18  a vector access is a power of two of at most 32 bytes, divides the vec digit of an axis that
//      the offset advances in by 1
//  19  guards are bool; inputs and scalars are not stored; a buffer that is both loaded and stored
//      is coherent; loads with a guard, in bulk or of scalars have no fill
//  20  reduced dims are whole axes, available, and the operands depend on each
//  21  a scanned axis has digits grid . loop . reg . thread . reg . vec only, its thread digits
//      adjoin, its loops run in the direction of the scan; a start is the same along the axis
//  22  a move keeps the dims of its operand: both layouts have them, available; its shared offset
//      uses no values, has bounds, is not negative, and keeps its vectors together at their
//      boundary
//  23  `for` names a loop digit of the layout that is not bound yet
//  24  a last_block counter is u32 workspace for this use alone, its offset the same for the whole
//      block; its elements count as many blocks together as are launched, as far as sizes tell; it
//      stands outside loops, and no reduction in it spans a cluster
//  25  statements of a partitioned loop stay within the thread
//  26  bulk loads stand in a loop with a pipe of 2 to 16 stages; they move whole rows, the same for
//      all threads, from 16-byte boundaries, or one value for the block
//  27  only `online` has terms, where it is complete at once
//  28  what a last_block reads is stored by blocks at every position of the grid digits that its
//      counter tells apart
//  29  unaligned accesses are loads of 8 or 16 bytes with no cache policy, of buffers that are
//      neither coherent nor strided
//  30  the emitter writes at most 4 times the statements that planning aims at
//  31  a table has a value of every size for each instance, of symbols of the launch; its names are
//      no others; it fits the parameters of a launch
//  32  buffers that instances share are inputs and scalars whose shapes no size of the table is in
//  33  random words are u32, of a u64 seed without dims; 1, 2 or 4 share a call, as 18 has it
//  34  what threads tell one another fits in 48 KiB of shared memory
#include "ir/kernel_verify.h"
#include "ir/op.h"

#include <algorithm>
#include <bit>

namespace fuse {

namespace {

std::string_view to_string(StmtKind kind) {
  constexpr std::string_view kNames[] = {"const", "index",  "random",    "compute", "load",
                                         "store", "reduce", "scan",      "move",    "keep",
                                         "for",   "in",     "last_block"};
  return kNames[static_cast<std::size_t>(kind)];
}

class Verifier {
 public:
  explicit Verifier(const Kernel &kernel)
      : k_(kernel),
        map_(kernel),
        visible_(kernel.values.size()),
        defined_(kernel.values.size()),
        is_literal_(kernel.values.size()),
        loaded_(kernel.buffers.size()),
        stored_(kernel.buffers.size()),
        counted_(kernel.buffers.size()),
        only_at_0_(kernel.buffers.size()) {}

  void verify() {
    verify_body(k_.body);
    for (ValueId v = 0; v < k_.values.size(); ++v)
      require(defined_[v], k_, "value " + k_.values[v].name, "no statement defines it");
    for (BufferId b = 0; b < k_.buffers.size(); ++b) {
      std::string buffer = "buffer " + k_.buffers[b].name;
      require(!loaded_[b] || !stored_[b] || k_.buffers[b].coherent, k_, buffer,
              "it is loaded and stored, but not coherent");
      require(!counted_[b] || (!loaded_[b] && !stored_[b]), k_, buffer,
              "it counts blocks, and is loaded or stored");
    }
  }

 private:
  template <class... Args>
  void check(bool condition, fmt::format_string<Args...> format, Args &&...args) const {
    if (!condition) require(false, k_, place(), format, std::forward<Args>(args)...);
  }

  std::string place() const {
    const Stmt &s = *stmt_;
    std::string text(to_string(s.kind));
    for (ValueId v : s.results)
      if (v < k_.values.size()) text += " %" + k_.values[v].name;
    if (s.kind == StmtKind::Store && s.buffer < k_.buffers.size())
      text += " %" + k_.buffers[s.buffer].name;
    return text;
  }

  const Layout &layout() const { return k_.layouts[layout_]; }

  void verify_body(const std::vector<Stmt> &body) {
    for (const Stmt &s : body) {
      stmt_ = &s;
      verify_statement(s);
    }
  }

  void verify_statement(const Stmt &s) {
    check(s.kind == StmtKind::In || layout_ != kNone, "it stands in no layout");
    verify_operands(s);
    switch (s.kind) {
      case StmtKind::Constant:
        check_counts(s, 0, 1);
        check(k_.values[s.results[0]].dtype == s.literal.dtype, "the literal has another dtype");
        break;
      case StmtKind::Index:
        check_counts(s, 0, 1);
        check(is_signed_int(k_.values[s.results[0]].dtype), "an index is a signed integer");
        break;
      case StmtKind::Random:
        check_counts(s, 1, 1);
        verify_random(k_, map_, layout_, s, place());
        break;
      case StmtKind::Compute: verify_compute(s); break;
      case StmtKind::Load:
      case StmtKind::Store: verify_access(s); break;
      case StmtKind::Reduce:
        verify_fold(s);
        fuse::verify_reduce(k_, layout(), s, ends_here(s), in_last_block_, place());
        break;
      case StmtKind::Scan:
        verify_fold(s);
        verify_scan(k_, layout(), s, loops_, is_reverse_, place());
        break;
      case StmtKind::Move: verify_move(s); break;
      case StmtKind::Keep:
        check_counts(s, 1, 1);
        check(dtype_of(s.results[0]) == dtype_of(s.operands[0]), "its dtype is not the operand's");
        break;
      case StmtKind::For: verify_for(s); break;
      case StmtKind::In: verify_in(s); break;
      case StmtKind::LastBlock: verify_last_block(s); break;
    }
    define_results(s);
  }

  // --- Values ------------------------------------------------------------------------------------

  DType dtype_of(ValueId v) const { return k_.values[v].dtype; }

  void verify_use(ValueId v) const {
    check(v < k_.values.size(), "operand {} is out of range", v);
    check(visible_[v], "%{} is not in scope here", k_.values[v].name);
    check(k_.values[v].layout == layout_, "%{} is a value of another layout", k_.values[v].name);
  }

  void verify_operands(const Stmt &s) {
    for (ValueId v : s.operands) verify_use(v);
    for (ValueId v : s.index.values()) {
      verify_use(v);
      check(is_int(dtype_of(v)), "%{} is no integer, but part of an index", k_.values[v].name);
    }
    for (DimId d : s.index.dims()) {
      check(d < k_.dims.size(), "dim {} is out of range", d);
      check(is_available(layout(), d),
            "dim {} is not available: it is not in the layout, or its "
            "loop is not bound",
            k_.dims[d].name);
    }
    if (s.guard == kNone) return;
    verify_use(s.guard);
    check(is_bool(dtype_of(s.guard)), "the guard is no bool");
  }

  void check_counts(const Stmt &s, int operands, int results) const {
    check(s.operands.size() == static_cast<std::size_t>(operands), "it has {} operands, not {}",
          s.operands.size(), operands);
    check(s.results.size() == static_cast<std::size_t>(results), "it has {} results, not {}",
          s.results.size(), results);
    for (ValueId v : s.results) {
      check(v < k_.values.size(), "result {} is out of range", v);
      check(!defined_[v], "%{} is defined twice", k_.values[v].name);
    }
  }

  void define_results(const Stmt &s) {
    stmt_ = &s;
    if (s.results.empty()) return;
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      ValueId v = s.results[i];
      const KernelValue &value = k_.values[v];
      check(value.dims == dependence(k_, s, i), "%{} does not have the dims that it depends on",
            value.name);
      check(value.layout == (s.kind == StmtKind::Move ? s.layout : layout_),
            "%{} is noted in another layout", value.name);
      defined_[v] = true;
      is_literal_[v] = s.kind == StmtKind::Constant;
      if (std::size_t level = level_of(s); level < pending_.size())
        pending_[level].push_back(v);
      else
        make_visible(v);
    }
  }

  void make_visible(ValueId v) {
    visible_[v] = true;
    if (!scopes_.empty()) scopes_.back().push_back(v);
  }

  /// Nesting level of the outermost `for` after which the results are complete; loops_.size() if
  /// they are complete at once.
  std::size_t level_of(const Stmt &s) const {
    std::size_t level = loops_.size();
    if (s.kind != StmtKind::Reduce) return level;
    for (std::uint32_t a : axes_of(layout(), s.axes))
      for (const Digit &d : layout().axes[a].digits)
        if (d.kind == DigitKind::Loop)
          level = std::min<std::size_t>(
              level, static_cast<std::size_t>(std::find(loops_.begin(), loops_.end(), d.name) -
                                              loops_.begin()));
    return level;
  }

  /// The loops of the dim's axis, and of the axes that its alignment refers to, are bound.
  bool is_available(const Layout &layout, DimId dim) const {
    std::uint32_t a = axis_of(layout, dim);
    if (a == kNone) return false;
    for (const Digit &d : layout.axes[a].digits)
      if (d.kind == DigitKind::Loop &&
          std::find(loops_.begin(), loops_.end(), d.name) == loops_.end())
        return false;
    const AlignTo &align = layout.axes[a].align;
    if (align.buffer == kNone) return true;
    std::vector<DimId> base = align.base.dims();
    return std::all_of(base.begin(), base.end(), [&](DimId d) { return is_available(layout, d); });
  }

  // --- Statements --------------------------------------------------------------------------------

  void verify_compute(const Stmt &s) const {
    const OpInfo &op = info(s.op);
    check(op.is_elementwise(), "{} is no elementwise operation", op.text);
    bool binary = op.kind == OpKind::Binary || op.kind == OpKind::Compare;
    check_counts(s, op.kind == OpKind::Ternary ? 3 : binary ? 2 : 1, 1);
    verify_compute_dtypes(k_, s, is_literal_, place());
    bool may_be_recip = s.op == Op::Div && dtype_of(s.results[0]) == DType::F32;
    check(!s.by_reciprocal || may_be_recip, "recip is for div of f32");
  }

  void verify_access(const Stmt &s) {
    bool is_load = s.kind == StmtKind::Load;
    check_counts(s, is_load ? 0 : 1, is_load ? 1 : 0);
    check(s.buffer < k_.buffers.size(), "buffer {} is out of range", s.buffer);
    fuse::verify_access(k_, map_, layout_, s, in_pipe_, place());
    (is_load ? loaded_ : stored_)[s.buffer] = true;
    if (is_load) return;
    for (const Digit *d : grid_digits_at_0(k_, layout(), s)) only_at_0_[s.buffer].push_back(d);
  }

  void verify_fold(const Stmt &s) const {
    int n = num_operands(s.monoid), states = num_results(s.monoid);
    bool starts = s.kind == StmtKind::Scan && std::ssize(s.operands) > n;
    check_counts(s, n + (starts ? states : 0), states + (s.terms ? 1 : 0));
    verify_fold_dtypes(k_, s, place());
    verify_axes(s);
  }

  void verify_axes(const Stmt &s) const {
    check(!s.axes.empty(), "it folds no dims");
    std::vector<DimId> depends;
    for (ValueId v : s.operands)
      depends.insert(depends.end(), k_.values[v].dims.begin(), k_.values[v].dims.end());
    for (DimId d : s.axes) {
      check(d < k_.dims.size() && is_available(layout(), d),
            "a folded dim is not in the layout, or its loop is not bound");
      const std::vector<DimId> &whole = layout().axes[axis_of(layout(), d)].dims;
      auto is_in = [](const std::vector<DimId> &dims) {
        return [&](DimId x) { return std::find(dims.begin(), dims.end(), x) != dims.end(); };
      };
      check(std::all_of(whole.begin(), whole.end(), is_in(s.axes)),
            "it folds {}, which is a part of an axis", k_.dims[d].name);
      check(std::any_of(whole.begin(), whole.end(), is_in(depends)), "no operand depends on {}",
            k_.dims[d].name);
    }
  }

  void verify_move(const Stmt &s) const {
    check_counts(s, 1, 1);
    check(dtype_of(s.results[0]) == dtype_of(s.operands[0]), "its dtype is not the operand's");
    check(s.layout < k_.layouts.size(), "layout {} is out of range", s.layout);
    check(s.index.values().empty(), "the shared offset uses a value");
    for (DimId d : k_.values[s.operands[0]].dims)
      check(is_available(k_.layouts[s.layout], d),
            "dim {} of the operand is not available in layout {}", k_.dims[d].name,
            k_.layouts[s.layout].name);
    for (DimId d : s.index.dims())
      check(is_available(k_.layouts[s.layout], d), "dim {} is not available in layout {}",
            k_.dims[d].name, k_.layouts[s.layout].name);
    const KernelValue &value = k_.values[s.operands[0]];
    verify_shared_offset(k_, map_, {s.index, value.dims, layout_, s.vector, value.dtype}, place());
    verify_shared_offset(k_, map_, {s.index, value.dims, s.layout, s.read_vector, value.dtype},
                         place());
  }

  // --- Scopes ------------------------------------------------------------------------------------

  /// Runs the body in a scope of its own: what it defines ends with it.
  void verify_scope(const std::vector<Stmt> &body) {
    scopes_.emplace_back();
    verify_body(body);
    for (ValueId v : scopes_.back()) visible_[v] = false;
    scopes_.pop_back();
  }

  /// Whether the statement is a reduction that is complete within the loops around it.
  bool ends_here(const Stmt &s) const {
    return s.kind == StmtKind::Reduce && level_of(s) == loops_.size();
  }

  void verify_for(const Stmt &s) {
    check(loop_digit(layout(), s.loop), "layout {} has no loop {}", layout().name, s.loop);
    check(std::find(loops_.begin(), loops_.end(), s.loop) == loops_.end(), "loop {} is bound",
          s.loop);
    bool may_pipe = !s.partition && !s.reverse && !in_pipe_;
    check(s.pipe == 0 || (s.pipe >= 2 && s.pipe <= kMaxPipe && may_pipe),
          "a pipe has 2 to {} stages, in a loop neither partitioned, reverse nor piped", kMaxPipe);
    loops_.push_back(s.loop);
    is_reverse_.push_back(s.reverse);
    pending_.emplace_back();
    in_pipe_ = s.pipe > 0;
    verify_scope(s.body);
    in_pipe_ = false;
    for (const Stmt &inner : s.body)
      check(!s.partition || (stays_in_thread(inner) && !ends_here(inner)),
            "loop {} cannot be partitioned: its body meets other threads", s.loop);
    std::vector<ValueId> complete = std::move(pending_.back());
    pending_.pop_back();
    loops_.pop_back();
    is_reverse_.pop_back();
    for (ValueId v : complete) make_visible(v);
  }

  void verify_in(const Stmt &s) {
    check(s.layout < k_.layouts.size(), "layout {} is out of range", s.layout);
    LayoutId outer = layout_;
    layout_ = s.layout;
    verify_body(s.body);
    layout_ = outer;
  }

  void verify_last_block(const Stmt &s) {
    check(s.buffer < k_.buffers.size(), "buffer {} is out of range", s.buffer);
    check(loops_.empty() && !in_last_block_, "it stands in a loop or in another last_block");
    check(!counted_[s.buffer], "%{} counts for another last_block", k_.buffers[s.buffer].name);
    counted_[s.buffer] = true;
    fuse::verify_last_block(k_, map_, layout_, s, only_at_0_, place());
    in_last_block_ = true;
    verify_scope(s.body);
    in_last_block_ = false;
  }

  const Kernel &k_;
  MachineMap map_;
  const Stmt *stmt_ = nullptr;
  LayoutId layout_ = kNone;
  bool in_last_block_ = false;
  std::vector<std::string> loops_;             // bound, outermost first
  std::vector<bool> is_reverse_;               // of the bound loops
  bool in_pipe_ = false;                       // directly in a loop with a pipe
  std::vector<std::vector<ValueId>> pending_;  // per loop: results complete after it
  std::vector<std::vector<ValueId>> scopes_;   // values that end with each open scope
  std::vector<bool> visible_, defined_, is_literal_, loaded_, stored_, counted_;
  std::vector<std::vector<const Digit *>> only_at_0_;  // by buffer: grid_digits_at_0
};

}  // namespace

void verify(const Kernel &kernel) {
  verify_layouts(kernel);
  verify_instances(kernel);
  Verifier(kernel).verify();
  verify_size(kernel);
}

}  // namespace fuse
