// Interning: equal nodes, shapes and attributes are stored once.
#include "ir/graph_data.h"

#include <algorithm>
#include <functional>

FUSE_BEGIN_NAMESPACE

namespace {

void mix(std::uint64_t &hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
}

std::uint64_t hash_of(const Dim &dim) {
  std::uint64_t h = 0;
  if (dim.is_static()) {
    mix(h, static_cast<std::uint64_t>(dim.evaluate({})));
    return h;
  }
  for (const Dim::Term &t : dim.terms()) {
    mix(h, static_cast<std::uint64_t>(t.coefficient));
    for (const std::string &s : t.symbols) mix(h, std::hash<std::string>{}(s));
  }
  return h;
}

std::uint64_t hash_of(const Shape &shape) {
  std::uint64_t h = shape.size();
  for (const Dim &d : shape) mix(h, hash_of(d));
  return h;
}

template <class Range>
std::uint64_t hash_ints(const Range &values) {
  std::uint64_t h = 0;
  for (auto v : values) mix(h, static_cast<std::uint64_t>(v));
  return h;
}

struct AttrHash {
  std::uint64_t operator()(std::monostate) const { return 0; }
  std::uint64_t operator()(const InputAttr &a) const { return std::hash<std::string>{}(a.name); }
  std::uint64_t operator()(const Literal &a) const {
    return a.bits * 31 + static_cast<std::uint64_t>(a.dtype);
  }
  std::uint64_t operator()(const AxesAttr &a) const { return hash_ints(a.axes) * 2 + a.keep; }
  std::uint64_t operator()(const ScanAttr &a) const {
    return static_cast<std::uint64_t>(a.axis) * 4 + (a.exclusive ? 2 : 0) + (a.reverse ? 1 : 0);
  }
  std::uint64_t operator()(const SliceAttr &a) const {
    std::uint64_t h = hash_ints(a.step);
    for (const Dim &d : a.start) mix(h, hash_of(d));
    return h;
  }
  std::uint64_t operator()(const PadAttr &a) const {
    std::uint64_t h = hash_ints(a.lo);
    mix(h, hash_ints(a.hi));
    return h;
  }
  std::uint64_t operator()(const ExternAttr &a) const {
    return std::hash<std::string>{}(a.name) + a.result;
  }
  std::uint64_t operator()(const RandomAttr &a) const { return a.stream; }
  std::uint64_t operator()(const RuleAttr &a) const { return std::hash<std::string>{}(a.graph); }
};

bool is_interned(Op op) { return op != Op::Input && op != Op::Extern && op != Op::ExternResult; }

}  // namespace

GraphData::GraphData() { attrs.emplace_back(); }

std::uint32_t GraphData::intern_shape(const Shape &shape) {
  std::uint64_t h = hash_of(shape);
  auto [first, last] = interned_shapes_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (shapes[it->second] == shape) return it->second;
  auto id = static_cast<std::uint32_t>(shapes.size());
  shapes.push_back(shape);
  interned_shapes_.emplace(h, id);
  return id;
}

std::uint32_t GraphData::intern_attr(Attr attr) {
  if (attr.index() == 0) return 0;
  std::uint64_t h = std::visit(AttrHash{}, attr);
  auto [first, last] = interned_attrs_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (attrs[it->second] == attr) return it->second;
  auto id = static_cast<std::uint32_t>(attrs.size());
  attrs.push_back(std::move(attr));
  interned_attrs_.emplace(h, id);
  return id;
}

bool GraphData::equal(NodeId id, const Node &other, std::span<const NodeId> other_operands) const {
  const Node &n = nodes[id];
  std::span<const NodeId> mine = operands(id);
  return n.op == other.op && n.dtype == other.dtype && n.shape == other.shape &&
         n.attr == other.attr &&
         std::equal(mine.begin(), mine.end(), other_operands.begin(), other_operands.end());
}

NodeId GraphData::add(Op op, DType dtype, const Shape &shape, std::span<const NodeId> node_operands,
                      Attr attr) {
  Node n{op,
         dtype,
         intern_shape(shape),
         static_cast<std::uint32_t>(operand_pool.size()),
         static_cast<std::uint32_t>(node_operands.size()),
         intern_attr(std::move(attr))};
  if (auto *random = std::get_if<RandomAttr>(&attrs[n.attr]))
    next_stream = std::max(next_stream, random->stream + 1);
  std::uint64_t h = hash_ints(node_operands);
  mix(h, static_cast<std::uint64_t>(op) << 40 | static_cast<std::uint64_t>(dtype) << 32 | n.shape);
  mix(h, n.attr);
  if (is_interned(op)) {
    auto [first, last] = interned_.equal_range(h);
    for (auto it = first; it != last; ++it)
      if (equal(it->second, n, node_operands)) return it->second;
  }
  auto id = static_cast<NodeId>(nodes.size());
  // The operands may live in the pool itself.
  std::vector<NodeId> copy(node_operands.begin(), node_operands.end());
  operand_pool.insert(operand_pool.end(), copy.begin(), copy.end());
  nodes.push_back(n);
  if (is_interned(op)) interned_.emplace(h, id);
  return id;
}

FUSE_END_NAMESPACE
