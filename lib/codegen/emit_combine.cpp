// Reductions across threads: lanes, then warps, then the blocks of a cluster.
//
// Order of combination, the same on every run: for each lane bit from the lowest, the lower lane's
// state before the upper lane's; the states of warps, then of blocks, as a tree in ascending order.
#include "codegen/reduction.h"
#include "codegen/warp.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

#include <algorithm>
#include <bit>

namespace fuse {

namespace {

/// So many that a thread should not hold the states of all at once, and as lanes number them. The
/// emitter's choice: both ways give the same bits.
bool are_many(const std::vector<Part> &warps) {
  constexpr std::int64_t kManyWarps = 8;
  return warps.size() == 1 && warps[0].extent > kManyWarps && warps[0].extent <= kWarp &&
         std::has_single_bit(static_cast<std::uint64_t>(warps[0].extent));
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

void Emitter::combine_threads(const std::vector<std::shared_ptr<Reduction>> &reductions) {
  for (const auto &reduction : reductions) combine_lanes(*reduction, lane_bits(reduction->threads));
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
  std::int64_t bytes = state_starts(dtypes, slots, entries).back();
  return StateArray(b_, state_region(bytes), dtypes, slots, entries);
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

/// States of lanes that differ in these bits.
void Emitter::combine_lanes(Reduction &reduction, std::int64_t lanes) {
  std::vector<State> &states = reduction.states;
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

void Emitter::combine_warps(const std::vector<std::shared_ptr<Reduction>> &reductions) {
  std::vector<std::pair<Reduction *, StateArray>> arrays;
  auto entry = [&](const Reduction &r, llvm::Value *thread) {
    return is_per_lane(r.threads) ? thread : b_.CreateLShr(thread, 5);
  };
  for (const auto &r : reductions) {
    std::int64_t entries = warp_entries(kernel_, layout_, *r->stmt);
    if (entries == 0) continue;
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
    llvm::Value *start = entry(*r, emit_group_start(b_, thread_, r->threads, kernel_.threads));
    if (!is_per_lane(r->threads) && are_many(warp_parts(r->threads)))
      read_warps_by_lanes(*r, array, start);
    else
      read_warps(*r, array, start);
  }
}

void Emitter::read_warps(Reduction &reduction, StateArray &array, llvm::Value *start) {
  std::int64_t unit = is_per_lane(reduction.threads) ? kWarp : 1;
  for (std::size_t s = 0; s < reduction.states.size(); ++s) {
    std::vector<State> all;
    for (std::int64_t warp : numbers(warp_parts(reduction.threads)))
      all.push_back(array.load(array.region(), reduction.states[s], s, start, warp * unit));
    reduction.states[s] = reduction.monoid.tree(all);
  }
}

/// Lane i reads the state of warp i; by lanes they meet in the order of the tree.
void Emitter::read_warps_by_lanes(Reduction &reduction, StateArray &array, llvm::Value *start) {
  const Part warps = warp_parts(reduction.threads)[0];
  llvm::Value *lane = b_.CreateAnd(thread_, static_cast<std::uint64_t>(warps.extent - 1));
  llvm::Value *stride = b_.getInt32(static_cast<std::uint32_t>(warps.stride));
  llvm::Value *entry = b_.CreateAdd(start, b_.CreateMul(lane, stride));
  for (std::size_t s = 0; s < reduction.states.size(); ++s)
    reduction.states[s] = array.load(array.region(), reduction.states[s], s, entry, 0);
  combine_lanes(reduction, warps.extent - 1);
}

/// Entry of a block's state in each block's array: one a block, or one for each thread of it.
llvm::Value *Emitter::cluster_entry(const Reduction &reduction, llvm::Value *rank) {
  llvm::Value *start = emit_group_start(b_, thread_, reduction.threads, kernel_.threads);
  llvm::Value *unit = b_.getInt32(static_cast<std::uint32_t>(cluster_unit(reduction)));
  return b_.CreateAdd(b_.CreateMul(rank, unit), start);
}

std::int64_t Emitter::cluster_unit(const Reduction &reduction) const {
  return cluster_entries(kernel_, layout_, *reduction.stmt) / kernel_.cluster;
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
                                                  cluster_entries(kernel_, layout_, *r->stmt)));
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
