// Reductions within a thread: its slots fold in groups, in a balanced tree over the groups.
//
// A reduction over a bound loop digit accumulates per thread and is finished behind the loop. Then
// the threads meet (emit_combine.cpp), and every thread of the group has the result.
#include "codegen/reduction.h"

#include <algorithm>

namespace fuse {

namespace {

/// Welford and online states need all elements of a thread at once.
bool folds_by_groups(Monoid monoid) {
  return monoid != Monoid::Welford && monoid != Monoid::Online;
}

}  // namespace

/// The operands at one position and whether it is valid on the axes.
Element Emitter::gather_element(const Stmt &stmt, const Assignment &assignment,
                                const std::vector<std::uint32_t> &axes,
                                const std::vector<DType> &dtypes) {
  Element element;
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_operands(stmt.monoid)); ++i) {
    ValueId operand = stmt.operands[i];
    Scalar scalar = {value_at(operand, assignment), kernel_.values[operand].dtype};
    element.operands.push_back(ops_.cast(scalar, dtypes[i]));
  }
  for (std::uint32_t a : axes) {
    if (stmt.kind == StmtKind::Reduce && invalid_.is_neutral(stmt, a)) continue;
    Assignment start = assignment;
    const AxisMap &axis = map_.axis(layout_, a);
    if (is_uniform(axis, static_cast<int>(axis.vec_extent)))
      start = advance(start, axis.vec, -value_of(start, axis.vec).value_or(0));
    element.valid = conjunction(element.valid, emit_valid(a, start, 1));
  }
  return element;
}

/// The outermost enclosing loop that binds a digit of the axes.
Emitter::Loop *Emitter::accumulating_loop(const std::vector<std::uint32_t> &axes) {
  for (Loop &loop : loops_)
    for (std::uint32_t a : axes)
      for (const Digit &d : kernel_.layouts[layout_].axes[a].digits)
        if (d.kind == DigitKind::Loop && d.name == loop.stmt->loop) return &loop;
  return nullptr;
}

std::size_t Emitter::end_of_reductions(const std::vector<Stmt> &body, std::size_t begin) {
  std::vector<ValueId> results;
  std::size_t end = begin;
  for (; end < body.size() && body[end].kind == StmtKind::Reduce; ++end) {
    for (ValueId v : body[end].operands)
      if (std::find(results.begin(), results.end(), v) != results.end()) return end;
    results.insert(results.end(), body[end].results.begin(), body[end].results.end());
  }
  return end;
}

/// Neighbours meet other threads together: one barrier does for all.
void Emitter::emit_reductions(std::span<const Stmt> stmts, std::span<const Stmt *const> computes,
                              const std::vector<DimId> &dims) {
  std::vector<std::shared_ptr<Reduction>> all, complete;
  for (const Stmt &stmt : stmts) all.push_back(begin_fold(stmt));
  SlotSpace space = slots_of(dims);
  for (std::size_t first = 0; first < space.size() && !computes.empty(); first += kFoldGroup) {
    std::vector<Assignment> slots;
    for (std::size_t s = first; s < std::min(first + kFoldGroup, space.size()); ++s)
      slots.push_back(space.decode(s));
    for (const Stmt *stmt : computes) emit_slots(*stmt, slots, first);
    for (const auto &reduction : all)
      if (folds_in_groups(*reduction->stmt, dims))
        for (const Assignment &slot : slots) fold_slot(*reduction, slot);
  }
  for (const auto &reduction : all) {
    if (computes.empty() || !folds_in_groups(*reduction->stmt, dims)) fold_all(*reduction);
    end_fold(*reduction);
    if (reduction->accumulators.empty()) complete.push_back(reduction);
  }
  combine_threads(complete);
  for (const auto &reduction : complete)
    if (reduction->stmt->terms) define_terms(*reduction);
}

std::shared_ptr<Emitter::Reduction> Emitter::make_reduction(const Stmt &stmt) {
  const Layout &layout = kernel_.layouts[layout_];
  std::vector<std::uint32_t> axes = axes_of(layout, stmt.axes);
  std::vector<DType> dtypes;
  for (int i = 0; i < num_results(stmt.monoid); ++i)
    dtypes.push_back(kernel_.values[stmt.results[static_cast<std::size_t>(i)]].dtype);
  return std::make_shared<Reduction>(
      Reduction{&stmt, MonoidOps(b_, ops_, stmt.monoid, dtypes, stmt.approximate),
                parts_of(layout, axes, DigitKind::Thread), parts_of(layout, axes, DigitKind::Cta)});
}

std::shared_ptr<Emitter::Reduction> Emitter::begin_fold(const Stmt &stmt) {
  Loop *loop = accumulating_loop(axes_of(kernel_.layouts[layout_], stmt.axes));
  std::size_t slots = slots_of(stmt.results[0]).size();
  std::shared_ptr<Reduction> reduction =
      loop ? accumulating_reduction(*loop, stmt, slots) : make_reduction(stmt);
  reduction->states.clear();
  reduction->group.assign(slots, {});
  reduction->groups.assign(slots, {});
  reduction->terms.assign(slots, {});
  return reduction;
}

/// Whether the slots of the dims are those that the reduction folds.
bool Emitter::folds_in_groups(const Stmt &stmt, const std::vector<DimId> &dims) const {
  std::vector<DimId> folded = kernel_.values[stmt.results[0]].dims;
  folded.insert(folded.end(), stmt.axes.begin(), stmt.axes.end());
  std::sort(folded.begin(), folded.end());
  return folds_by_groups(stmt.monoid) && folded == dims;
}

void Emitter::fold_all(Reduction &reduction) {
  const Stmt &stmt = *reduction.stmt;
  SlotSpace space = slots_of(stmt.results[0]);
  SlotSpace reduced = map_.slots(layout_, axes_of(kernel_.layouts[layout_], stmt.axes));
  for (std::size_t s = 0; s < space.size(); ++s)
    for (std::size_t r = 0; r < reduced.size(); ++r)
      fold_slot(reduction, merge(space.decode(s), reduced.decode(r)));
}

void Emitter::fold_slot(Reduction &reduction, const Assignment &slot) {
  const Stmt &stmt = *reduction.stmt;
  std::vector<std::uint32_t> axes = axes_of(kernel_.layouts[layout_], stmt.axes);
  std::size_t s = slots_of(stmt.results[0]).slot_at(slot);
  std::vector<Element> &group = reduction.group[s];
  group.push_back(gather_element(stmt, slot, axes, reduction.monoid.dtypes()));
  if (group.size() < kFoldGroup || !folds_by_groups(stmt.monoid)) return;
  reduction.groups[s].push_back(reduction.monoid.fold(group, {}));
  group.clear();
}

/// The states of the thread; those of a loop go to memory, behind the ones of earlier iterations.
void Emitter::end_fold(Reduction &reduction) {
  MonoidOps &monoid = reduction.monoid;
  for (std::size_t s = 0; s < reduction.group.size(); ++s) {
    const State *memory = reduction.accumulators.empty() ? nullptr : &reduction.accumulators[s];
    State before = memory ? load_accumulator(*memory, monoid.dtypes()) : State();
    State state;
    if (!folds_by_groups(monoid.monoid())) {
      state = monoid.fold(reduction.group[s], before,
                          reduction.stmt->terms ? &reduction.terms[s] : nullptr);
    } else {
      std::vector<State> &groups = reduction.groups[s];
      if (!reduction.group[s].empty()) groups.push_back(monoid.fold(reduction.group[s], {}));
      state = monoid.tree(groups);
      if (memory) state = monoid.combine(before, state);
    }
    for (std::size_t c = 0; memory && c < state.size(); ++c) b_.CreateStore(state[c], (*memory)[c]);
    reduction.states.push_back(std::move(state));
  }
  reduction.own = reduction.states;
}

/// Terms that are relative to the thread's maximum, relative to the one of all.
void Emitter::define_terms(const Reduction &reduction) {
  const Stmt &stmt = *reduction.stmt;
  SlotSpace space = slots_of(stmt.results[0]), all = slots_of(stmt.results[2]);
  SlotSpace reduced = map_.slots(layout_, axes_of(kernel_.layouts[layout_], stmt.axes));
  MonoidOps monoid = reduction.monoid;
  llvm::Value *one = ops_.constant(kernel_.values[stmt.results[0]].dtype, 1);
  Values slots(all.size());
  for (std::size_t s = 0; s < space.size(); ++s) {
    llvm::Value *factor = monoid.rescale({reduction.own[s][0], one}, values_[stmt.results[0]][s]);
    for (std::size_t r = 0; r < reduced.size(); ++r)
      slots[all.slot_at(merge(space.decode(s), reduced.decode(r)))] =
          b_.CreateFMul(reduction.terms[s][r], factor);
  }
  define(stmt.results[2], std::move(slots));
}

/// The reduction of the statement in the loop; the first time it is made, to be combined behind it.
std::shared_ptr<Emitter::Reduction> Emitter::accumulating_reduction(Loop &loop, const Stmt &stmt,
                                                                    std::size_t slots) {
  for (const auto &known : loop.reductions)
    if (known->stmt == &stmt) return known;
  std::shared_ptr<Reduction> reduction = make_reduction(stmt);
  for (std::size_t s = 0; s < slots; ++s)
    reduction->accumulators.push_back(make_accumulator(loop, reduction->monoid));
  loop.reductions.push_back(reduction);
  return reduction;
}

/// Behind the loop the accumulated states of all threads meet.
void Emitter::finish_reductions(const Loop &loop) {
  for (const auto &reduction : loop.reductions) {
    reduction->states.clear();
    for (const State &a : reduction->accumulators)
      reduction->states.push_back(load_accumulator(a, reduction->monoid.dtypes()));
  }
  combine_threads(loop.reductions);
}

/// Memory of a state, set to the identity before the loop; it becomes registers.
State Emitter::make_accumulator(const Loop &loop, MonoidOps &monoid) {
  Builder::InsertPointGuard guard(b_);
  State memory;
  State start = monoid.identity();
  for (llvm::Value *component : start) {
    b_.SetInsertPoint(entry_, entry_->begin());
    llvm::Value *slot = b_.CreateAlloca(component->getType());
    b_.SetInsertPoint(loop.preheader->getTerminator());
    b_.CreateStore(component, slot);
    memory.push_back(slot);
  }
  return memory;
}

State Emitter::load_accumulator(const State &memory, const std::vector<DType> &dtypes) {
  State state;
  for (std::size_t c = 0; c < memory.size(); ++c)
    state.push_back(b_.CreateLoad(type_of(dtypes[c], module_.getContext()), memory[c]));
  return state;
}

}  // namespace fuse
