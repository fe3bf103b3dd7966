// The walk over the body: launch, loops, elementwise statements.
#include "ir/interpret/interpreter.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/philox.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace fuse {

namespace {

std::vector<std::int64_t> phases_of(const InterpreterLaunch &launch) {
  std::vector<std::int64_t> phases;
  for (const InterpreterBuffer &b : launch.buffers) phases.push_back(b.phase);
  return phases;
}

std::vector<std::int64_t> extents_of(const Kernel &kernel, const Machine &machine) {
  std::vector<std::int64_t> extents;
  for (const Buffer &b : kernel.buffers) {
    std::int64_t elements = 1;
    for (const Index &extent : b.shape) elements *= machine.evaluate_symbolic(extent);
    extents.push_back(elements);
  }
  return extents;
}

}  // namespace

Interpreter::Interpreter(const Kernel &kernel, const InterpreterLaunch &launch)
    : kernel_(kernel),
      launch_(launch),
      map_(kernel),
      machine_(kernel, launch.symbols, phases_of(launch)),
      memory_(kernel, launch, extents_of(kernel, machine_)) {
  for (const KernelValue &v : kernel.values) {
    const Layout &layout = kernel.layouts[v.layout];
    slots_.emplace_back(layout, axes_of(layout, v.dims));
  }
  list_accesses(kernel.body);
}

void Interpreter::list_accesses(const std::vector<Stmt> &body) {
  for (const Stmt &s : body) {
    if (s.kind == StmtKind::Load || s.kind == StmtKind::Store || s.kind == StmtKind::Move) {
      stats_of_[&s] = stats_.size();
      stats_.emplace_back().stmt = &s;
    }
    list_accesses(s.body);
  }
}

std::vector<AccessStats> Interpreter::run() {
  std::int64_t clusters = machine_.evaluate_symbolic(grid_size(kernel_)) / kernel_.cluster;
  std::vector<std::int64_t> order(static_cast<std::size_t>(clusters));
  std::iota(order.begin(), order.end(), 0);
  if (launch_.seed != 0) std::shuffle(order.begin(), order.end(), std::mt19937_64(launch_.seed));
  for (std::int64_t grid : order) {
    grid_ = grid;
    active_.assign(static_cast<std::size_t>(kernel_.cluster), true);
    values_.assign(kernel_.values.size(), {});
    run_body(kernel_.body);
  }
  memory_.check_counters();
  return stats_;
}

void Interpreter::error(const Stmt &s, const ThreadId &id, const std::string &message) const {
  std::string place = s.kind == StmtKind::Move     ? "move"
                      : s.kind == StmtKind::Random ? "random"
                      : s.kind == StmtKind::Load   ? "load"
                                                   : "store";
  for (ValueId v : s.results) place += " %" + kernel_.values[v].name;
  fail(ErrorCode::Internal, "kernel {}: {}: thread {} of block {}: {}", kernel_.name, place,
       id.thread, id.grid * kernel_.cluster + id.cta, message);
}

void Interpreter::run_body(const std::vector<Stmt> &body) {
  for (const Stmt &s : body) run_statement(s);
}

void Interpreter::run_statement(const Stmt &s) {
  switch (s.kind) {
    case StmtKind::Constant:
    case StmtKind::Index:
    case StmtKind::Compute:
    case StmtKind::Keep: return run_elementwise(s);
    case StmtKind::Random: return run_random(s);
    case StmtKind::Load:
    case StmtKind::Store: return run_access(s);
    case StmtKind::Reduce: return run_reduce(s);
    case StmtKind::Scan: return run_scan(s);
    case StmtKind::Move: return run_move(s);
    case StmtKind::For: return run_for(s);
    case StmtKind::In: {
      LayoutId outer = layout_;
      layout_ = s.layout;
      run_body(s.body);
      layout_ = outer;
      return;
    }
    case StmtKind::LastBlock: return run_last_block(s);
  }
}

void Interpreter::allocate(ValueId value) {
  auto threads =
      static_cast<std::size_t>(kernel_.cluster) * static_cast<std::size_t>(kernel_.threads);
  values_[value].resize(threads * static_cast<std::size_t>(slots_of(value).size()));
}

std::uint64_t &Interpreter::slot(ValueId value, const ThreadId &id,
                                 std::span<const std::int64_t> slots) {
  const SlotRange &range = slots_of(value);
  std::size_t number = local_thread(id) * static_cast<std::size_t>(range.size()) +
                       static_cast<std::size_t>(range.number(slots));
  FUSE_CHECK(number < values_[value].size(), "value {} of kernel {} has no slot {}",
             kernel_.values[value].name, kernel_.name, number);
  return values_[value][number];
}

std::int64_t Interpreter::value_of(const Atom &atom, const ThreadId &id, const Position &position,
                                   std::span<const std::int64_t> slots) {
  if (atom.kind == Atom::Kind::Dim) return position.dims[atom.id];
  if (atom.kind == Atom::Kind::Symbol) return machine_.symbol(atom.symbol);
  return as_int({kernel_.values[atom.id].dtype, slot(atom.id, id, slots)});
}

std::int64_t Interpreter::offset_at(const Index &index, const ThreadId &id,
                                    const Position &position, std::span<const std::int64_t> slots) {
  return evaluate(index, [&](const Atom &a) { return value_of(a, id, position, slots); });
}

void Interpreter::run_elementwise(const Stmt &s) {
  const SlotRange &range = slots_of(s.results[0]);
  allocate(s.results[0]);
  std::vector<std::int64_t> slots(layout().axes.size());
  for_each_thread([&](const ThreadId &id) {
    for (std::int64_t n = 0; n < range.size(); ++n) {
      range.decode(n, slots);
      slot(s.results[0], id, slots) = element_value(s, id, slots);
    }
  });
}

std::uint64_t Interpreter::element_value(const Stmt &s, const ThreadId &id,
                                         std::span<const std::int64_t> slots) {
  DType type = kernel_.values[s.results[0]].dtype;
  if (s.kind == StmtKind::Constant) return s.literal.bits;
  if (s.kind == StmtKind::Keep) return slot(s.operands[0], id, slots);
  if (s.kind == StmtKind::Index) {
    Position position;
    machine_.locate(layout_, id, slots, loops_, position);
    std::int64_t value =
        evaluate_wrapping(s.index, [&](const Atom &a) { return value_of(a, id, position, slots); });
    return wrap_int(type, static_cast<std::uint64_t>(value));
  }
  std::vector<Literal> operands;
  for (ValueId v : s.operands) operands.push_back({kernel_.values[v].dtype, slot(v, id, slots)});
  return apply(s.op, type, operands);
}

void Interpreter::run_random(const Stmt &s) {
  allocate(s.results[0]);
  std::vector<std::uint32_t> axes = axes_of(layout(), kernel_.values[s.results[0]].dims);
  for_each_warp_vector(
      s, layout_, s.vector, kernel_.values[s.results[0]].dims,
      [&](const ThreadId &id, const Vector &v) { random_vector(s, id, v, axes); }, [] {});
}

/// Words that share a call are found from the first of them, whether that is valid or not.
void Interpreter::random_vector(const Stmt &s, const ThreadId &id, const Vector &v,
                                const std::vector<std::uint32_t> &axes) {
  std::vector<std::int64_t> slots = v.slots;
  Position position;
  std::uint64_t first = 0;
  for (int e = 0; e < v.width; ++e) {
    if (v.axis != kNone) slots[v.axis] = v.slots[v.axis] + e;
    machine_.locate(layout_, id, slots, loops_, position);
    auto element = static_cast<std::uint64_t>(evaluate_wrapping(
        s.index, [&](const Atom &a) { return value_of(a, id, position, slots); }));
    if (e == 0) first = element;
    bool shares = first % static_cast<std::uint64_t>(v.width) == 0 &&
                  element == first + static_cast<std::uint64_t>(e);
    if (!shares && position.valid_on(axes))
      error(s, id,
            "words " + std::to_string(first) + " and " + std::to_string(element) +
                " do not share a call");
    std::uint64_t seed = slot(s.operands[0], id, slots);
    slot(s.results[0], id, slots) =
        random_word(seed, s.stream, first + static_cast<std::uint64_t>(e));
  }
}

void Interpreter::run_for(const Stmt &s) {
  std::int64_t count = machine_.evaluate_symbolic(loop_digit(layout(), s.loop)->extent);
  loop_order_.push_back(s.loop);
  start_accumulators(s.body);
  start_carries(s.body);
  for (std::int64_t n = 0; n < count; ++n) {
    loops_[s.loop] = s.reverse ? count - 1 - n : n;
    run_body(s.body);
  }
  loops_.erase(s.loop);
  finish_accumulators(s.body);
  loop_order_.pop_back();
}

void Interpreter::run_last_block(const Stmt &s) {
  std::vector<bool> outer = active_;
  std::int64_t n = machine_.evaluate_symbolic(s.count);
  std::vector<std::int64_t> slots(layout().axes.size());
  arrivals_.assign(static_cast<std::size_t>(kernel_.cluster), nullptr);
  for (std::int64_t c = 0; c < kernel_.cluster; ++c) {
    Position position;
    ThreadId id{grid_, c, 0};
    machine_.locate(layout_, id, slots, loops_, position);
    auto rank = static_cast<std::size_t>(c);
    arrivals_[rank] =
        memory_.arrive(s.buffer, offset_at(s.index, id, position, slots), n, block_of(id));
    active_[rank] = arrivals_[rank] != nullptr;
  }
  run_body(s.body);
  arrivals_.clear();
  active_ = outer;
}

}  // namespace fuse
