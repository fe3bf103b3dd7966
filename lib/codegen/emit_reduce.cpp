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

/// One reduce statement: what it folds and where the group lies on the machine.
struct Emitter::Reduction {
  MonoidOps monoid;
  std::vector<ValueId> results;
  std::vector<Part> threads, blocks;
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

void Emitter::emit_reduce(const Stmt &stmt) {
  const Layout &layout = kernel_.layouts[layout_];
  std::vector<std::uint32_t> axes = axes_of(layout, stmt.axes);
  std::vector<DType> dtypes;
  for (ValueId result : stmt.results) dtypes.push_back(kernel_.values[result].dtype);
  auto reduction = std::make_shared<Reduction>(
      Reduction{MonoidOps(b_, ops_, stmt.monoid, dtypes, stmt.approximate), stmt.results,
                parts_of(layout, axes, DigitKind::Thread), parts_of(layout, axes, DigitKind::Cta)});
  SlotSpace space = slots_of(stmt.results[0]), reduced = map_.slots(layout_, axes);
  Loop *loop = accumulating_loop(axes);
  const std::vector<State> *accumulators =
      loop ? &accumulators_of(*loop, stmt, space.size(), reduction) : nullptr;
  std::vector<State> states;
  for (std::size_t s = 0; s < space.size(); ++s) {
    std::vector<Element> elements;
    for (std::size_t r = 0; r < reduced.size(); ++r)
      elements.push_back(
          gather_element(stmt, merge(space.decode(s), reduced.decode(r)), axes, dtypes));
    State before;
    if (loop) before = load_accumulator((*accumulators)[s], dtypes);
    states.push_back(reduction->monoid.fold(elements, before));
    for (std::size_t c = 0; loop && c < dtypes.size(); ++c)
      b_.CreateStore(states[s][c], (*accumulators)[s][c]);
  }
  if (!loop) combine_threads(*reduction, states);
}

/// The accumulators of the statement; the first time they are made, to be combined behind the loop.
std::vector<State> &Emitter::accumulators_of(Loop &loop, const Stmt &stmt, std::size_t slots,
                                             const std::shared_ptr<Reduction> &reduction) {
  auto [it, is_new] = loop.accumulators.try_emplace(&stmt);
  if (!is_new) return it->second;
  for (std::size_t s = 0; s < slots; ++s)
    it->second.push_back(make_accumulator(loop, reduction->monoid));
  loop.finish.push_back([this, reduction, accumulators = it->second] {
    std::vector<State> totals;
    for (const State &a : accumulators)
      totals.push_back(load_accumulator(a, reduction->monoid.dtypes()));
    combine_threads(*reduction, totals);
  });
  return it->second;
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

void Emitter::combine_threads(Reduction &reduction, std::vector<State> &states) {
  combine_lanes(reduction, states);
  combine_warps(reduction, states);
  combine_cluster(reduction, states);
  for (std::size_t c = 0; c < reduction.results.size(); ++c) {
    Values slots;
    for (const State &state : states) slots.push_back(state[c]);
    define(reduction.results[c], std::move(slots));
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

void Emitter::combine_lanes(Reduction &reduction, std::vector<State> &states) {
  std::int64_t lanes = lane_bits(reduction.threads);
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

void Emitter::combine_warps(Reduction &reduction, std::vector<State> &states) {
  std::vector<Part> warps = warp_parts(reduction.threads);
  if (warps.empty()) return;
  std::int64_t lanes = lane_bits(reduction.threads);
  bool per_lane = lanes != kWarp - 1;  // the lanes of a warp hold several results
  std::int64_t unit = per_lane ? kWarp : 1;
  auto entry = [&](llvm::Value *thread) { return per_lane ? thread : b_.CreateLShr(thread, 5); };
  StateArray array =
      make_state_array(reduction.monoid.dtypes(), states.size(), kernel_.threads / kWarp * unit);
  llvm::Value *lane = b_.CreateAnd(thread_, static_cast<std::uint64_t>(lanes));
  emit_if(b_, lanes ? b_.CreateIsNull(lane) : nullptr,
          [&] { array.store(states, entry(thread_)); });
  emit_barrier();
  llvm::Value *start = entry(emit_group_start(b_, thread_, reduction.threads, kernel_.threads));
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::vector<State> all;
    for (std::int64_t warp : numbers(warps))
      all.push_back(array.load(array.region(), states[s], s, start, warp * unit));
    states[s] = reduction.monoid.tree(all);
  }
}

void Emitter::combine_cluster(Reduction &reduction, std::vector<State> &states) {
  if (reduction.blocks.empty()) return;
  bool per_thread = static_cast<std::int64_t>(numbers(reduction.threads).size()) != kernel_.threads;
  llvm::Value *start = emit_group_start(b_, thread_, reduction.threads, kernel_.threads);
  StateArray array =
      make_state_array(reduction.monoid.dtypes(), states.size(), per_thread ? kernel_.threads : 1);
  emit_if(b_, b_.CreateICmpEQ(thread_, start), [&] { array.store(states, start); });
  emit_cluster_barrier();
  uses_cluster_memory_ = true;
  llvm::Value *first = emit_group_start(b_, rank_, reduction.blocks, kernel_.cluster);
  std::vector<std::vector<State>> all(states.size());
  for (std::int64_t block : numbers(reduction.blocks)) {
    llvm::Value *rank = b_.CreateAdd(first, b_.getInt32(static_cast<std::uint32_t>(block)));
    llvm::Value *remote = b_.CreateIntrinsic(
        b_.getPtrTy(7), llvm::Intrinsic::nvvm_mapa_shared_cluster, {array.region(), rank});
    for (std::size_t s = 0; s < states.size(); ++s)
      all[s].push_back(array.load(remote, states[s], s, start, 0));
  }
  for (std::size_t s = 0; s < states.size(); ++s) states[s] = reduction.monoid.tree(all[s]);
}

}  // namespace fuse
