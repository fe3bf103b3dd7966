// View nodes: shapes of what moves elements.
#include "ir/build.h"
#include "ir/format.h"
#include "ir/op.h"

#include <fuse/builders.h>

#include <algorithm>

namespace fuse {

namespace {

int rank_of(const GraphData &g, NodeId id) { return static_cast<int>(g.shape(id).size()); }

int axis_of(const GraphData &g, std::string_view what, NodeId x, int axis, SourceLocation where) {
  int rank = rank_of(g, x);
  if (axis < -rank || axis >= rank)
    fail_at(where, ErrorCode::InvalidArgument, "{}: axis {} of {}, whose rank is {}", what, axis,
            type_string(g, x), rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int> axes_of(const GraphData &g, std::string_view what, NodeId x, std::vector<int> axes,
                         SourceLocation where) {
  for (int &a : axes) a = axis_of(g, what, x, a, where);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    fail_at(where, ErrorCode::InvalidArgument, "{}: an axis occurs twice", what);
  return axes;
}

/// Stop - start over step, rounded up; symbolic extents need step 1.
Dim slice_extent(const Dim &start, const Dim &stop, std::int64_t step, SourceLocation where) {
  Dim length = stop - start;
  if (step == 1) return length;
  if (!length.is_static())
    fail_at(where, ErrorCode::Unsupported, "slice: step {} over the symbolic length {}", step,
            to_string(length));
  return length.value() <= 0 ? Dim(0) : Dim((length.value() - 1) / step + 1);
}

void check_slice(const Dim &extent, const Dim &start, const Dim &stop, std::int64_t step, int axis,
                 SourceLocation where) {
  if (step < 1)
    fail_at(where, ErrorCode::InvalidArgument,
            "slice: step {} of axis {}; use flip to go backwards", step, axis);
  Dim length = stop - start, rest = extent - stop;
  auto negative = [](const Dim &d) { return d.is_static() && d.value() < 0; };
  if (negative(start) || negative(length) || negative(rest))
    fail_at(where, ErrorCode::Shape, "slice: {}:{} of axis {} leaves its extent {}",
            to_string(start), to_string(stop), axis, to_string(extent));
}

/// Replaces one -1 by what is left of the elements.
Shape resolve_reshape(const Shape &from, Shape to, SourceLocation where) {
  auto hole = std::find(to.begin(), to.end(), Dim(-1));
  if (hole == to.end()) return to;
  *hole = 1;
  Dim left;
  if (!num_elements(from).divide_exact(num_elements(to), left))
    fail_at(where, ErrorCode::Shape, "reshape: {} has no whole extent for -1 in {}",
            to_string(from), to_string(to));
  *hole = left;
  return to;
}

}  // namespace

void check_rank(std::string_view what, const Shape &shape, SourceLocation where) {
  if (shape.size() > kMaxRank)
    fail_at(where, ErrorCode::Shape, "{}: rank {} exceeds {}", what, shape.size(), kMaxRank);
  for (const Dim &d : shape)
    if (d.is_static() && d.value() < 0)
      fail_at(where, ErrorCode::Shape, "{}: negative extent {} in {}", what, d.value(),
              to_string(shape));
  num_elements(shape);  // throws where the count exceeds 63 bits
}

int normalize_axis(std::string_view what, int axis, int rank, SourceLocation where) {
  int normalized = axis < 0 ? axis + rank : axis;
  if (normalized < 0 || normalized >= rank)
    fail_at(where, ErrorCode::InvalidArgument, "{}: axis {} of a tensor of rank {}", what, axis,
            rank);
  return normalized;
}

NodeId build_iota(GraphData &g, DType type, const Shape &shape, int axis, SourceLocation where) {
  check_rank("iota", shape, where);
  axis = normalize_axis("iota", axis, static_cast<int>(shape.size()), where);
  if (!accepts(info(Op::Iota).types, type))
    fail_at(where, ErrorCode::DType, "iota: takes {}, not {}", describe(info(Op::Iota).types),
            to_string(type));
  return g.add(Op::Iota, type, shape, {}, AxesAttr{{axis}, false});
}

std::uint64_t stream_of(const GraphData &g, std::int64_t stream, SourceLocation where) {
  if (stream == kNextStream) return g.next_stream;
  if (stream < 0)
    fail_at(where, ErrorCode::InvalidArgument, "random_bits: stream {} is negative", stream);
  return static_cast<std::uint64_t>(stream);
}

NodeId build_random_bits(GraphData &g, NodeId seed, const Shape &shape, std::uint64_t stream,
                         SourceLocation where) {
  check_rank("random_bits", shape, where);
  if (g.dtype(seed) != DType::U64 || !g.shape(seed).empty())
    fail_at(where, ErrorCode::DType, "random_bits: the seed is {}, not a u64 scalar",
            type_string(g, seed));
  if (stream > INT64_MAX)
    fail_at(where, ErrorCode::InvalidArgument, "random_bits: stream {} is not below 2^63", stream);
  return g.add(Op::RandomBits, DType::U32, shape, {{seed}}, RandomAttr{stream});
}

NodeId build_broadcast(GraphData &g, NodeId x, const Shape &shape, SourceLocation where) {
  check_rank("broadcast", shape, where);
  const Shape &from = g.shape(x);
  if (from == shape) return x;
  bool fits = from.size() <= shape.size();
  std::size_t offset = shape.size() - from.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == shape[offset + i] || from[i] == Dim(1);
  if (!fits)
    fail_at(where, ErrorCode::Shape, "broadcast: {} does not extend to {}", type_string(g, x),
            to_string(shape));
  if (g.node(x).op == Op::Constant) return build_constant(g, g.attr<Literal>(x), shape);
  return g.add(Op::Broadcast, g.dtype(x), shape, {{x}});
}

NodeId build_reshape(GraphData &g, NodeId x, const Shape &shape, SourceLocation where) {
  Shape to = resolve_reshape(g.shape(x), shape, where);
  check_rank("reshape", to, where);
  if (g.shape(x) == to) return x;
  if (num_elements(to) != num_elements(g.shape(x)))
    fail_at(where, ErrorCode::Shape, "reshape: {} has {} elements, {} has {}", type_string(g, x),
            to_string(num_elements(g.shape(x))), to_string(to), to_string(num_elements(to)));
  if (g.node(x).op == Op::Constant) return build_constant(g, g.attr<Literal>(x), to);
  return g.add(Op::Reshape, g.dtype(x), to, {{x}});
}

NodeId build_transpose(GraphData &g, NodeId x, const std::vector<int> &permutation,
                       SourceLocation where) {
  std::vector<int> axes = permutation;
  if (static_cast<int>(axes.size()) != rank_of(g, x))
    fail_at(where, ErrorCode::InvalidArgument, "transpose: {} axes for {}", axes.size(),
            type_string(g, x));
  for (int &a : axes) a = axis_of(g, "transpose", x, a, where);
  axes_of(g, "transpose", x, axes, where);
  Shape shape;
  for (int a : axes) shape.push_back(g.shape(x)[a]);
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  if (g.node(x).op == Op::Constant) return build_constant(g, g.attr<Literal>(x), shape);
  return g.add(Op::Transpose, g.dtype(x), shape, {{x}}, AxesAttr{axes, false});
}

NodeId build_slice(GraphData &g, NodeId x, const std::vector<Dim> &start,
                   const std::vector<Dim> &stop, const std::vector<std::int64_t> &step,
                   SourceLocation where) {
  std::size_t rank = g.shape(x).size();
  if (start.size() != rank || stop.size() != rank || step.size() != rank)
    fail_at(where, ErrorCode::InvalidArgument, "slice: {} starts, {} stops and {} steps for {}",
            start.size(), stop.size(), step.size(), type_string(g, x));
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    check_slice(g.shape(x)[i], start[i], stop[i], step[i], static_cast<int>(i), where);
    shape.push_back(slice_extent(start[i], stop[i], step[i], where));
  }
  if (shape == g.shape(x)) return x;
  if (g.node(x).op == Op::Constant) return build_constant(g, g.attr<Literal>(x), shape);
  return g.add(Op::Slice, g.dtype(x), shape, {{x}}, SliceAttr{start, step});
}

NodeId build_flip(GraphData &g, NodeId x, std::vector<int> axes, SourceLocation where) {
  axes = axes_of(g, "flip", x, std::move(axes), where);
  if (axes.empty() || g.node(x).op == Op::Constant) return x;
  return g.add(Op::Flip, g.dtype(x), g.shape(x), {{x}}, AxesAttr{axes, false});
}

NodeId build_pad(GraphData &g, NodeId x, NodeId value, const std::vector<std::int64_t> &lo,
                 const std::vector<std::int64_t> &hi, SourceLocation where) {
  std::size_t rank = g.shape(x).size();
  if (lo.size() != rank || hi.size() != rank)
    fail_at(where, ErrorCode::InvalidArgument, "pad: {} and {} widths for {}", lo.size(), hi.size(),
            type_string(g, x));
  if (!g.shape(value).empty() || (g.dtype(value) != g.dtype(x) && g.node(value).op != Op::Constant))
    fail_at(where, ErrorCode::DType, "pad: the value {} is no scalar of dtype {}",
            type_string(g, value), to_string(g.dtype(x)));
  Shape shape = g.shape(x);
  for (std::size_t i = 0; i < rank; ++i) {
    if (lo[i] < 0 || hi[i] < 0)
      fail_at(where, ErrorCode::InvalidArgument,
              "pad: negative width {} or {} of axis {}; use slice", lo[i], hi[i], i);
    shape[i] = shape[i] + lo[i] + hi[i];
  }
  if (shape == g.shape(x)) return x;
  return g.add(Op::Pad, g.dtype(x), shape, {{x, value}}, PadAttr{lo, hi});
}

NodeId build_concat(GraphData &g, std::span<const NodeId> parts, int axis, SourceLocation where) {
  if (parts.empty()) fail_at(where, ErrorCode::InvalidArgument, "concat: no operands");
  axis = axis_of(g, "concat", parts[0], axis, where);
  Shape shape = g.shape(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    NodeId id = parts[i];
    Shape other = g.shape(id);
    if (g.dtype(id) != g.dtype(parts[0]) || other.size() != shape.size())
      fail_at(where, ErrorCode::Shape, "concat: operands 0 and {}, {} and {}, differ in {}", i,
              type_string(g, parts[0]), type_string(g, id),
              g.dtype(id) != g.dtype(parts[0]) ? "dtype; cast one of them" : "rank");
    shape[axis] = shape[axis] + other[axis];
    other[axis] = shape[axis];
    if (other != shape)
      fail_at(where, ErrorCode::Shape, "concat: operands 0 and {}, {} and {}, differ off axis {}",
              i, type_string(g, parts[0]), type_string(g, id), axis);
  }
  if (parts.size() == 1) return parts[0];
  return g.add(Op::Concat, g.dtype(parts[0]), shape, parts, AxesAttr{{axis}, false});
}

NodeId build_gather(GraphData &g, NodeId x, NodeId index, int axis, SourceLocation where) {
  axis = axis_of(g, "gather", x, axis, where);
  if (!is_int(g.dtype(index)))
    fail_at(where, ErrorCode::DType, "gather: the index {} is no integer tensor",
            type_string(g, index));
  Shape shape = g.shape(x);
  const Shape &by = g.shape(index);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, by.begin(), by.end());
  check_rank("gather", shape, where);
  return g.add(Op::Gather, g.dtype(x), shape, {{x, index}}, AxesAttr{{axis}, false});
}

NodeId build_reduce(GraphData &g, Op op, NodeId x, std::vector<int> axes, bool keep,
                    SourceLocation where) {
  const OpInfo &op_info = info(op);
  axes = axes_of(g, op_info.text, x, std::move(axes), where);
  bool is_arg = op == Op::ArgMax || op == Op::ArgMin;
  if (is_arg && axes.size() != 1)
    fail_at(where, ErrorCode::InvalidArgument, "{}: takes one axis, not {}", op_info.text,
            axes.size());
  if (!accepts(op_info.types, g.dtype(x)))
    fail_at(where, ErrorCode::DType, "{}: takes {}, not {}", op_info.text, describe(op_info.types),
            to_string(g.dtype(x)));
  bool has_identity = op == Op::Sum || op == Op::Prod || op == Op::Any || op == Op::All;
  Shape shape;
  for (int i = 0; i < rank_of(g, x); ++i) {
    bool folded = std::binary_search(axes.begin(), axes.end(), i);
    if (folded && !has_identity && g.shape(x)[i] == Dim(0))
      fail_at(where, ErrorCode::Shape, "{}: axis {} of {} is empty", op_info.text, i,
              type_string(g, x));
    if (!folded) shape.push_back(g.shape(x)[i]);
    if (folded && keep) shape.push_back(1);
  }
  if (axes.empty() && !is_arg) return x;
  return g.add(op, is_arg ? DType::I64 : g.dtype(x), shape, {{x}}, AxesAttr{axes, keep});
}

NodeId build_scan(GraphData &g, Op op, NodeId x, ScanAttr attr, SourceLocation where) {
  const OpInfo &op_info = info(op);
  attr.axis = axis_of(g, op_info.text, x, attr.axis, where);
  if (!accepts(op_info.types, g.dtype(x)))
    fail_at(where, ErrorCode::DType, "{}: takes {}, not {}", op_info.text, describe(op_info.types),
            to_string(g.dtype(x)));
  return g.add(op, g.dtype(x), g.shape(x), {{x}}, attr);
}

}  // namespace fuse
