// Reductions of the interpreter: gathers a thread's slots and leaves the order to fold.h.
#include "ir/format.h"
#include "ir/interpret/interpreter.h"

#include <algorithm>

namespace fuse {

namespace {

std::vector<FoldPart> parts_of(const Layout &layout, const std::vector<std::uint32_t> &axes,
                               DigitKind kind) {
  std::vector<FoldPart> parts;
  for (std::uint32_t a : axes)
    for (const Digit &d : layout.axes[a].digits)
      if (d.kind == kind && !d.extent.is_constant(1))
        parts.push_back({*d.stride.constant(), *d.extent.constant()});
  return parts;
}

}  // namespace

/// The outermost bound loop with a digit on the axes of the layout; "" if there is none.
std::string Interpreter::accumulating_loop(const Layout &layout,
                                           const std::vector<std::uint32_t> &axes) const {
  for (const std::string &loop : loop_order_)
    for (std::uint32_t a : axes)
      for (const Digit &d : layout.axes[a].digits)
        if (d.kind == DigitKind::Loop && d.name == loop) return loop;
  return "";
}

std::vector<FoldElement> Interpreter::elements_at(const Stmt &s, const ThreadId &id,
                                                  const SlotRange &reduced,
                                                  std::vector<std::int64_t> &slots) {
  std::vector<FoldElement> elements;
  std::vector<std::int64_t> inner(slots.size());
  Position position;
  for (std::int64_t n = 0; n < reduced.size(); ++n) {
    reduced.decode(n, inner);
    for (std::uint32_t a : reduced.axes()) slots[a] = inner[a];
    machine_.locate(layout_, id, slots, loops_, position);
    FoldElement &e = elements.emplace_back();
    e.valid = position.valid_on(reduced.axes());
    for (std::size_t i = 0; i < static_cast<std::size_t>(num_operands(s.monoid)); ++i)
      e.operands[i] = slot(s.operands[i], id, slots);
  }
  return elements;
}

std::size_t Interpreter::num_states(const Stmt &s) const {
  return static_cast<std::size_t>(kernel_.cluster * kernel_.threads *
                                  slots_of(s.results[0]).size());
}

/// Accumulators of the reductions in the body that the innermost bound loop completes.
void Interpreter::start_accumulators(const std::vector<Stmt> &body) {
  for (const Stmt &s : body) {
    start_accumulators(s.body);
    if (s.kind != StmtKind::Reduce) continue;
    const Layout &layout = kernel_.layouts[kernel_.values[s.results[0]].layout];
    std::string loop = accumulating_loop(layout, axes_of(layout, s.axes));
    if (loop != loop_order_.back()) continue;
    MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
    accumulators_[&s].assign(num_states(s), fold.identity());
  }
}

void Interpreter::finish_accumulators(const std::vector<Stmt> &body) {
  for (const Stmt &s : body) {
    finish_accumulators(s.body);
    if (s.kind != StmtKind::Reduce) continue;
    const Layout &layout = kernel_.layouts[kernel_.values[s.results[0]].layout];
    std::string loop = accumulating_loop(layout, axes_of(layout, s.axes));
    if (loop != loop_order_.back()) continue;
    finish_reduce(s, accumulators_[&s]);
    accumulators_.erase(&s);
  }
}

void Interpreter::run_reduce(const Stmt &s) {
  if (auto it = accumulators_.find(&s); it != accumulators_.end())
    return fold_slots(s, it->second, true);
  std::vector<MonoidState> states(num_states(s));
  fold_slots(s, states, false);
  std::vector<MonoidState> own = states;
  finish_reduce(s, states);
  if (s.terms) scale_terms(s, own);
}

/// Terms relative to the thread's own maximum, then to the one of all.
void Interpreter::scale_terms(const Stmt &s, const std::vector<MonoidState> &own) {
  MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
  const SlotRange &results = slots_of(s.results[0]);
  SlotRange reduced(layout(), axes_of(layout(), s.axes));
  std::vector<std::int64_t> slots(layout().axes.size()), inner(slots.size());
  for_each_thread([&](const ThreadId &id) {
    for (std::int64_t n = 0; n < results.size(); ++n) {
      results.decode(n, slots);
      std::uint64_t maximum = slot(s.results[0], id, slots);
      std::uint64_t mine = own[local_thread(id) * static_cast<std::size_t>(results.size()) +
                               static_cast<std::size_t>(n)][0];
      std::vector<FoldElement> elements = elements_at(s, id, reduced, slots);
      for (std::int64_t r = 0; r < reduced.size(); ++r) {
        reduced.decode(r, inner);
        for (std::uint32_t a : reduced.axes()) slots[a] = inner[a];
        std::uint64_t term = fold.term(elements[static_cast<std::size_t>(r)], mine);
        slot(s.results[2], id, slots) = fold.term({{mine, term}, true}, maximum);
      }
    }
  });
}

/// Step 1 of the order: every thread folds its slots, for each slot of the result.
void Interpreter::fold_slots(const Stmt &s, std::vector<MonoidState> &states, bool accumulate) {
  MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
  const SlotRange &results = slots_of(s.results[0]);
  SlotRange reduced(layout(), axes_of(layout(), s.axes));
  std::vector<std::int64_t> slots(layout().axes.size());
  for_each_thread([&](const ThreadId &id) {
    for (std::int64_t n = 0; n < results.size(); ++n) {
      results.decode(n, slots);
      MonoidState &state = states[local_thread(id) * static_cast<std::size_t>(results.size()) +
                                  static_cast<std::size_t>(n)];
      state = fold.fold(elements_at(s, id, reduced, slots), accumulate ? &state : nullptr);
    }
  });
}

/// Steps 2 to 4: over lanes, warps and the cluster; then the results are values.
void Interpreter::finish_reduce(const Stmt &s, std::vector<MonoidState> &states) {
  const Layout &layout = kernel_.layouts[kernel_.values[s.results[0]].layout];
  MonoidFold fold{s.monoid, kernel_.values[s.results[0]].dtype};
  std::vector<std::uint32_t> axes = axes_of(layout, s.axes);
  std::vector<FoldPart> threads = parts_of(layout, axes, DigitKind::Thread);
  std::vector<FoldPart> blocks = parts_of(layout, axes, DigitKind::Cta);
  auto num_threads = static_cast<std::size_t>(kernel_.threads);
  auto num_blocks = static_cast<std::size_t>(kernel_.cluster);
  auto num_slots = static_cast<std::size_t>(slots_of(s.results[0]).size());
  for (ValueId v : s.results) allocate(v);
  for (std::size_t n = 0; n < num_slots; ++n) {
    std::vector<MonoidState> column(num_blocks * num_threads);
    for (std::size_t t = 0; t < column.size(); ++t) column[t] = states[t * num_slots + n];
    for (std::size_t c = 0; c < num_blocks; ++c)
      fold_threads(fold, threads, std::span(column).subspan(c * num_threads, num_threads));
    for (std::size_t t = 0; t < num_threads && !blocks.empty(); ++t) {
      std::vector<MonoidState> ranks(num_blocks);
      for (std::size_t c = 0; c < num_blocks; ++c) ranks[c] = column[c * num_threads + t];
      fold_blocks(fold, blocks, ranks);
      for (std::size_t c = 0; c < num_blocks; ++c) column[c * num_threads + t] = ranks[c];
    }
    for (std::size_t t = 0; t < column.size(); ++t)
      for (std::size_t r = 0; r < static_cast<std::size_t>(num_results(s.monoid)); ++r)
        values_[s.results[r]][t * num_slots + n] = column[t][r];
  }
}

}  // namespace fuse
