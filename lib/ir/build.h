// Checked construction of nodes: the one place where shapes and dtypes are inferred. The C++
// functions, the parser and the importers all build through here; passes may too.
//
// Every function checks its operands, throws Error{Shape, DType or InvalidArgument} at the given
// place, and returns the node, new or equal. `NodeId` operands belong to the graph.
#pragma once

#include "ir/graph_data.h"

#include <span>
#include <vector>

namespace fuse {

/// Unary, Binary, Ternary, Compare and Test ops. Operands are broadcast to their common shape.
/// Constants of the compute type may stand for 16- and 8-bit operands: literals.
NodeId build_elementwise(GraphData &graph, Op op, std::span<const NodeId> operands,
                         SourceLocation where = {});

/// Cast, CastSat, Bitcast.
NodeId build_convert(GraphData &graph, Op op, NodeId x, DType type, SourceLocation where = {});

NodeId build_constant(GraphData &graph, Literal literal, const Shape &shape);
NodeId build_iota(GraphData &graph, DType type, const Shape &shape, int axis,
                  SourceLocation where = {});
/// Words of a stream of the seed, a u64 scalar. Streams are below 2^63.
NodeId build_random_bits(GraphData &graph, NodeId seed, const Shape &shape, std::uint64_t stream,
                         SourceLocation where = {});
/// The stream of a number, or the graph's next one for kNextStream.
std::uint64_t stream_of(const GraphData &graph, std::int64_t stream, SourceLocation where = {});
NodeId build_input(GraphData &graph, std::string_view name, DType type, const Shape &shape,
                   bool is_scalar, SourceLocation where = {});

NodeId build_broadcast(GraphData &graph, NodeId x, const Shape &shape, SourceLocation where = {});
NodeId build_reshape(GraphData &graph, NodeId x, const Shape &shape, SourceLocation where = {});
NodeId build_transpose(GraphData &graph, NodeId x, const std::vector<int> &permutation,
                       SourceLocation where = {});
/// Start, stop and step of every axis.
NodeId build_slice(GraphData &graph, NodeId x, const std::vector<Dim> &start,
                   const std::vector<Dim> &stop, const std::vector<std::int64_t> &step,
                   SourceLocation where = {});
NodeId build_flip(GraphData &graph, NodeId x, std::vector<int> axes, SourceLocation where = {});
NodeId build_pad(GraphData &graph, NodeId x, NodeId value, const std::vector<std::int64_t> &lo,
                 const std::vector<std::int64_t> &hi, SourceLocation where = {});
NodeId build_concat(GraphData &graph, std::span<const NodeId> parts, int axis,
                    SourceLocation where = {});
NodeId build_gather(GraphData &graph, NodeId x, NodeId index, int axis, SourceLocation where = {});

/// Sum .. All over any axes; ArgMax and ArgMin over one.
NodeId build_reduce(GraphData &graph, Op op, NodeId x, std::vector<int> axes, bool keep,
                    SourceLocation where = {});

/// CumSum .. LogCumSumExp along one axis.
NodeId build_scan(GraphData &graph, Op op, NodeId x, ScanAttr attr, SourceLocation where = {});

/// One node per result: the Extern itself, then ExternResults.
std::vector<NodeId> build_extern(GraphData &graph, std::string_view name,
                                 std::span<const NodeId> operands, std::vector<DType> dtypes,
                                 std::vector<Shape> shapes, SourceLocation where = {});

NodeId build_stop_gradient(GraphData &graph, NodeId x);
/// The value y; the rule gives the cotangents of the inputs.
NodeId build_custom_gradient(GraphData &graph, NodeId y, std::span<const NodeId> inputs,
                             const Graph &rule, SourceLocation where = {});

void add_output(GraphData &graph, std::string_view name, NodeId node, SourceLocation where = {});
void add_symbol(GraphData &graph, std::string_view name, SymbolBounds bounds,
                SourceLocation where = {});

/// Names a value that is no input. Names of values are unique, inputs included.
void add_name(GraphData &graph, NodeId id, std::string_view name, SourceLocation where = {});

/// Insists on letters, digits, '_' and single '.' inside, and no digit first.
void check_name(std::string_view what, std::string_view name, SourceLocation where);

/// Common shape under NumPy's rules; throws Error{Shape} naming the op and both types.
Shape broadcast_shapes(const GraphData &graph, Op op, std::span<const NodeId> operands,
                       SourceLocation where);

/// Throws Error{Shape} for too many axes, negative extents and too many elements.
void check_rank(std::string_view what, const Shape &shape, SourceLocation where);

/// 0 <= axis < rank; negative axes count from the end.
int normalize_axis(std::string_view what, int axis, int rank, SourceLocation where);

/// "bf16[4, 8]"
std::string type_string(const GraphData &graph, NodeId id);

/// A literal for an operation on the dtype, in its compute type. A real literal of an integer or
/// bool operation must be a whole number; throws Error{DType} otherwise.
Literal operand_literal(const Operand &operand, DType type, std::string_view what);

/// A literal of the very dtype; errors alike.
Literal constant_literal(const Operand &operand, DType type, std::string_view what);

}  // namespace fuse
