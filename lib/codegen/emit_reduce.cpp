// Reductions: the thread's slots, then lanes, warps and the cluster.
//
// Order of combination, the same on every run: a balanced tree over the slots; for each lane bit
// from the lowest, the lower lane's state before the upper lane's; the states of warps, then of
// blocks, as a balanced tree in ascending order. A reduction over a bound loop digit accumulates
// per thread and is finished behind the loop. Afterwards every thread of the group has the result.
#include "codegen/emitter.h"
#include "codegen/state_array.h"
#include "codegen/warp.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <algorithm>
#include <memory>

namespace fuse {

namespace {

/// extent units at stride, of threads or of blocks in the cluster.
struct Part {
  std::int64_t extent, stride;
};

std::vector<Part> parts_of(const Layout &layout, const std::vector<std::uint32_t> &axes,
                           DigitKind kind) {
  std::vector<Part> parts;
  for (std::uint32_t a : axes)
    for (const Digit &d : layout.axes[a].digits)
      if (d.kind == kind && !d.extent.is_constant(1))
        parts.push_back({*d.extent.constant(), *d.stride.constant()});
  return parts;
}

/// Bits of the lane that the thread digits span.
std::int64_t lane_bits(const std::vector<Part> &threads) {
  std::int64_t bits = 0;
  for (const Part &p : threads)
    for (std::int64_t bit = p.stride; bit < std::min(kWarp, p.stride * p.extent); bit *= 2)
      bits |= bit;
  return bits;
}

/// Their parts in units of warps.
std::vector<Part> warp_parts(const std::vector<Part> &threads) {
  std::vector<Part> warps;
  for (const Part &p : threads) {
    if (p.stride >= kWarp)
      warps.push_back({p.extent, p.stride / kWarp});
    else if (p.stride * p.extent > kWarp)
      warps.push_back({p.stride * p.extent / kWarp, 1});
  }
  return warps;
}

/// Numbers that the parts span, ascending.
std::vector<std::int64_t> numbers(const std::vector<Part> &parts) {
  std::vector<std::int64_t> all = {0};
  for (const Part &p : parts) {
    std::vector<std::int64_t> next;
    for (std::int64_t base : all)
      for (std::int64_t i = 0; i < p.extent; ++i) next.push_back(base + i * p.stride);
    all = std::move(next);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The id with its digits in the parts set to 0: the first of the group.
llvm::Value *emit_group_start(Builder &b, llvm::Value *id, const std::vector<Part> &parts,
                              std::int64_t size) {
  if (static_cast<std::int64_t>(numbers(parts).size()) == size) return b.getInt32(0);
  llvm::Value *start = id;
  for (const Part &p : parts) {
    llvm::Value *stride = b.getInt32(static_cast<std::uint32_t>(p.stride));
    llvm::Value *extent = b.getInt32(static_cast<std::uint32_t>(p.extent));
    llvm::Value *digit = b.CreateURem(b.CreateUDiv(id, stride), extent);
    start = b.CreateSub(start, b.CreateMul(digit, stride));
  }
  return start;
}

}  // namespace

/// One reduce statement: where its group lies on the machine, and its states so far.
struct Emitter::Reduction {
  const Stmt *stmt;
  MonoidOps monoid;
  std::vector<Part> threads, blocks;
  std::vector<State> states = {};                // by slot of the results
  std::vector<State> accumulators = {};          // memory of the states of a loop
  std::vector<std::vector<Element>> group = {};  // by slot of the results: elements not folded yet
  std::vector<std::vector<State>> groups = {};   // likewise: states of the groups before
  std::vector<State> own = {};                   // terms: the thread's states
  std::vector<Values> terms = {};                // by slot of the results, then of the folded axes
};

/// The operands at one position and whether it is valid on the axes.
Element Emitter::gather_element(const Stmt &stmt, const Assignment &assignment,
                                const std::vector<std::uint32_t> &axes,
                                const std::vector<DType> &dtypes) {
  Element element;
  for (std::size_t i = 0; i < stmt.operands.size(); ++i) {
    ValueId operand = stmt.operands[i];
    Scalar scalar = {value_at(operand, assignment), kernel_.values[operand].dtype};
    element.operands.push_back(ops_.cast(scalar, dtypes[i]));
  }
  for (std::uint32_t a : axes) {
    if (stmt.kind == StmtKind::Reduce && fills_.is_neutral(stmt, a)) continue;
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

/// Welford and online states need all elements of a thread at once.
bool folds_by_groups(Monoid monoid) {
  return monoid != Monoid::Welford && monoid != Monoid::Online;
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

void Emitter::combine_threads(const std::vector<std::shared_ptr<Reduction>> &reductions) {
  for (const auto &reduction : reductions) combine_lanes(*reduction);
  combine_warps(reductions);
  combine_cluster(reductions);
  for (const auto &reduction : reductions)
    for (std::size_t c = 0; c < reduction->monoid.dtypes().size(); ++c) {
      Values slots;
      for (const State &state : reduction->states) slots.push_back(state[c]);
      define(reduction->stmt->results[c], std::move(slots));
    }
}

/// Lanes that exist in every warp of the block.
std::uint32_t Emitter::members() const {
  return kernel_.threads < kWarp ? (1U << kernel_.threads) - 1 : ~0U;
}

StateArray Emitter::make_state_array(const std::vector<DType> &dtypes, std::size_t slots,
                                     std::int64_t entries) {
  std::int64_t bytes = StateArray::bytes(dtypes, slots, entries);
  return StateArray(b_, allocate_shared(bytes, "reduce"), dtypes, slots, entries);
}

/// The maximum of all lanes first, then one rescaling and the sum.
void Emitter::combine_online_lanes(MonoidOps &monoid, std::int64_t lanes, State &state) {
  auto butterfly = [&](Op op, llvm::Value *x) {
    DType dtype = monoid.dtypes()[0];
    for (std::int64_t bit = 1; bit < kWarp; bit *= 2) {
      if (!(lanes & bit)) continue;
      llvm::Value *distance = b_.getInt32(static_cast<std::uint32_t>(bit));
      llvm::Value *other = shuffle(b_, Shuffle::Butterfly, {x}, distance, members())[0];
      Scalar operands[] = {{x, dtype}, {other, dtype}};
      x = ops_.emit(op, dtype, operands);
    }
    return x;
  };
  llvm::Value *maximum = butterfly(Op::Max, state[0]);
  state = {maximum, butterfly(Op::Add, monoid.rescale(state, maximum))};
}

void Emitter::combine_lanes(Reduction &reduction) {
  std::vector<State> &states = reduction.states;
  std::int64_t lanes = lane_bits(reduction.threads);
  if (lanes && reduction.monoid.monoid() == Monoid::Online) {
    for (State &state : states) combine_online_lanes(reduction.monoid, lanes, state);
    return;
  }
  for (std::int64_t bit = 1; bit < kWarp; bit *= 2) {
    if (!(lanes & bit)) continue;
    llvm::Value *is_upper = nullptr;
    if (!is_commutative(reduction.monoid.monoid()))
      is_upper = b_.CreateIsNotNull(b_.CreateAnd(thread_, static_cast<std::uint64_t>(bit)));
    for (State &own : states) {
      llvm::Value *distance = b_.getInt32(static_cast<std::uint32_t>(bit));
      State other = shuffle(b_, Shuffle::Butterfly, own, distance, members());
      State left = is_upper ? select_state(b_, is_upper, other, own) : own;
      State right = is_upper ? select_state(b_, is_upper, own, other) : other;
      own = reduction.monoid.combine(left, right);
    }
  }
}

/// Whether the lanes of a warp hold several results.
bool Emitter::is_per_lane(const Reduction &reduction) {
  return lane_bits(reduction.threads) != kWarp - 1;
}

void Emitter::combine_warps(const std::vector<std::shared_ptr<Reduction>> &reductions) {
  std::vector<std::pair<Reduction *, StateArray>> arrays;
  auto entry = [&](const Reduction &r, llvm::Value *thread) {
    return is_per_lane(r) ? thread : b_.CreateLShr(thread, 5);
  };
  for (const auto &r : reductions) {
    if (warp_parts(r->threads).empty()) continue;
    std::int64_t entries = kernel_.threads / kWarp * (is_per_lane(*r) ? kWarp : 1);
    StateArray array = make_state_array(r->monoid.dtypes(), r->states.size(), entries);
    std::int64_t lanes = lane_bits(r->threads);
    llvm::Value *lane = b_.CreateAnd(thread_, static_cast<std::uint64_t>(lanes));
    emit_if(b_, lanes ? b_.CreateIsNull(lane) : nullptr,
            [&] { array.store(array.region(), r->states, entry(*r, thread_)); });
    arrays.emplace_back(r.get(), array);
  }
  if (arrays.empty()) return;
  emit_barrier();
  for (auto &[r, array] : arrays) {
    std::int64_t unit = is_per_lane(*r) ? kWarp : 1;
    llvm::Value *start = entry(*r, emit_group_start(b_, thread_, r->threads, kernel_.threads));
    for (std::size_t s = 0; s < r->states.size(); ++s) {
      std::vector<State> all;
      for (std::int64_t warp : numbers(warp_parts(r->threads)))
        all.push_back(array.load(array.region(), r->states[s], s, start, warp * unit));
      r->states[s] = r->monoid.tree(all);
    }
  }
}

/// Entry of a block's state in each block's array: one a block, or one for each thread of it.
llvm::Value *Emitter::cluster_entry(const Reduction &reduction, llvm::Value *rank) {
  llvm::Value *start = emit_group_start(b_, thread_, reduction.threads, kernel_.threads);
  llvm::Value *unit = b_.getInt32(static_cast<std::uint32_t>(cluster_unit(reduction)));
  return b_.CreateAdd(b_.CreateMul(rank, unit), start);
}

std::int64_t Emitter::cluster_unit(const Reduction &reduction) const {
  bool is_one = static_cast<std::int64_t>(numbers(reduction.threads).size()) == kernel_.threads;
  return is_one ? 1 : kernel_.threads;
}

/// Writes the states into the memory of all blocks of the group.
void Emitter::send_to_cluster(const Reduction &reduction, StateArray &array) {
  llvm::Value *own = cluster_entry(reduction, rank_);
  llvm::Value *first = emit_group_start(b_, rank_, reduction.blocks, kernel_.cluster);
  llvm::Value *start = emit_group_start(b_, thread_, reduction.threads, kernel_.threads);
  emit_if(b_, b_.CreateICmpEQ(thread_, start), [&] {
    for (std::int64_t block : numbers(reduction.blocks)) {
      llvm::Value *rank = b_.CreateAdd(first, b_.getInt32(static_cast<std::uint32_t>(block)));
      array.store(b_.CreateIntrinsic(b_.getPtrTy(7), llvm::Intrinsic::nvvm_mapa_shared_cluster,
                                     {array.region(), rank}),
                  reduction.states, own);
    }
  });
}

/// Each block writes its state into the memory of all others, so that none waits for what it reads.
void Emitter::combine_cluster(const std::vector<std::shared_ptr<Reduction>> &reductions) {
  std::vector<std::pair<Reduction *, StateArray>> arrays;
  for (const auto &r : reductions) {
    if (r->blocks.empty()) continue;
    emit_cluster_start();
    arrays.emplace_back(r.get(), make_state_array(r->monoid.dtypes(), r->states.size(),
                                                  kernel_.cluster * cluster_unit(*r)));
    send_to_cluster(*r, arrays.back().second);
  }
  if (arrays.empty()) return;
  emit_cluster_barrier();
  for (auto &[r, array] : arrays) {
    llvm::Value *first = emit_group_start(b_, rank_, r->blocks, kernel_.cluster);
    for (std::size_t s = 0; s < r->states.size(); ++s) {
      std::vector<State> all;
      for (std::int64_t block : numbers(r->blocks))
        all.push_back(array.load(array.region(), r->states[s], s, cluster_entry(*r, first),
                                 block * cluster_unit(*r)));
      r->states[s] = r->monoid.tree(all);
    }
  }
}

}  // namespace fuse
