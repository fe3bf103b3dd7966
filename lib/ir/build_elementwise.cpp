// Elementwise nodes: dtypes, literals and broadcasting.
#include "ir/build.h"

#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <cmath>

namespace fuse {

namespace {

bool is_constant(const GraphData &g, NodeId id) { return g.node(id).op == Op::Constant; }

/// Whether an operand may stand where the dtype is expected.
bool fits(const GraphData &g, NodeId id, DType expected) {
  if (g.dtype(id) == expected) return true;
  return is_constant(g, id) && g.dtype(id) == compute_type(expected);
}

/// The dtype of the operands: that of the first that is no constant. Among constants, literals are
/// those of a compute type, so one of another type decides.
DType operand_dtype(const GraphData &g, std::span<const NodeId> operands) {
  for (NodeId id : operands)
    if (!is_constant(g, id)) return g.dtype(id);
  for (NodeId id : operands)
    if (compute_type(g.dtype(id)) != g.dtype(id)) return g.dtype(id);
  return g.dtype(operands[0]);
}

std::string types_string(const GraphData &g, std::span<const NodeId> operands) {
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i) text += i + 1 == operands.size() ? " and " : ", ";
    text += type_string(g, operands[i]);
  }
  return text;
}

void check_dtypes(const GraphData &g, Op op, std::span<const NodeId> operands, DType dtype,
                  SourceLocation where) {
  for (NodeId id : operands) {
    if (!fits(g, id, dtype))
      fail_at(where, ErrorCode::DType, "{}: operands {} differ in dtype; cast one of them",
              info(op).text, types_string(g, operands));
  }
  if (!accepts(info(op).types, dtype))
    fail_at(where, ErrorCode::DType, "{}: takes {}, not {}", info(op).text,
            describe(info(op).types), to_string(dtype));
}

NodeId broadcast_to(GraphData &g, NodeId id, const Shape &shape) {
  if (g.shape(id) == shape) return id;
  return build_broadcast(g, id, shape);
}

std::size_t arity(OpKind kind) {
  return kind == OpKind::Ternary ? 3 : kind == OpKind::Binary || kind == OpKind::Compare ? 2 : 1;
}

}  // namespace

std::string type_string(const GraphData &g, NodeId id) {
  return std::string(to_string(g.dtype(id))) + to_string(g.shape(id));
}

Shape broadcast_shapes(const GraphData &g, Op op, std::span<const NodeId> operands,
                       SourceLocation where) {
  Shape result = g.shape(operands[0]);
  for (NodeId id : operands.subspan(1)) {
    const Shape &s = g.shape(id);
    if (s.size() > result.size()) result.insert(result.begin(), s.size() - result.size(), Dim(1));
    std::size_t offset = result.size() - s.size();
    for (std::size_t i = 0; i < s.size(); ++i) {
      Dim &r = result[offset + i];
      if (r == s[i] || s[i] == Dim(1)) continue;
      if (r != Dim(1))
        fail_at(where, ErrorCode::Shape, "{}: shapes {} do not broadcast (dimension {}: {} and {})",
                info(op).text, types_string(g, operands), offset + i, to_string(r),
                to_string(s[i]));
      r = s[i];
    }
  }
  return result;
}

NodeId build_elementwise(GraphData &g, Op op, std::span<const NodeId> given, SourceLocation where) {
  const OpInfo &op_info = info(op);
  FUSE_CHECK(op_info.is_elementwise() && given.size() == arity(op_info.kind), "{} with {} operands",
             op_info.text, given.size());
  std::vector<NodeId> operands(given.begin(), given.end());
  std::span<const NodeId> typed = operands;
  if (op == Op::Select) {
    if (g.dtype(operands[0]) != DType::Bool)
      fail_at(where, ErrorCode::DType, "select: the condition {} is not bool; compare it first",
              type_string(g, operands[0]));
    typed = typed.subspan(1);
  }
  DType dtype = operand_dtype(g, typed);
  check_dtypes(g, op, typed, dtype, where);
  Shape shape = broadcast_shapes(g, op, operands, where);
  for (NodeId &id : operands) id = broadcast_to(g, id, shape);
  bool is_predicate = op_info.kind == OpKind::Compare || op_info.kind == OpKind::Test;
  return g.add(op, is_predicate ? DType::Bool : dtype, shape, operands);
}

NodeId build_convert(GraphData &g, Op op, NodeId x, DType type, SourceLocation where) {
  DType from = g.dtype(x);
  if (op == Op::Bitcast && size_of(from) != size_of(type))
    fail_at(where, ErrorCode::DType, "bitcast: {} has {} bytes, {} has {}", to_string(from),
            size_of(from), to_string(type), size_of(type));
  if (op == Op::Bitcast && is_bool(from) != is_bool(type))
    fail_at(where, ErrorCode::DType, "bitcast: bool has no bits to share with {}; use cast",
            to_string(is_bool(from) ? type : from));
  if (from == type) return x;
  return g.add(op, type, g.shape(x), {{x}});
}

NodeId build_constant(GraphData &g, Literal literal, const Shape &shape) {
  return g.add(Op::Constant, literal.dtype, shape, {}, literal);
}

Literal operand_literal(const Operand &operand, DType type, std::string_view what) {
  if (operand.kind() == Operand::Kind::Boolean && !is_bool(type))
    fail_at(operand.where(), ErrorCode::DType, "{}: a bool literal with {}; write 0 or 1", what,
            to_string(type));
  return constant_literal(operand, compute_type(type), what);
}

Literal constant_literal(const Operand &operand, DType type, std::string_view what) {
  std::int64_t integer = operand.integer();
  if (operand.kind() == Operand::Kind::Unsigned && is_float(type))
    return float_literal(type, static_cast<double>(static_cast<std::uint64_t>(integer)));
  if (operand.kind() != Operand::Kind::Real) return int_literal(type, integer);
  double value = operand.real();
  if (is_float(type)) return float_literal(type, value);
  if (std::trunc(value) != value || std::fabs(value) > 9007199254740992.0)
    fail_at(operand.where(), ErrorCode::DType,
            "{}: literal {} with {}; cast the operand to a float or write an integer", what, value,
            to_string(type));
  return int_literal(type, static_cast<std::int64_t>(value));
}

}  // namespace fuse
