// Reductions: the thread's slots, then lanes, warps and the cluster.
//
// Order of combination, the same on every run: a balanced tree over the slots; for each lane bit
// from the lowest, the lower lane's state before the upper lane's; the states of warps, then of
// blocks, as a balanced tree in ascending order. A reduction over a bound loop digit accumulates
// per thread and is finished behind the loop. Afterwards every thread of the group has the result.
#include "codegen/emitter.h"
#include "codegen/monoid.h"
#include "ir/format.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::int64_t kWarp = 32;

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

/// The value of the lane whose number differs in the given bit.
llvm::Value *emit_butterfly(Builder &b, llvm::Value *value, std::int64_t bit,
                            std::uint32_t members) {
  if (llvm::isa<llvm::Constant>(value)) return value;
  llvm::Type *type = value->getType();
  auto shuffle = [&](llvm::Intrinsic::ID id, llvm::Value *x) -> llvm::Value * {
    return b.CreateIntrinsic(x->getType(), id,
                             {b.getInt32(members), x, b.getInt32(static_cast<std::uint32_t>(bit)),
                              b.getInt32(31)});
  };
  if (type->isFloatTy()) return shuffle(llvm::Intrinsic::nvvm_shfl_sync_bfly_f32, value);
  unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Value *word = b.CreateBitCast(value, b.getIntNTy(bits));
  auto word_shuffle = [&](llvm::Value *x) {
    llvm::Value *wide = b.CreateZExtOrTrunc(x, b.getInt32Ty());
    return shuffle(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, wide);
  };
  llvm::Value *moved = word_shuffle(word);
  if (bits == 64) {
    llvm::Value *high = word_shuffle(b.CreateLShr(word, 32));
    moved = b.CreateOr(b.CreateZExt(moved, b.getInt64Ty()),
                       b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  }
  return b.CreateBitCast(b.CreateZExtOrTrunc(moved, b.getIntNTy(bits)), type);
}

}  // namespace

/// One reduce statement: what it folds and where the group lies on the machine.
struct Emitter::Reduction {
  MonoidOps monoid;
  std::vector<ValueId> results;
  std::vector<Part> threads, blocks;
};

/// States of all slots in shared memory: [component][slot][entry].
class Emitter::StateArray {
 public:
  StateArray(Emitter &e, const Reduction &r, std::size_t slots, std::int64_t entries)
      : e_(e), r_(r), slots_(static_cast<std::int64_t>(slots)), entries_(entries) {
    std::int64_t bytes = 0;
    for (DType t : r.monoid.dtypes()) {
      starts_.push_back(bytes);
      bytes += slots_ * entries_ * static_cast<std::int64_t>(size_of(t));
      bytes = (bytes + 15) / 16 * 16;
    }
    region_ = e.allocate_shared(bytes, "reduce");
  }

  void store(const std::vector<State> &states, llvm::Value *entry) {
    for (std::size_t s = 0; s < states.size(); ++s)
      for (std::size_t c = 0; c < states[s].size(); ++c)
        if (!llvm::isa<llvm::Constant>(states[s][c]))
          e_.b_.CreateStore(states[s][c], address(region_, c, s, entry, 0));
  }

  /// The state at entry + offset; constants were not stored, they are the same everywhere.
  State load(llvm::Value *region, const State &own, std::size_t slot, llvm::Value *entry,
             std::int64_t offset) {
    State state = own;
    for (std::size_t c = 0; c < state.size(); ++c)
      if (!llvm::isa<llvm::Constant>(own[c]))
        state[c] = e_.b_.CreateLoad(own[c]->getType(), address(region, c, slot, entry, offset));
    return state;
  }

  llvm::Value *region() const { return region_; }

 private:
  llvm::Value *address(llvm::Value *region, std::size_t component, std::size_t slot,
                       llvm::Value *entry, std::int64_t offset) {
    DType dtype = r_.monoid.dtypes()[component];
    auto size = static_cast<std::int64_t>(size_of(dtype));
    llvm::Type *type = memory_type_of(dtype, e_.module_.getContext());
    std::int64_t constant = starts_[component] +
                            (static_cast<std::int64_t>(slot) * entries_ + offset) * size;
    llvm::Value *base = e_.b_.CreateGEP(type, region, entry);
    return e_.b_.CreateConstGEP1_64(e_.b_.getInt8Ty(), base,
                                    static_cast<std::uint64_t>(constant));
  }

  Emitter &e_;
  const Reduction &r_;
  std::int64_t slots_, entries_;
  std::vector<std::int64_t> starts_;
  llvm::Value *region_;
};

std::vector<Element> Emitter::gather_elements(const Stmt &stmt, const Assignment &result,
                                              const std::vector<std::uint32_t> &axes,
                                              const std::vector<DType> &dtypes) {
  SlotSpace reduced = map_.slots(layout_, axes);
  std::vector<Element> elements;
  for (std::size_t s = 0; s < reduced.size(); ++s) {
    Assignment assignment = result;
    for (const auto &pair : reduced.decode(s)) assignment.push_back(pair);
    Element &e = elements.emplace_back();
    for (std::size_t i = 0; i < stmt.operands.size(); ++i) {
      ValueId operand = stmt.operands[i];
      Scalar scalar = {value_at(operand, assignment), kernel_.values[operand].dtype};
      e.operands.push_back(ops_.cast(scalar, dtypes[i]));
    }
    for (std::uint32_t a : axes) {
      Assignment start = assignment;
      const AxisMap &axis = map_.axis(layout_, a);
      if (is_uniform(axis, static_cast<int>(axis.vec_extent)))
        for (auto &[id, value] : start)
          if (id == axis.vec) value = 0;
      e.valid = conjunction(e.valid, emit_valid(a, start, 1));
    }
  }
  return elements;
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
      Reduction{MonoidOps(b_, ops_, stmt.monoid, dtypes), stmt.results,
                parts_of(layout, axes, DigitKind::Thread), parts_of(layout, axes, DigitKind::Cta)});
  SlotSpace space = slots_of(stmt.results[0]);
  Loop *loop = accumulating_loop(axes);
  std::vector<State> accumulators, states;
  for (std::size_t s = 0; s < space.size(); ++s) {
    std::vector<Element> elements = gather_elements(stmt, space.decode(s), axes, dtypes);
    State before;
    if (loop) {
      accumulators.push_back(make_accumulator(*loop, reduction->monoid));
      before = load_accumulator(accumulators.back(), dtypes);
    }
    states.push_back(reduction->monoid.fold(elements, before));
    for (std::size_t c = 0; loop && c < dtypes.size(); ++c)
      b_.CreateStore(states[s][c], accumulators[s][c]);
  }
  if (!loop) return combine_threads(*reduction, states);
  loop->finish.push_back([this, reduction, accumulators, dtypes] {
    std::vector<State> totals;
    for (const State &a : accumulators) totals.push_back(load_accumulator(a, dtypes));
    combine_threads(*reduction, totals);
  });
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

void Emitter::combine_lanes(Reduction &reduction, std::vector<State> &states) {
  std::int64_t lanes = lane_bits(reduction.threads);
  std::uint32_t members = kernel_.threads < kWarp ? (1U << kernel_.threads) - 1 : ~0U;
  for (std::int64_t bit = 1; bit < kWarp; bit *= 2) {
    if (!(lanes & bit)) continue;
    llvm::Value *is_upper = nullptr;
    if (!is_commutative(reduction.monoid.monoid()))
      is_upper = b_.CreateIsNotNull(b_.CreateAnd(thread_, static_cast<std::uint64_t>(bit)));
    for (State &own : states) {
      State left = own, right = own;
      for (std::size_t c = 0; c < own.size(); ++c) {
        llvm::Value *other = emit_butterfly(b_, own[c], bit, members);
        left[c] = is_upper ? b_.CreateSelect(is_upper, other, own[c]) : own[c];
        right[c] = is_upper ? b_.CreateSelect(is_upper, own[c], other) : other;
      }
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
  StateArray array(*this, reduction, states.size(), kernel_.threads / kWarp * unit);
  llvm::Value *lane = b_.CreateAnd(thread_, static_cast<std::uint64_t>(lanes));
  emit_if(b_, lanes ? b_.CreateIsNull(lane) : nullptr,
          [&] { array.store(states, entry(thread_)); });
  emit_barrier();
  llvm::Value *start =
      entry(emit_group_start(b_, thread_, reduction.threads, kernel_.threads));
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::vector<State> all;
    for (std::int64_t warp : numbers(warps))
      all.push_back(array.load(array.region(), states[s], s, start, warp * unit));
    states[s] = reduction.monoid.tree(all);
  }
}

void Emitter::combine_cluster(Reduction &reduction, std::vector<State> &states) {
  if (reduction.blocks.empty()) return;
  bool per_thread =
      static_cast<std::int64_t>(numbers(reduction.threads).size()) != kernel_.threads;
  llvm::Value *start = emit_group_start(b_, thread_, reduction.threads, kernel_.threads);
  StateArray array(*this, reduction, states.size(), per_thread ? kernel_.threads : 1);
  emit_if(b_, b_.CreateICmpEQ(thread_, start), [&] { array.store(states, start); });
  emit_cluster_barrier();
  uses_cluster_memory_ = true;
  llvm::Value *first = emit_group_start(b_, rank_, reduction.blocks, kernel_.cluster);
  std::vector<std::vector<State>> all(states.size());
  for (std::int64_t block : numbers(reduction.blocks)) {
    llvm::Value *rank = b_.CreateAdd(first, b_.getInt32(static_cast<std::uint32_t>(block)));
    llvm::Value *remote = b_.CreateIntrinsic(b_.getPtrTy(7),
                                             llvm::Intrinsic::nvvm_mapa_shared_cluster,
                                             {array.region(), rank});
    for (std::size_t s = 0; s < states.size(); ++s)
      all[s].push_back(array.load(remote, states[s], s, start, 0));
  }
  for (std::size_t s = 0; s < states.size(); ++s) states[s] = reduction.monoid.tree(all[s]);
}

}  // namespace fuse
