// What all builders share: see composite.h.
#include "ir/composite.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

namespace fuse {

GraphData &composite_graph(std::string_view name, const Operand &x) {
  if (x.kind() != Operand::Kind::Value)
    fail_at(x.where(), ErrorCode::InvalidArgument, "{}: takes a value, not a literal", name);
  if (!x.value().valid())
    fail_at(x.where(), ErrorCode::InvalidArgument, "{}: the operand is an empty Value", name);
  return *x.value().graph();
}

void locate(GraphData &graph, std::size_t first, SourceLocation where) {
  if (where.line == 0) return;
  for (std::size_t i = first; i < graph.size(); ++i)
    graph.locations[static_cast<NodeId>(i)] = where;
}

void rethrow_as(std::string_view name, const Error &error, SourceLocation where) {
  std::string_view words = words_of(error);
  std::string prefix = std::string(name) + ": ";
  if (words.starts_with(prefix)) words.remove_prefix(prefix.size());
  fail_at(where, error.code(), "{}{}", prefix, words);
}

Value to_compute_type(Value x) {
  if (!is_float(x.dtype()))
    fail(ErrorCode::DType, "takes floats, not {}; cast it first",
         type_string(*x.graph(), x.index()));
  return cast(x, compute_type(x.dtype()));
}

DType position_type(DType integers) {
  return size_of(integers) < 4 || integers == DType::I32 ? DType::I32 : DType::I64;
}

Value as_positions(Value integers) {
  DType type = position_type(integers.dtype());
  return integers.dtype() == DType::U64 ? cast_sat(integers, type) : cast(integers, type);
}

Operand element_count(Value x, const std::vector<int> &axes) {
  Dim count = 1;
  for (int a : axes) count = count * x.shape()[normalize_axis("mean", a, x.rank(), {})];
  if (count.is_static()) return static_cast<double>(count.value());
  // A value that is the number: position 0 of 0 .. count backwards.
  GraphData &g = *x.graph();
  NodeId positions = build_flip(g, build_iota(g, DType::I64, {count + Dim(1)}, 0), {0});
  NodeId number = build_reshape(g, build_slice(g, positions, {0}, {1}, {1}), {});
  return cast(g.value(number), x.dtype());
}

}  // namespace fuse
