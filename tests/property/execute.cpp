// Every element is found from its coordinates: slow, and with no code of the evaluator's views.
#include "property/execute.h"

#include "ir/float_bits.h"
#include "ir/op.h"
#include "ir/philox.h"
#include "ir/scalar.h"

#include <algorithm>
#include <map>

namespace fuse {

namespace {

using Extents = std::vector<std::int64_t>;

Extents coordinates(std::int64_t index, const Extents &shape) {
  Extents at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = index % shape[i];
    index /= shape[i];
  }
  return at;
}

std::int64_t position(const Extents &at, const Extents &shape) {
  std::int64_t index = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + at[i];
  return index;
}

struct Machine {
  const GraphData &graph;
  const Bindings &symbols;
  std::vector<Tensor> values;

  const Tensor &operand(NodeId id, std::size_t i) const { return values[graph.operand(id, i)]; }
  std::vector<int> axes(NodeId id) const { return graph.attr<AxesAttr>(id).axes; }

  std::uint64_t element(NodeId id, const Tensor &out, std::int64_t i) const;
  std::uint64_t view_element(NodeId id, const Tensor &out, Extents at) const;
  std::uint64_t concat_element(NodeId id, Extents at) const;
  std::uint64_t gather_element(NodeId id, const Extents &at) const;
  std::uint64_t reduced_element(NodeId id, Extents at) const;
  std::uint64_t pad_value(NodeId id) const;
  void scan(NodeId id, Tensor &out) const;
};

std::uint64_t Machine::pad_value(NodeId id) const {
  Literal value = operand(id, 1).literal(0);
  DType type = graph.dtype(id);
  return value.dtype == type ? value.bits : convert(Op::Cast, type, value);
}

std::uint64_t Machine::concat_element(NodeId id, Extents at) const {
  int axis = axes(id)[0];
  std::size_t part = 0;
  while (at[axis] >= operand(id, part).shape[axis]) at[axis] -= operand(id, part++).shape[axis];
  return operand(id, part).bits(position(at, operand(id, part).shape));
}

std::uint64_t Machine::gather_element(NodeId id, const Extents &at) const {
  const Tensor &x = operand(id, 0), &index = operand(id, 1);
  int axis = axes(id)[0];
  auto first = at.begin() + axis;
  auto last = first + std::ptrdiff_t(index.shape.size());
  std::uint64_t picked = index.bits(position(Extents(first, last), index.shape));
  if (picked >= std::uint64_t(x.shape[axis])) return 0;
  Extents from(at.begin(), first);
  from.push_back(std::int64_t(picked));
  from.insert(from.end(), last, at.end());
  return x.bits(position(from, x.shape));
}

std::uint64_t Machine::view_element(NodeId id, const Tensor &out, Extents at) const {
  const Tensor &x = operand(id, 0);
  Op op = graph.node(id).op;
  if (op == Op::Concat) return concat_element(id, at);
  if (op == Op::Gather) return gather_element(id, at);
  if (op == Op::Reshape) return x.bits(position(at, out.shape));
  if (op == Op::Broadcast) {
    at.erase(at.begin(), at.end() - std::ptrdiff_t(x.shape.size()));
    for (std::size_t i = 0; i < at.size(); ++i)
      if (x.shape[i] == 1) at[i] = 0;
  } else if (op == Op::Transpose) {
    Extents from(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) from[axes(id)[i]] = at[i];
    at = from;
  } else if (op == Op::Flip) {
    for (int axis : axes(id)) at[axis] = x.shape[axis] - 1 - at[axis];
  } else if (op == Op::Slice) {
    const auto &attr = graph.attr<SliceAttr>(id);
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] = attr.start[i].evaluate(symbols) + at[i] * attr.step[i];
  } else if (op == Op::Pad) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      at[i] -= graph.attr<PadAttr>(id).lo[i];
      if (at[i] < 0 || at[i] >= x.shape[i]) return pad_value(id);
    }
  }
  return x.bits(position(at, x.shape));
}

Monoid monoid_of(Op op) {
  if (op == Op::Sum) return Monoid::Sum;
  if (op == Op::Prod) return Monoid::Prod;
  if (op == Op::ReduceMax) return Monoid::Max;
  if (op == Op::ReduceMin) return Monoid::Min;
  if (op == Op::Any) return Monoid::Any;
  if (op == Op::All) return Monoid::All;
  return op == Op::ArgMax ? Monoid::ArgMax : Monoid::ArgMin;
}

/// A balanced tree, neighbours first.
MonoidState fold(Monoid monoid, DType type, std::vector<MonoidState> states) {
  if (states.empty()) return identity(monoid, type);
  while (states.size() > 1) {
    std::size_t half = (states.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i)
      states[i] = 2 * i + 1 < states.size()
                      ? combine(monoid, type, states[2 * i], states[2 * i + 1])
                      : states[2 * i];
    states.resize(half);
  }
  return states[0];
}

std::uint64_t Machine::reduced_element(NodeId id, Extents at) const {
  const Tensor &x = operand(id, 0);
  const auto &attr = graph.attr<AxesAttr>(id);
  Monoid monoid = monoid_of(graph.node(id).op);
  bool is_arg = monoid == Monoid::ArgMax || monoid == Monoid::ArgMin;
  bool accumulates = monoid == Monoid::Sum || monoid == Monoid::Prod;
  DType type = accumulates ? compute_type(x.dtype) : x.dtype;
  Extents folded;
  for (int axis : attr.axes) {
    if (!attr.keep) at.insert(at.begin() + axis, 0);
    folded.push_back(x.shape[axis]);
  }
  std::vector<MonoidState> states;
  for (std::int64_t k = 0; k < count_elements(folded); ++k) {
    Extents inner = coordinates(k, folded);
    for (std::size_t i = 0; i < inner.size(); ++i) at[attr.axes[i]] = inner[i];
    Literal element = x.literal(position(at, x.shape));
    const std::uint64_t operands[] = {
        type == x.dtype ? element.bits : convert(Op::Cast, type, element), std::uint64_t(k)};
    states.push_back(lift(monoid, type, {operands, is_arg ? 2u : 1u}));
  }
  MonoidState state = fold(monoid, type, std::move(states));
  if (is_arg) return state[1];
  return type == x.dtype ? state[0] : convert(Op::Cast, x.dtype, {type, state[0]});
}

Monoid monoid_of_scan(Op op) {
  if (op == Op::CumSum) return Monoid::Sum;
  if (op == Op::CumProd) return Monoid::Prod;
  if (op == Op::CumMax) return Monoid::Max;
  return op == Op::CumMin ? Monoid::Min : Monoid::Online;
}

/// What is combined so far as an element of the result.
std::uint64_t scanned_bits(Monoid monoid, DType state_type, DType type, const MonoidState &state) {
  Literal result{state_type, state[0]};
  if (monoid == Monoid::Online) {
    const Literal sum[] = {{state_type, state[1]}};
    const Literal parts[] = {result, {state_type, apply(Op::Log, state_type, sum)}};
    result.bits = apply(Op::Add, state_type, parts);
  }
  return state_type == type ? result.bits : convert(Op::Cast, type, result);
}

void Machine::scan(NodeId id, Tensor &out) const {
  const Tensor &x = operand(id, 0);
  const auto &attr = graph.attr<ScanAttr>(id);
  Monoid monoid = monoid_of_scan(graph.node(id).op);
  bool computes = monoid != Monoid::Max && monoid != Monoid::Min;
  DType type = computes ? compute_type(x.dtype) : x.dtype;
  std::map<Extents, MonoidState> rows;  // by position off the axis
  for (std::int64_t n = 0; n < out.size(); ++n) {
    std::int64_t i = attr.reverse ? out.size() - 1 - n : n;
    Extents row = coordinates(i, out.shape);
    row[std::size_t(attr.axis)] = 0;
    MonoidState &state = rows.try_emplace(row, identity(monoid, type)).first->second;
    if (attr.exclusive) out.set_bits(i, scanned_bits(monoid, type, x.dtype, state));
    Literal element = x.literal(i);
    std::uint64_t bits = type == x.dtype ? element.bits : convert(Op::Cast, type, element);
    std::vector<std::uint64_t> operands = {bits};
    if (monoid == Monoid::Online)
      operands.push_back(bits == identity(monoid, type)[0] ? 0 : float_literal(type, 1).bits);
    state = combine(monoid, type, state, lift(monoid, type, operands));
    if (!attr.exclusive) out.set_bits(i, scanned_bits(monoid, type, x.dtype, state));
  }
}

std::uint64_t Machine::element(NodeId id, const Tensor &out, std::int64_t i) const {
  const Node &node = graph.node(id);
  if (node.op == Op::Constant) return graph.attr<Literal>(id).bits;
  Extents at = coordinates(i, out.shape);
  if (node.op == Op::Iota) return int_literal(node.dtype, at[axes(id)[0]]).bits;
  if (node.op == Op::RandomBits)
    return random_word(operand(id, 0).bits(0), graph.attr<RandomAttr>(id).stream,
                       static_cast<std::uint64_t>(i));
  OpKind kind = info(node.op).kind;
  if (kind == OpKind::View) return view_element(id, out, at);
  if (kind == OpKind::Reduce) return reduced_element(id, at);
  std::vector<Literal> operands;
  for (std::size_t k = 0; k < node.num_operands; ++k) operands.push_back(operand(id, k).literal(i));
  return apply(node.op, node.dtype, operands);
}

}  // namespace

std::vector<Tensor> execute(const GraphData &graph, std::span<const Tensor> inputs,
                            const Bindings &symbols) {
  Machine machine{graph, symbols, std::vector<Tensor>(graph.size())};
  for (std::size_t i = 0; i < inputs.size(); ++i) machine.values[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == Op::Input) continue;
    Tensor out(graph.dtype(id), evaluate(graph.shape(id), symbols));
    if (info(graph.node(id).op).kind == OpKind::Scan)
      machine.scan(id, out);
    else
      for (std::int64_t i = 0; i < out.size(); ++i) out.set_bits(i, machine.element(id, out, i));
    machine.values[id] = std::move(out);
  }
  return std::move(machine.values);
}

}  // namespace fuse
